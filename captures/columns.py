"""The columnar decoder: a whole pcap into Arrow record batches with numpy, one row per frame.

One wide, explicit schema (`schema()`), computed from the wire table alone: the columns every frame has, then one column
per field and protocol (captures/fields.py says how they are named and typed). A field that a frame's PDU does not have
is null, and a foreign frame has nothing but its link and network columns. The rejected alternative, one table per PDU
type, would lose the order of the frames, which is what a capture is about; null columns cost next to nothing here.

    file frame offset            which file, number of the frame from 1, byte offset of its record
    time_ns captured original    when, bytes in the file, bytes on the wire
    interface direction link_src ifindex, "in" or "out", the sender's link address (null where the link tells none)
    ethertype ip_src ip_dst next_header port      port is UDP's destination
    pdu_at               byte offset of what should be a PDU (null where there is none)
    type src pdu_length          "st.RST_PAK", sending node, length: only of PDUs that are right in every respect
    check_ok error               of frames that claim to carry a PDU: whether the check holds, and what is wrong

A frame with a wrong PDU has its `error` and no field: counted and shown, never half parsed. What is wrong with a *file*
comes from `audit`. Payload bytes are copied only when a payload column is named in `columns`; lengths are always there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from captures.fields import FieldColumn, Place, column_of, field_columns, lay_out
from captures.gather import Bools, Offsets, Reader, groups
from captures.headers import CHECK_FAILED, ERRORS, NO_TYPE, OK, verify
from captures.pcap import FILE_HEADER, Audit, Block, blocks
from captures.unwrap import Frames, unwrap
from captures.values import Array, Rows, binary_array, build, named, nulls, numbers, occupied_rows, payload_lengths
from nodes.wire import PduType, all_pdu_types

BATCH_FRAMES = 32_768
Kinds: TypeAlias = npt.NDArray[np.uint16]

_NAMES = pa.dictionary(pa.int16(), pa.string())
COMMON = pa.schema(
    [
        ("file", _NAMES),
        ("frame", pa.int64()),
        ("offset", pa.int64()),
        ("time_ns", pa.int64()),
        ("captured", pa.int32()),
        ("original", pa.int64()),
        ("interface", pa.int64()),
        ("direction", _NAMES),
        ("link_src", pa.binary()),
        ("ethertype", pa.int32()),
        ("ip_src", pa.binary()),
        ("ip_dst", pa.binary()),
        ("next_header", pa.int16()),
        ("port", pa.int32()),
        ("pdu_at", pa.int64()),
        ("type", _NAMES),
        ("src", pa.int32()),
        ("pdu_length", pa.int32()),
        ("check_ok", pa.bool_()),
        ("error", _NAMES),
    ]
)
_AUDIT: list[tuple[str, pa.DataType]] = [
    ("file", pa.string()),
    ("link_type", pa.int32()),
    ("frames", pa.int64()),
    ("bytes", pa.int64()),
    ("kind", pa.string()),  # null: nothing is wrong with the file
    ("offset", pa.int64()),
    ("reason", pa.string()),
]
AUDIT = pa.schema(_AUDIT)


@cache
def schema() -> pa.Schema:
    """All columns."""
    fields = list(COMMON)
    for column in field_columns():
        if column.is_payload:
            fields.append(pa.field(f"{column.name}_length", pa.int32()))
        fields.append(pa.field(column.name, column.type))
    return pa.schema(fields)


@cache
def default_columns() -> tuple[str, ...]:
    """All but the payloads' bytes."""
    payloads = {column.name for column in field_columns() if column.is_payload}
    return tuple(name for name in schema().names if name not in payloads)


def schema_of(columns: Sequence[str] | None) -> pa.Schema:
    """The schema of these columns, in this order."""
    names = default_columns() if columns is None else columns
    return pa.schema([schema().field(name) for name in names])


def read_frames(
    path: str | Path,
    columns: Sequence[str] | None = None,
    batch_frames: int = BATCH_FRAMES,
    *,
    types: Sequence[str] | None = None,
    audit: Audit | None = None,
    start: int = FILE_HEADER,
    stop: int | None = None,
    first_frame: int = 1,
) -> Iterator[pa.RecordBatch]:
    """The frames of a capture in order; with `types`, only those that carry such PDUs.

    `start`, `stop` and `first_frame` select the records that begin in a range of bytes. What is wrong with the file is
    added to `audit` while the batches are taken.
    """
    wanted = schema_of(columns)
    kinds = None if types is None else np.array([_kind_of(name) for name in types])
    audit = Audit(str(path)) if audit is None else audit
    for block in blocks(path, audit, start=start, stop=stop):
        for low in range(0, len(block.records), batch_frames):
            batch = _Batch.of(block, slice(low, low + batch_frames), str(path), kinds, first_frame - 1)
            if batch.rows.count:
                yield batch.together(wanted)


def read_by_type(
    path: str | Path, columns: Sequence[str], audit: Audit
) -> Iterator[tuple[pa.RecordBatch, dict[int, pa.RecordBatch]]]:
    """The frames of a capture in order: some columns of all of them, and the fields of the PDUs by their type.

    Beside each batch stands a table for each type in it, by its place in the wire table: one row for each such PDU, in
    their order, and one column for each field, by its own name; of a payload only its length, `<name>_length`.
    """
    wanted = schema_of(columns)
    for block in blocks(path, audit):
        for low in range(0, len(block.records), BATCH_FRAMES):
            batch = _Batch.of(block, slice(low, low + BATCH_FRAMES), str(path), None, 0)
            yield batch.together(wanted), dict(batch.by_type())


def audit_table(audits: Sequence[Audit]) -> pa.Table:
    """One row per finding, and one for each file without any."""
    rows = []
    for audit in audits:
        same = {"file": audit.file, "link_type": audit.link_type, "frames": audit.frames, "bytes": audit.bytes}
        if not audit.findings:
            rows.append(same)
        for finding in audit.findings:
            rows.append(same | {"kind": finding.kind, "offset": finding.offset, "reason": finding.reason})
    return pa.Table.from_pylist(rows, AUDIT)


def audit(path: str | Path) -> Audit:
    """What is in a file and what is wrong with it, from its records alone."""
    found = Audit(str(path))
    for _ in blocks(path, found):
        pass
    return found


# One batch.


@cache
def _table() -> tuple[PduType, ...]:
    return all_pdu_types()


@cache
def _type_names() -> Array:
    return pa.array([row.name for row in all_pdu_types()], pa.string())


_NO_PDU, _UNKNOWN, _FIRST = 0, 1, 2  # kinds of frames; the table's rows count from _FIRST


@cache
def _kinds() -> Kinds:
    """The kind for every protocol nibble and type byte."""
    kinds: Kinds = np.full(1 << 12, _UNKNOWN, dtype=np.uint16)
    for kind, row in enumerate(all_pdu_types(), _FIRST):
        kinds[row.proto << 8 | row.number] = kind
    return kinds


def _kind_of(name: str) -> int:
    for kind, row in enumerate(all_pdu_types(), _FIRST):
        if row.name == name:
            return kind
    raise KeyError(f"no PDU is called {name}")


_DIRECTIONS = pa.array(["in", "out"], pa.string())
_ERRORS = pa.array(ERRORS, pa.string())


@dataclass(slots=True)
class _Batch:
    """Some frames of a block, taken apart but not yet turned into columns."""

    read: Reader
    rows: Rows
    file: str
    numbers: Offsets
    offsets: Offsets
    frames: Frames
    claims: Bools  # rows that say they carry a PDU
    error: Offsets
    kind: Kinds  # of right PDUs, else _NO_PDU
    src: Offsets
    pdu_length: Offsets
    places: dict[str, list[Place]]  # by column
    layouts: dict[int, Mapping[str, Place]]  # by kind and field

    @classmethod
    def of(cls, block: Block, part: slice, file: str, kinds: Offsets | None, frames_before: int) -> _Batch:
        records = block.records[part]
        numbers = np.arange(len(records), dtype=np.int64) + (block.first_frame + part.start + frames_before)
        read = Reader(block.data)
        frames = unwrap(block.data, records, block.order, block.link_type)
        if kinds is not None:
            kept = _claimed_types(read, frames, kinds)
            records, numbers, frames = records[kept], numbers[kept], frames.take(kept)
        count = len(records)
        claims = frames.pdu_at > 0
        found = cls(
            read,
            Rows(count),
            file,
            numbers,
            records + block.origin,
            frames,
            claims,
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.uint16),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            {},
            {},
        )
        found._take_apart(np.flatnonzero(claims))
        if kinds is not None and (found.kind == _NO_PDU).any():
            # What claimed to be of these types was damaged: it is of no type.
            right = found.kind != _NO_PDU
            records, numbers = records[right], numbers[right]
            chosen = Block(block.data, records, block.order, block.link_type, 0, block.origin)
            found = cls.of(chosen, slice(0, None), file, None, 0)
            found.numbers = numbers
        return found

    def _take_apart(self, rows: Offsets) -> None:
        if not len(rows):
            return
        at = self.frames.pdu_at[rows]
        headers = verify(self.read.data, at, self.frames.room[rows])
        error, length = headers.error, headers.length
        kind = _kinds()[headers.kind]
        kind[error != OK] = _NO_PDU
        table = _table()
        for number, chosen in groups(kind, _FIRST + len(table)):
            if number == _UNKNOWN:
                error[chosen] = NO_TYPE
            if number < _FIRST:
                continue
            start = at[chosen]
            row = table[number - _FIRST]
            layout = lay_out(self.read, row, rows[chosen], start, start + length[chosen])
            if layout.error is not None:
                error[chosen] = layout.error
            self.layouts[number] = layout.places
            for column, field in _columns_of(row):
                self.places.setdefault(column, []).append(layout.places[field])
        kind[error != OK] = _NO_PDU
        self.error[rows] = error
        self.kind[rows] = kind
        self.src[rows] = headers.src
        self.pdu_length[rows] = length

    def together(self, wanted: pa.Schema) -> pa.RecordBatch:
        """Columns of the schema, for all frames."""
        return pa.RecordBatch.from_arrays([self.column(name) for name in wanted.names], schema=wanted)

    def by_type(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The fields of all right PDUs of each type."""
        for kind, places in self.layouts.items():
            count = int(np.count_nonzero(self.kind == kind))
            rows, every = Rows(count), np.arange(count)
            found = {}
            for field in _table()[kind - _FIRST].fields if count else ():
                column, place = column_of(_table()[kind - _FIRST], field.name), replace(places[field.name], rows=every)
                if column.is_payload:
                    found[f"{field.name}_length"] = payload_lengths(rows, [place])
                else:
                    found[field.name] = build(column, self.read.data, rows, [place])
            if count:
                yield kind - _FIRST, pa.RecordBatch.from_pydict(found)

    def column(self, name: str) -> Array:
        """One column of the schema."""
        if name in COMMON.names:
            return self._common(name)
        field = _field_column(name)
        if field is None:
            return payload_lengths(self.rows, self.places.get(name.removesuffix("_length"), []))
        return build(field, self.read.data, self.rows, self.places.get(name, []))

    def _common(self, name: str) -> Array:
        kind, frames, right = COMMON.field(name).type, self.frames, self.kind != _NO_PDU
        match name:
            case "file":
                return named(np.zeros(self.rows.count, np.int16), pa.array([self.file]), None)
            case "frame":
                return pa.array(self.numbers)
            case "offset":
                return pa.array(self.offsets)
            case "time_ns" | "captured" | "original":
                return numbers(getattr(frames, name), kind)
            case "interface":
                interface = frames.interface
                return nulls(self.rows.count, kind) if interface is None else numbers(interface, kind, -1)
            case "direction":
                direction = frames.direction
                return nulls(self.rows.count, kind) if direction is None else named(direction, _DIRECTIONS, -1)
            case "link_src":
                start, length = frames.link_source()
                return self._address(kind, length > 0, start, length)
            case "ip_src" | "ip_dst":
                at = frames.ip_at + (8 if name == "ip_src" else 24)
                return self._address(kind, frames.ip_at > 0, at, np.full(self.rows.count, 16))
            case "ethertype" | "next_header" | "port":
                return numbers(getattr(frames, name), kind, -1)
            case "pdu_at":
                return numbers(np.where(self.claims, self.offsets + (frames.pdu_at - frames.records), -1), kind, -1)
            case "type":
                return named(self.kind.astype(np.int16) - _FIRST, _type_names(), _NO_PDU - _FIRST)
            case "src" | "pdu_length":
                return numbers(np.where(right, getattr(self, name), -1), kind, -1)
            case "check_ok":
                good = np.where(self.error == CHECK_FAILED, 0, 1)
                tested = self.claims & ((self.error == OK) | (self.error >= CHECK_FAILED))
                return pa.array(good.astype(bool), mask=~tested)
            case _:
                return named(self.error, _ERRORS, OK)

    def _address(self, kind: pa.DataType, present: Bools, start: Offsets, length: Offsets) -> Array:
        if not present.any():
            return nulls(self.rows.count, kind)
        occupied = occupied_rows(present)
        if occupied.validity is not None:
            start, length = start[occupied.rows], length[occupied.rows]
        return binary_array(self.read.data, kind, self.rows.count, occupied, start, length)


def _claimed_types(read: Reader, frames: Frames, kinds: Offsets) -> Offsets:
    """Rows whose type bytes are of these types, without having looked at anything else."""
    rows = np.flatnonzero((frames.pdu_at > 0) & (frames.room >= 4))
    claimed = _kinds()[read.half(frames.pdu_at[rows] + 2) & 0x0FFF]
    found: Offsets = rows[np.isin(claimed, kinds)]
    return found


@cache
def _field_column(name: str) -> FieldColumn | None:
    return next((column for column in field_columns() if column.name == name), None)


@cache
def _columns_of(row: PduType) -> tuple[tuple[str, str], ...]:
    """The columns of a PDU type, and the fields that stand in them."""
    pairs = [(column.name, field.name) for column in field_columns() for use, field in column.uses if use is row]
    return tuple(pairs)
