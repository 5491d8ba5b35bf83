"""SQL over the frames of many runs, by Spark: one expression with aggregates, one value for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def over_frames(
    session: Any, runs: Mapping[str, Path], expression: str, columns: Sequence[str]
) -> dict[str, float | None]:
    """The value of the expression per run; `runs` are directories of captures. `capture` is a column, too."""
    from pyspark.sql import functions as f

    found: dict[str, float | None] = dict.fromkeys(runs)
    by_directory = {str(path): key for key, path in runs.items()}
    wanted = ",".join(dict.fromkeys(["file", *columns]))
    frames = session.read.format("pcap").option("columns", wanted).load(_together(runs.values()))
    directory = f.regexp_extract("file", r"^(.*)/[^/]*$", 1)
    capture = f.regexp_extract("file", r"([^/]*)\.pcap$", 1)
    per_run = (
        frames.withColumn("directory", directory)
        .withColumn("capture", capture)
        .groupBy("directory")
        .agg(f.expr(expression).cast("double").alias("value"))
    )
    for row in per_run.collect():  # one row per run
        if row["directory"] in by_directory:
            found[by_directory[row["directory"]]] = row["value"]
    return found


def _together(paths: Sequence[Path] | Any) -> str:
    """A pattern that names all of them: they lie beside each other, as <run>/captures."""
    (above,) = {path.parents[1] for path in paths}
    return f"{above}/*/captures"
