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

from captures.counts import counts_of
from captures.gather import Bools, Numbers, Offsets, Reader, integers_at, spread
from captures.headers import BEYOND, MISFIT
from nodes.wire import HEADER, Field, PduType, Proto, all_pdu_types
from nodes.wire.table import (
    Bytes,
    Count,
    Exactly,
    Flags,
    Kind,
    Members,
    Payload,
    Records,
    SInt,
    SumOf,
    UInt,
    Vector,
)

_TOO_MANY = 1 << 17  # more than any PDU has bytes; factors are cut here so that products cannot overflow
_UNSIGNED = {1: pa.int16(), 2: pa.int32(), 4: pa.int64(), 8: pa.uint64()}
_SIGNED = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


@dataclass(frozen=True, slots=True)
class Place:
    """Where one field lies in some rows: its first byte, its number of elements (or bytes), its kind there."""

    rows: Offsets
    base: Offsets  # where the fields of fixed size before it begin ...
    shift: int  # ... and how many bytes of them there are: most places are never asked for
    elements: Offsets | int
    kind: Kind

    @property
    def start(self) -> Offsets:
        return self.base + self.shift

    @property
    def count(self) -> Offsets:
        return np.full(len(self.rows), self.elements) if isinstance(self.elements, int) else self.elements


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
    error: Offsets | None  # 0, MISFIT or BEYOND for every PDU asked about; None: no error at all


def lay_out(read: Reader, row: PduType, rows: Offsets, start: Offsets, end: Offsets) -> Layout:
    """PDUs of type `row` in data[start:end], in these rows of the batch."""
    shape = _shape(row)
    base, shift = start, HEADER.size
    fits = start + shape.least <= end
    if not fits.all():
        base, end = np.where(fits, base, 0), np.where(fits, end, shape.least)  # the zeroes in front of the block
    beyond: Bools | None = None
    places: dict[str, Place] = {}
    values: dict[str, Offsets] = {}
    for field in row.fields:
        kind = field.kind
        if isinstance(kind, UInt | SInt | Flags | Bytes):
            size = kind.size if isinstance(kind, Bytes) else kind.width
            places[field.name] = place = Place(rows, base, shift, size if isinstance(kind, Bytes) else 1, kind)
            shift += size
        else:
            here = base + shift
            count = _elements(kind, values, end - here)
            following = here + _size(kind, count)
            inside = (following <= end) & (count >= 0)
            if not inside.all():
                # From here on a misfit lies in the zeroes in front of the block, where nothing has any elements.
                fits &= inside
                here, count, following, end = (
                    np.where(fits, true, safe)
                    for true, safe in ((here, 0), (count, 0), (following, 0), (end, shape.least))
                )
            places[field.name] = place = Place(rows, here, 0, count, kind)
            if isinstance(kind, Members):
                above = _top_bits(read, here, count)
                beyond = above if beyond is None else beyond | above
            base, shift = following, 0
        if field.name in shape.counted:
            values[field.name] = _value(read, place)
    fits &= base + shift == end
    good = fits if beyond is None else fits & ~beyond
    if good.all():
        return Layout(places, None)
    chosen = np.flatnonzero(good)
    error = np.where(fits, np.where(good, 0, BEYOND), MISFIT)
    kept = rows[chosen]
    return Layout({name: _only(place, chosen, kept) for name, place in places.items()}, error)


def _only(place: Place, chosen: Offsets, rows: Offsets) -> Place:
    elements = place.elements if isinstance(place.elements, int) else place.elements[chosen]
    return Place(rows, place.base[chosen], place.shift, elements, place.kind)


def _elements(kind: Vector | Records | Members | Payload, values: Mapping[str, Offsets], rest: Offsets) -> Offsets:
    """How many elements (entities, bytes) a variable field has."""
    if isinstance(kind, Members):
        return values[kind.size]
    if isinstance(kind, Payload):
        return np.maximum(rest, 0)
    return _count(kind.count, values, len(rest))


def _size(kind: Vector | Records | Members | Payload, count: Offsets) -> Offsets:
    """How many bytes they take."""
    if isinstance(kind, Members):
        return 4 * ((count + 31) >> 5)
    if isinstance(kind, Payload):
        return count
    return count * (kind.element.width if isinstance(kind, Vector) else sum(column.width for _, column in kind.columns))


@dataclass(frozen=True, slots=True)
class _Shape:
    """What can be known about a PDU type before its bytes are seen."""

    least: int  # bytes of the header and of all fields of fixed size
    counted: frozenset[str]  # the fields from which others know how many elements they have


@cache
def _shape(row: PduType) -> _Shape:
    least = HEADER.size
    for field in row.fields:
        if isinstance(field.kind, UInt | SInt | Flags):
            least += field.kind.width
        elif isinstance(field.kind, Bytes):
            least += field.kind.size
    counts = counts_of(row)
    return _Shape(least, counts.factors | counts.sums | counts.sizes)


def _count(count: Count, values: Mapping[str, Offsets], rows: int) -> Offsets:
    if isinstance(count, Exactly):
        return np.full(rows, count.number, dtype=np.int64)
    if isinstance(count, SumOf):
        return np.minimum(values[count.name], _TOO_MANY)
    product = np.ones(rows, dtype=np.int64)
    for name in count.names:
        product = np.minimum(product * values[name], _TOO_MANY)
    return product


def _value(read: Reader, place: Place) -> Offsets:
    """An integer, or the sum of a vector, cut at _TOO_MANY on both sides."""
    kind = place.kind
    if isinstance(kind, UInt | SInt | Flags):
        return _cut(integers_at(read.data, place.start, kind))
    assert isinstance(kind, Vector)
    count = place.count
    elements = _cut(integers_at(read.data, spread(place.start, count, kind.element.width), kind.element))
    sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(elements)])
    last = np.cumsum(count)
    total: Offsets = sums[last] - sums[last - count]
    return total


def _cut(numbers: Numbers) -> Offsets:
    if numbers.dtype.itemsize <= 2:
        return numbers.astype(np.int64)
    if numbers.dtype.kind == "u":
        return np.minimum(numbers, _TOO_MANY).astype(np.int64)
    return np.clip(numbers, -_TOO_MANY, _TOO_MANY).astype(np.int64)


def _top_bits(read: Reader, start: Offsets, size: Offsets) -> Bools:
    """Whether a bitmap has a bit beyond its size: those can only stand in the first word."""
    spare = size & 31
    first = read.word(np.where(spare > 0, start, 0))  # 0: zeroes in front of the block
    found: Bools = first >> spare > 0
    return found
