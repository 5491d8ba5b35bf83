"""The Spark data source "pcap": the same rows as the decoder's, from files, ranges of files and broken files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from captures import samples
from captures.columns import default_columns, read_frames
from nodes.wire import ETHERTYPE, all_pdu_types, encode

TIMES = 10  # frames of each type in a file


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from captures.spark_session import spark_session

    session = spark_session("local[2]", "test")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with sound captures, and one with an empty and a cut one."""
    root = tmp_path_factory.mktemp("runs")
    rng = random.Random(11)
    for run, node in (("a", "n1"), ("a", "n2"), ("b", "n1")):
        frames = samples.sample_frames(all_pdu_types(), rng) * TIMES
        frames += [frame[:-1] + b"?" for frame in frames[:3]]
        path = root / run / "captures" / f"{node}.pcap"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(samples.pcap(frames))
    broken = root / "c" / "captures"
    broken.mkdir(parents=True)
    (broken / "n1.pcap").write_bytes(b"")
    (broken / "n2.pcap").write_bytes(
        samples.pcap([samples.cooked(ETHERTYPE, encode(samples.random_pdu(row, rng))) for row in all_pdu_types()])[:-1]
    )
    return root


def decoded(path: Path, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """The decoder's rows in Spark's types."""
    rows: list[dict[str, Any]] = pa.Table.from_batches(list(read_frames(path, columns))).to_pylist()
    return [{name: _signed(value) for name, value in row.items()} for row in rows]


def _signed(value: Any) -> Any:
    if isinstance(value, list):
        return [_signed(element) for element in value]
    if isinstance(value, dict):
        return {name: _signed(element) for name, element in value.items()}
    return value - (1 << 64) if isinstance(value, int) and value >= 1 << 63 else value


def collected(frame: Any) -> list[dict[str, Any]]:
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return [
        {name: bytes(value) if isinstance(value, bytearray) else value for name, value in row.items()} for row in rows
    ]


def test_spark_has_the_decoders_rows_and_columns(spark: Any, runs: Path) -> None:
    frame = spark.read.format("pcap").load(str(runs / "a" / "captures"))
    assert frame.columns == list(default_columns())
    rows = sorted(collected(frame), key=lambda row: (row["file"], row["frame"]))
    expected = [
        row for node in ("n1", "n2") for row in decoded(runs / "a" / "captures" / f"{node}.pcap", default_columns())
    ]
    assert rows == expected


def test_ranges_of_a_file_give_the_same_rows_with_and_without_numbers(spark: Any, runs: Path) -> None:
    path = runs / "b" / "captures" / "n1.pcap"
    for columns in (("frame", "offset", "type"), ("offset", "type", "st_ack")):
        reader = spark.read.format("pcap").option("columns", ",".join(columns)).option("split_bytes", "9000")
        frame = reader.load(str(path))
        assert frame.rdd.getNumPartitions() > 3
        assert sorted(collected(frame), key=lambda row: row["offset"]) == decoded(path, columns)


def test_counting_in_the_reader_is_counting_in_spark(spark: Any, runs: Path) -> None:
    reader = spark.read.format("pcap").option("split_bytes", "9000")
    inside = reader.option("aggregate", "pdus_by_type").load(str(runs / "[ab]" / "captures"))
    inside = inside.groupBy("type", "direction", "error").sum("frames", "bytes").collect()
    plain = (
        spark.read.format("pcap")
        .option("columns", "type,direction,error,captured")
        .load(str(runs / "[ab]" / "captures"))
    )
    plain = plain.groupBy("type", "direction", "error").agg({"*": "count", "captured": "sum"})
    plain = plain.select("type", "direction", "error", "count(1)", "sum(captured)").collect()
    assert {tuple(row) for row in inside} == {tuple(row) for row in plain}
    assert sum(row[3] for row in inside) == 3 * (TIMES * len(all_pdu_types()) + 3)
    assert any(row["error"] == "check failed" for row in inside)


def test_only_chosen_types(spark: Any, runs: Path) -> None:
    reader = spark.read.format("pcap").option("types", "st.RST,st.RST_PAK").option("columns", "type,st_a_t")
    counts = reader.load(str(runs / "*" / "captures")).groupBy("type").count().collect()
    assert {row["type"]: row["count"] for row in counts} == {"st.RST": 3 * TIMES + 1, "st.RST_PAK": 3 * TIMES + 1}


def test_the_audit_has_a_row_for_every_finding(spark: Any, runs: Path) -> None:
    rows = collected(spark.read.format("pcap").option("table", "audit").load(str(runs / "*" / "captures")))
    found = {(Path(row["file"]).parts[-3], Path(row["file"]).stem): row for row in rows}
    assert {place: row["kind"] for place, row in found.items()} == {
        ("a", "n1"): None,
        ("a", "n2"): None,
        ("b", "n1"): None,
        ("c", "n1"): "empty",
        ("c", "n2"): "truncated",
    }
    assert found["c", "n2"]["frames"] == len(all_pdu_types()) - 1


def test_a_misspelt_option_is_refused(spark: Any, runs: Path) -> None:
    with pytest.raises(Exception, match="pcap has no option colums"):
        spark.read.format("pcap").option("colums", "type").load(str(runs / "a" / "captures")).collect()
