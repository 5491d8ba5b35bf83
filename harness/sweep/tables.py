"""From records to tables: a row per run, per run and metric, per run, capture and type; and points with intervals.

Equal records give equal tables, byte for byte, whoever made them: rows are sorted, and the same function turns the runs
of a point into its value, called here one after the other or by Spark.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.sweep.load import Point, Spanned, text_of
from harness.sweep.model import Measure, over_pdus
from harness.sweep.statistics import Interval, bootstrap, wilson
from harness.sweep.task import Record

Rows = list[dict[str, Any]]
_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()
_POINT: list[tuple[str, pa.DataType]] = [("point", pa.int32())]
RUNS = pa.schema(
    [
        *_POINT,
        ("parameters", _TEXT),
        ("seed", _INT),
        ("run", _TEXT),
        ("outcome", _TEXT),
        ("reason", _TEXT),
        ("violated", _TEXT),
    ]
)
VALUES = pa.schema([*_POINT, ("metric", _TEXT), ("seed", _INT), ("run", _TEXT), ("value", _REAL), ("trials", _REAL)])
PDUS = pa.schema(
    [
        *_POINT,
        ("seed", _INT),
        ("run", _TEXT),
        ("capture", _TEXT),
        ("type", _TEXT),
        ("direction", _TEXT),
        ("error", _TEXT),
        ("frames", _INT),
        ("bytes", _INT),
    ]
)
SUMMARY = pa.schema(
    [
        *_POINT,
        ("metric", _TEXT),
        ("runs", _INT),
        ("value", _REAL),
        ("low", _REAL),
        ("high", _REAL),
        ("interval", _TEXT),
    ]
)
POINTS = pa.schema([*SUMMARY, ("parameters", _TEXT), ("failed", _INT), ("budget", _TEXT)])


@dataclass(frozen=True, slots=True)
class Done:
    """A run with its record."""

    point: Point
    seed: int
    key: str
    record: Record


def run_rows(done: Iterable[Done]) -> Rows:
    """How each run ended."""
    return [
        {
            "point": one.point.number,
            "parameters": one.point.name,
            "seed": one.seed,
            "run": one.key,
            "outcome": one.record["outcome"],
            "reason": one.record["reason"],
            "violated": " ".join(one.record.get("violated", [])),
        }
        for one in done
    ]


def value_rows(done: Iterable[Done], measures: Sequence[Measure]) -> Rows:
    """What was measured in each run; metrics without a value in a run have no row."""
    rows: Rows = []
    for one in done:
        found = one.record.get("metrics", {})
        for measure in measures:
            value = value_of(measure, one.record)
            trials = 1.0 if measure.trials is None else found.get(measure.trials, 0.0)
            if value is not None and trials:
                rows.append(
                    {
                        "point": one.point.number,
                        "metric": measure.name,
                        "seed": one.seed,
                        "run": one.key,
                        "value": value,
                        "trials": None if measure.trials is None else trials,
                    }
                )
    return rows


def value_of(measure: Measure, record: Record) -> float | None:
    """Of one metric in one run."""
    if record["outcome"] == "failed":
        return None
    if measure.sql is not None and measure.over == "pdus":
        return over_pdus(measure.sql, [tuple(row) for row in record["pdus"]])
    value = record["metrics"].get(measure.name)
    return None if value is None else float(value)


def pdu_rows(done: Iterable[Done]) -> Rows:
    """Frames by capture and type."""
    names = ("capture", "type", "direction", "error", "frames", "bytes")
    return [
        {"point": one.point.number, "seed": one.seed, "run": one.key, **dict(zip(names, row, strict=True))}
        for one in done
        for row in one.record.get("pdus", [])
    ]


# From runs to points.


def summary_of(group: Any) -> Any:
    """The runs of one point and metric, an Arrow table, as one row. This is what Spark calls, too."""
    rows = sorted(group.to_pylist(), key=lambda row: (row["seed"], row["run"]))
    point, metric = rows[0]["point"], rows[0]["metric"]
    if rows[0]["trials"] is None:
        interval, name = bootstrap([row["value"] for row in rows], f"{point} {metric}"), "bootstrap over runs"
    else:
        trials = sum(row["trials"] for row in rows)
        interval, name = wilson(sum(row["value"] * row["trials"] for row in rows), trials), "Wilson"
    row = {
        "point": point,
        "metric": metric,
        "runs": len(rows),
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "interval": name if interval.low is not None else "",
    }
    return pa.Table.from_pylist([row], SUMMARY)


def summarised(values: pa.Table) -> pa.Table:
    """All points, in this process."""
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    keys: Any = zip(values["point"].to_pylist(), values["metric"].to_pylist(), strict=True)
    for number, key in enumerate(keys):
        groups[key].append(number)
    found = [summary_of(values.take(rows)) for _, rows in sorted(groups.items())]
    return pa.concat_tables(found) if found else SUMMARY.empty_table()


def summarised_by(session: Any, values: pa.Table) -> pa.Table:
    """The same by Spark."""
    from pyspark.sql import functions as f

    from captures.spark_source import spark_type

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # that pandas is newer than PySpark: no pandas is used here
        # Not a group for each point and metric: handing one over costs several times what summarising it does.
        share = f.pmod(f.hash("point", "metric"), f.lit(4 * session.sparkContext.defaultParallelism))
        frame = session.createDataFrame(values).withColumn("share", share)
        grouped = frame.groupBy("share").applyInArrow(_summarised_share, spark_type_of(spark_type))
        found: pa.Table = grouped.toArrow().cast(SUMMARY)
    return found.sort_by([("point", "ascending"), ("metric", "ascending")])  # Spark would make it all twice to sort it


def _summarised_share(values: pa.Table) -> pa.Table:
    return summarised(values.select(VALUES.names).cast(VALUES).combine_chunks())


def spark_type_of(spark_type: Any) -> Any:
    """SUMMARY as Spark writes it."""
    from pyspark.sql.types import DoubleType, StructField, StructType

    return StructType(
        [StructField(field.name, DoubleType() if field.type == _REAL else spark_type(field.type)) for field in SUMMARY]
    )


def point_rows(spanned: Spanned, summary: pa.Table, done: Iterable[Done]) -> Rows:
    """Points as people read them: with their parameters, what failed, and whether the metric kept its budget."""
    failed: dict[int, int] = defaultdict(int)
    for one in done:
        failed[one.point.number] += one.record["outcome"] == "failed"
    measures = {one.name: one for one in spanned.sweep.metric}
    rows = []
    for row in summary.to_pylist():
        budget = measures[row["metric"]].budget
        kept = "" if budget is None else "kept" if budget.holds(row["value"]) else "left"
        point = spanned.points[row["point"]]
        rows.append({**row, "parameters": point.name, "failed": failed[point.number], "budget": kept})
    order = {name: number for number, name in enumerate(measures)}
    return sorted(rows, key=lambda row: (row["point"], order[row["metric"]]))


def interval_of(row: Mapping[str, Any]) -> Interval:
    """Of a row of points."""
    return Interval(row["value"], row["low"], row["high"])


# As files.


def table(rows: Rows, schema: pa.Schema) -> pa.Table:
    """Sorted by all columns."""
    ordered = sorted(rows, key=lambda row: [(row.get(name) is not None, row.get(name)) for name in schema.names])
    return pa.Table.from_pylist(ordered, schema)


def parquet(found: pa.Table) -> bytes:
    """A table as a file that DuckDB, pandas and Spark read."""
    stream = io.BytesIO()
    pq.write_table(found, stream, compression="zstd")
    return stream.getvalue()


def partitions(found: pa.Table) -> dict[str, bytes]:
    """The same in a directory for each point, as point=0/part-0.parquet."""
    points: list[Any] = found["point"].to_pylist()
    files = {}
    for point in sorted(set(points)):
        rows = [number for number, one in enumerate(points) if one == point]
        files[f"point={point}/part-0.parquet"] = parquet(found.take(rows).drop_columns(["point"]))
    return files


def csv_of(spanned: Spanned, rows: Rows) -> str:
    """Points with a column for each parameter."""
    stream = io.StringIO()
    axes = spanned.sweep.axes
    columns = ("metric", "runs", "failed", "value", "low", "high", "interval", "budget")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*axes, *columns])
    for row in rows:
        point = spanned.points[row["point"]]
        writer.writerow(
            [
                *(text_of(point.value(key)) for key in axes),
                *(
                    "" if row[name] is None else f"{row[name]:.6g}" if isinstance(row[name], float) else row[name]
                    for name in columns
                ),
            ]
        )
    return stream.getvalue()
