"""The Spark data source "pcap": captures as tables, read in parallel as Arrow batches (Spark 4's Python data sources).

    spark.read.format("pcap").load("runs/*/captures")

Options:
    columns       which columns, by comma; Spark tells a Python source neither which it needs nor what it filters
    types         only frames with these PDUs, by comma: "st.DATA,st.RST"
    aggregate     "pdus_by_type": counts made inside the reader, one row per file range, type, direction and error;
                  sum them up. A tenth of the work of bringing every frame to Spark
    table         "frames", or "audit": a row per file and finding, from the record headers alone
    split_bytes   ranges into which larger files are cut (captures/split.py)

Frame numbers need a file that is larger than split_bytes to be walked once when the query is planned; leave `frame` out
of `columns` for such files. u64 columns are bigint here, the same 64 bits: Spark has no unsigned numbers.
"""

# PySpark has no types here: its classes are Any.
# mypy: allow-subclassing-any

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from captures.columns import AUDIT, audit, audit_table, read_frames, schema_of
from captures.pcap import MISPLACED, Audit
from captures.split import Range, ranges
from captures.tally import COLUMNS as TALLIED
from captures.tally import Tally

pa: Any = pyarrow
SPLIT_BYTES = 256 << 20
TASKS = 32  # as many as there should be, if that makes them neither tiny nor huge
TASK_BYTES = (1 << 20, 64 << 20)
PDUS_BY_TYPE = [
    ("file", pa.string()),
    ("type", pa.string()),
    ("direction", pa.string()),
    ("error", pa.string()),
    ("frames", pa.int64()),
    ("bytes", pa.int64()),
]
_SIMPLE: dict[Any, DataType] = {
    pa.bool_(): BooleanType(),
    pa.int8(): ByteType(),
    pa.int16(): ShortType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.uint64(): LongType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
}


@dataclass(frozen=True)
class FileRange:
    """A part of a file."""

    path: str
    range: Range
    bytes: int = 0


@dataclass(frozen=True)
class FileRanges(InputPartition):
    """What one task reads: a task costs ten milliseconds, so small files are read together."""

    parts: tuple[FileRange, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """The options, checked."""

    path: str
    columns: tuple[str, ...] | None
    types: tuple[str, ...] | None
    aggregate: str | None
    table: str
    split_bytes: int

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Options:
        known = {"path", "columns", "types", "aggregate", "table", "split_bytes"}
        # Spark hands options over in lower case.
        if unknown := set(given) - known:
            raise ValueError(f"pcap has no option {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
        if "path" not in given:
            raise ValueError("pcap needs a path: load('runs/*/captures')")
        table, aggregate = given.get("table", "frames"), given.get("aggregate")
        if table not in ("frames", "audit"):
            raise ValueError(f"table {table!r}: there are frames and audit")
        if aggregate not in (None, "pdus_by_type"):
            raise ValueError(f"aggregate {aggregate!r}: there is pdus_by_type")
        return cls(
            path=given["path"],
            columns=_list(given.get("columns")),
            types=_list(given.get("types")),
            aggregate=aggregate,
            table=table,
            split_bytes=int(given.get("split_bytes", SPLIT_BYTES)),
        )


def _list(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


class PcapSource(DataSource):
    """Spark's view of captures."""

    @classmethod
    def name(cls) -> str:
        return "pcap"

    def schema(self) -> StructType:
        return spark_type(_arrow_schema(Options.of(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        return PcapSourceReader(Options.of(self.options))


class PcapSourceReader(DataSourceReader):
    """Reads the captures that a path names: files, directories with .pcap files, patterns of either."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def partitions(self) -> list[InputPartition]:
        options = self.options
        files = captures_at(options.path)
        if options.table == "audit":
            parts = [FileRange(file, Range(0, None, None), _size(file)) for file in files]
        else:
            names = schema_of(options.columns).names
            numbered = options.aggregate is None and "frame" in names
            parts = [
                FileRange(file, part, (_size(file) if part.stop is None else part.stop) - part.start)
                for file in files
                for part in ranges(file, options.split_bytes, numbered=numbered)
            ]
        return together(parts, options.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, FileRanges)
        if self.options.table == "frames" and self.options.aggregate is None:
            for part in partition.parts:
                yield from self._read(part)
            return
        # A row or ten for each file: one batch.
        batches = [batch for part in partition.parts for batch in self._read(part)]
        yield from pa.Table.from_batches(batches).combine_chunks().to_batches() if batches else ()

    def _read(self, one: FileRange) -> Iterator[Any]:
        options = self.options
        if options.table == "audit":
            yield from (spark_batch(batch) for batch in audit_table([audit(one.path)]).to_batches())
            return
        found = Audit(one.path)
        part = one.range
        where = {"start": part.start, "stop": part.stop, "first_frame": part.first_frame or 1, "audit": found}
        if options.aggregate == "pdus_by_type":
            yield pdus_by_type(one.path, options.types, where)
        else:
            batches = read_frames(one.path, options.columns, types=options.types, **where)  # type: ignore[arg-type]
            for batch in batches:
                yield spark_batch(batch)
        for finding in found.findings:
            if finding.kind == MISPLACED:
                raise RuntimeError(f"{one.path}: {finding.reason}; read it with frame among the columns, or unsplit")


def _size(file: str) -> int:
    try:
        return Path(file).stat().st_size
    except OSError:
        return 0


def together(parts: list[FileRange], most: int) -> list[InputPartition]:
    """Neighbouring parts in tasks of about equal size: many enough for all cores, large enough to pay."""
    enough = min(max(sum(part.bytes for part in parts) // TASKS, TASK_BYTES[0]), TASK_BYTES[1], most)
    found: list[InputPartition] = []
    gathered: list[FileRange] = []
    size = 0
    for part in parts:
        gathered.append(part)
        size += part.bytes
        if size >= enough:
            found.append(FileRanges(tuple(gathered)))
            gathered, size = [], 0
    if gathered:
        found.append(FileRanges(tuple(gathered)))
    return found


def captures_at(path: str) -> list[str]:
    """The pcap files that a path, a directory or a pattern names, in order."""
    found: set[str] = set()
    for match in glob(path, recursive=True) or [path]:  # noqa: PTH207  (Path.glob takes no absolute patterns)
        place = Path(match)
        found.update(map(str, place.glob("*.pcap")) if place.is_dir() else [match])
    return sorted(found)


def pdus_by_type(path: str, types: tuple[str, ...] | None, where: dict[str, Any]) -> Any:
    """Frames and bytes per type, direction and error of one range."""
    tally = Tally()
    for batch in read_frames(path, TALLIED, types=types, **where):
        tally.add(path, batch)
    rows = [{"file": one.capture, **asdict(one)} for one in tally.traffic()]
    return pa.RecordBatch.from_pylist(rows, pa.schema(PDUS_BY_TYPE))


# Arrow's types in Spark.


def _arrow_schema(options: Options) -> Any:
    if options.table == "audit":
        return AUDIT
    if options.aggregate is not None:
        return pa.schema(PDUS_BY_TYPE)
    return schema_of(options.columns)


def spark_type(kind: Any) -> Any:
    """The Spark type of an Arrow type or schema."""
    if isinstance(kind, pa.Schema):
        return StructType([StructField(field.name, spark_type(field.type)) for field in kind])
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_list(kind):
        return ArrayType(spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return StructType([StructField(field.name, spark_type(field.type)) for field in kind])
    return _SIMPLE[kind]


def spark_batch(batch: Any) -> Any:
    """The same batch with Spark's types: names written out, u64 as bigint."""
    return pa.RecordBatch.from_arrays([spark_array(column) for column in batch.columns], batch.schema.names)


def spark_array(column: Any) -> Any:
    """One column with Spark's types; numbers are not copied."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.dictionary_decode()
    if kind == pa.uint64():
        return column.view(pa.int64())
    if pa.types.is_list(kind) and _spark_kind(kind) != kind:
        parts = column.buffers()[:2]
        values = spark_array(column.values)
        return pa.Array.from_buffers(_spark_kind(kind), len(column), parts, column.null_count, column.offset, [values])
    if pa.types.is_struct(kind):
        fields = [spark_array(column.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(_spark_kind(kind)))
    return column


def _spark_kind(kind: Any) -> Any:
    if kind == pa.uint64():
        return pa.int64()
    if pa.types.is_list(kind):
        return pa.list_(_spark_kind(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _spark_kind(field.type)) for field in kind])
    return kind
