"""The wire table as columns: where the fields of each PDU lie, and how their values become Arrow arrays.

A column is called `<protocol>_<field>`: `st_ack`, `note_kind`. All PDUs of a protocol that have a field of that name
share the column, in the widest of their types; should one name stand for different things within a protocol (an integer
here, a vector there), each PDU has its own column, `<protocol>_<field>_<PDU>`. So the schema follows from the table
alone, never from what happens to be in a file.

    integer, Flags   u8 int16, u16 int32, u32 int64, u64 uint64, signed as they are
    Vector, Members  list of these
    Records          list<struct> with the record's own names
    Bytes            binary
    Payload          `_length` int32 and, when asked for, the bytes; the text of a NOTE is a string

Placing (`lay_out`, here) and reading (captures/values.py) are separate steps, so that a column that nobody wants costs
only its place, and rows of several PDU types are read by one gather.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from captures.check import BEYOND, MISFIT
from captures.gather import Bools, Numbers, Offsets, Reader, integers_at, spread
from nodes.wire import HEADER, Field, PduType, Proto, all_pdu_types
from nodes.wire.table import Bytes, Count, Exactly, Flags, Members, Of, Payload, Records, SInt, SumOf, UInt, Vector

_TOO_MANY = 1 << 17  # more than any PDU has bytes; factors are cut here so that products cannot overflow
_UNSIGNED = {1: pa.int16(), 2: pa.int32(), 4: pa.int64(), 8: pa.uint64()}
_SIGNED = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


@dataclass(frozen=True, slots=True)
class Place:
    """Where one field lies in some rows: its first byte, its number of elements (or bytes), its kind there."""

    rows: Offsets
    start: Offsets
    count: Offsets
    kind: UInt | SInt | Flags | Vector | Members | Records | Bytes | Payload


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """One column of the schema."""

    name: str
    family: str  # what its PDUs have in common: see _family
    type: pa.DataType
    uses: tuple[tuple[PduType, Field], ...]

    @property
    def is_payload(self) -> bool:
        return self.family == "payload"


# The schema.


def _family(row: PduType, kind: object) -> str:
    if isinstance(kind, UInt | SInt | Flags):
        return "integer"
    if isinstance(kind, Vector):
        return "vector"
    if isinstance(kind, Members):
        return "members"
    if isinstance(kind, Records):
        return "records(" + ",".join(name for name, _ in kind.columns) + ")"
    if isinstance(kind, Bytes):
        return "bytes"
    assert isinstance(kind, Payload)
    return "text" if row.proto is Proto.NOTE else "payload"


def _integer_type(kinds: list[UInt | SInt | Flags]) -> pa.DataType:
    width = max(kind.width for kind in kinds)
    if all(isinstance(kind, SInt) for kind in kinds):
        return _SIGNED[width]
    if any(isinstance(kind, SInt) for kind in kinds):
        return pa.int64()
    return _UNSIGNED[width]


def _type(family: str, fields: list[Field]) -> pa.DataType:
    kinds = [field.kind for field in fields]
    if family == "integer":
        return _integer_type([kind for kind in kinds if isinstance(kind, UInt | SInt | Flags)])
    if family == "vector":
        return pa.list_(_integer_type([kind.element for kind in kinds if isinstance(kind, Vector)]))
    if family == "members":
        return pa.list_(pa.int32())
    if family == "text":
        return pa.string()
    if family in ("bytes", "payload"):
        return pa.binary()
    records = [kind for kind in kinds if isinstance(kind, Records)]
    columns = zip(*[kind.columns for kind in records], strict=True)
    return pa.list_(pa.struct([(column[0][0], _integer_type([kind for _, kind in column])) for column in columns]))


@cache
def field_columns() -> tuple[FieldColumn, ...]:
    """Every column that comes from the table, in the table's order."""
    uses: dict[tuple[Proto, str], list[tuple[PduType, Field]]] = {}
    for row in all_pdu_types():
        for field in row.fields:
            uses.setdefault((row.proto, field.name), []).append((row, field))
    columns = []
    for (proto, name), using in uses.items():
        base = f"{proto.name.lower()}_{name}"
        families = {_family(row, field.kind) for row, field in using}
        if len(families) == 1:
            groups = [(base, using)]
        else:
            groups = [(f"{base}_{row.title}", [(row, field)]) for row, field in using]
        for column, members in groups:
            family = _family(members[0][0], members[0][1].kind)
            kind = family.partition("(")[0]
            columns.append(FieldColumn(column, kind, _type(kind, [field for _, field in members]), tuple(members)))
    return tuple(columns)


@cache
def column_of(row: PduType, field: str) -> FieldColumn:
    """The column in which this field of this PDU stands."""
    for column in field_columns():
        if any(use is row and used.name == field for use, used in column.uses):
            return column
    raise KeyError(f"{row.name} has no field {field}")


# Where things lie.


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of all fields of PDUs of one type, and which of them do not fit their length."""

    places: Mapping[str, Place]  # by field name; only of rows without error
    error: Offsets  # 0, MISFIT or BEYOND for every PDU asked about


def lay_out(read: Reader, row: PduType, rows: Offsets, start: Offsets, end: Offsets) -> Layout:
    """PDUs of type `row` in data[start:end], in these rows of the batch."""
    cursor = start + HEADER.size
    fits = np.ones(len(rows), dtype=bool)
    beyond = np.zeros(len(rows), dtype=bool)
    where: dict[str, tuple[Offsets, Offsets]] = {}
    values: dict[str, Offsets] = {}
    counted = _counted(row)
    one = np.ones(len(rows), dtype=np.int64)
    for field in row.fields:
        kind = field.kind
        if isinstance(kind, UInt | SInt | Flags):
            count, size = one, one * kind.width
        elif isinstance(kind, Vector):
            count = _count(kind.count, values, len(rows))
            size = count * kind.element.width
        elif isinstance(kind, Records):
            count = _count(kind.count, values, len(rows))
            size = count * sum(column.width for _, column in kind.columns)
        elif isinstance(kind, Members):
            count = values[kind.size]
            size = 4 * -(-count // 32)
        elif isinstance(kind, Bytes):
            count = size = one * kind.size
        else:
            count = size = np.maximum(0, end - cursor)
        following = cursor + size
        fits &= (following <= end) & (count >= 0)
        if not fits.all():
            # A misfit lies at the PDU's own beginning from here on, with nothing in it: gathers stay in the buffer.
            cursor, count, following = (np.where(fits, here, safe) for here, safe in
                                        ((cursor, start), (count, 0), (following, start)))  # fmt: skip
        where[field.name] = cursor, count
        if field.name in counted:
            values[field.name] = _value(read, field, cursor, count, fits)
        if isinstance(kind, Members):
            beyond |= _top_bits(read, cursor, count)
        cursor = following
    fits &= cursor == end
    error = np.where(fits, np.where(beyond, BEYOND, 0), MISFIT)
    good = error == 0
    whole = bool(good.all())
    places = {}
    for field in row.fields:
        at, count = where[field.name]
        places[field.name] = (
            Place(rows, at, count, field.kind) if whole else Place(rows[good], at[good], count[good], field.kind)
        )
    return Layout(places, error)


@cache
def _counted(row: PduType) -> frozenset[str]:
    """The fields from which others know how many elements they have."""
    names: set[str] = set()
    for field in row.fields:
        kind = field.kind
        if isinstance(kind, Members):
            names.add(kind.size)
        elif isinstance(kind, Vector | Records):
            if isinstance(kind.count, Of):
                names.update(kind.count.names)
            elif isinstance(kind.count, SumOf):
                names.add(kind.count.name)
    return frozenset(names)


def _count(count: Count, values: Mapping[str, Offsets], rows: int) -> Offsets:
    if isinstance(count, Exactly):
        return np.full(rows, count.number, dtype=np.int64)
    if isinstance(count, SumOf):
        return np.minimum(values[count.name], _TOO_MANY)
    product = np.ones(rows, dtype=np.int64)
    for name in count.names:
        product = np.minimum(product * values[name], _TOO_MANY)
    return product


def _value(read: Reader, field: Field, start: Offsets, count: Offsets, fits: Bools) -> Offsets:
    """An integer, or the sum of a vector, cut at _TOO_MANY on both sides; 0 where the PDU does not fit anyway."""
    kind = field.kind
    if isinstance(kind, UInt | SInt | Flags):
        number = _cut(integers_at(read.data, start, kind))
        return number if fits.all() else np.where(fits, number, 0)
    assert isinstance(kind, Vector)
    elements = _cut(integers_at(read.data, spread(start, count, kind.element.width), kind.element))
    sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(elements)])
    last = np.cumsum(count)
    total: Offsets = sums[last] - sums[last - count]
    return total


def _cut(numbers: Numbers) -> Offsets:
    return np.clip(numbers, *(((0, _TOO_MANY)) if numbers.dtype.kind == "u" else (-_TOO_MANY, _TOO_MANY))).astype(
        np.int64
    )


def _top_bits(read: Reader, start: Offsets, size: Offsets) -> Bools:
    """Whether a bitmap has a bit beyond its size: those can only stand in the first word."""
    partial = (size & 31) > 0
    first = read.word(np.where(partial, start, 0))
    found: Bools = partial & (first >> np.where(partial, size & 31, 0) > 0)
    return found
