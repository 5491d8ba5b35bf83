"""From places to Arrow arrays: the builders of the decoder's columns, one per kind of field.

pyarrow's type stubs know neither numpy arrays as buffers nor types computed at run time, so this file handles pyarrow
as untyped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow

from captures.fields import FieldColumn, Place
from captures.gather import Bools, Bytes8, Numbers, Offsets, integers_at, rows_at, spread
from nodes.wire.table import Flags, Records, SInt, UInt, Vector

pa: Any = pyarrow
Array: TypeAlias = Any
DataType: TypeAlias = Any
Offsets32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Occupied:
    """The rows of a batch that have a value, ascending, and Arrow's bits for them (None: all have)."""

    rows: Offsets
    validity: Any


class Rows:
    """The frames of a batch. Columns of the same PDU types have their values in the same rows: these are found once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._occupied: dict[tuple[int, ...], Occupied] = {}

    def of(self, places: list[Place]) -> Occupied:
        """The rows in which these fields stand."""
        key = tuple([id(place.rows) for place in places])
        if key not in self._occupied:
            self._occupied[key] = self._find(places)
        return self._occupied[key]

    def _find(self, places: list[Place]) -> Occupied:
        present = np.zeros(self.count, dtype=bool)
        for place in places:
            present[place.rows] = True
        rows = np.flatnonzero(present)
        return Occupied(rows, None if len(rows) == self.count else bitmap(present))


def build(column: FieldColumn, data: Bytes8, rows: Rows, places: list[Place]) -> Array:
    """The column for a batch of frames."""
    if not places:
        return nulls(rows.count, column.type)
    return _BUILDERS[column.family](data, rows, places, column.type)


@cache
def _spare_nulls(kind: DataType, rows: int) -> Array:
    return pa.nulls(rows, kind)


def nulls(rows: int, kind: DataType) -> Array:
    """Nothing, `rows` times; slices of one array."""
    most = max(1 << 14, 1 << (max(rows, 1) - 1).bit_length())
    return _spare_nulls(kind, most)[:rows]


def bitmap(present: Bools) -> Any:
    """Arrow's validity bits."""
    return pa.py_buffer(np.packbits(present, bitorder="little"))


def _integers(data: Bytes8, rows: Rows, places: list[Place], kind: DataType) -> Array:
    # Rows without a value are never read, so they are left as they are, which saves most of this column's cost.
    values = np.empty(rows.count, dtype=kind.to_pandas_dtype())
    for width, same in groupby(places, key=lambda place: place.kind):
        assert isinstance(width, UInt | SInt | Flags)
        where, start = _together(list(same))
        values[where] = integers_at(data, start, width)
    return pa.Array.from_buffers(kind, rows.count, [rows.of(places).validity, pa.py_buffer(values)])


def _together(places: list[Place]) -> tuple[Offsets, Offsets]:
    if len(places) == 1:
        return places[0].rows, places[0].start
    return np.concatenate([place.rows for place in places]), np.concatenate([place.start for place in places])


@dataclass(frozen=True, slots=True)
class _Lists:
    """Starts and counts of the lists in the order of the rows that have one, and Arrow's offsets for all rows."""

    start: Offsets
    count: Offsets
    offsets: Offsets32


def _lists(rows: Rows, places: list[Place]) -> _Lists:
    if len(places) == 1:
        start, count = places[0].start, places[0].count
    else:
        start, count = np.empty(rows.count, dtype=np.int64), np.empty(rows.count, dtype=np.int64)
        for place in places:
            start[place.rows] = place.start
            count[place.rows] = place.count
        occupied = rows.of(places).rows
        start, count = start[occupied], count[occupied]
    return _Lists(start, count, list_offsets(rows.count, rows.of(places).rows, count))


def list_offsets(rows: int, occupied: Offsets, count: Offsets) -> Offsets32:
    """Arrow's offsets: the lists of the occupied rows are so long, all others are empty."""
    offsets = np.zeros(rows + 1, dtype=np.int32)
    offsets[occupied + 1] = count
    return np.cumsum(offsets, dtype=np.int32, out=offsets)


def _list_array(kind: DataType, rows: Rows, places: list[Place], offsets: Offsets32, values: Array) -> Array:
    buffers = [rows.of(places).validity, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kind, rows.count, buffers, children=[values])


def _vectors(data: Bytes8, rows: Rows, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    dtype = kind.value_type.to_pandas_dtype()
    elements = [place.kind for place in places if isinstance(place.kind, Vector)]
    values: Numbers
    if len({vector.element for vector in elements}) == 1:
        values = _all_elements(data, lists, elements[0].element).astype(dtype, copy=False)
    else:
        values = np.empty(int(lists.offsets[-1]), dtype=dtype)
        for place, vector in zip(places, elements, strict=True):
            at = spread(place.start, place.count, vector.element.width)
            values[_target(lists, place)] = integers_at(data, at, vector.element)
    return _list_array(kind, rows, places, lists.offsets, pa.array(values))


def _all_elements(data: Bytes8, lists: _Lists, kind: UInt | SInt) -> Numbers:
    """The elements of all lists in a row. Lists of one length, as those of one cluster are, are read as whole rows."""
    size = int(lists.count[0]) if len(lists.count) else 0
    if size and (lists.count == size).all():
        letter = "i" if isinstance(kind, SInt) else "u"
        found = rows_at(data, lists.start, size * kind.width).reshape(-1).view(f"{letter}{kind.width}")
        return found.byteswap(inplace=True)
    return integers_at(data, spread(lists.start, lists.count, kind.width), kind)


def _target(lists: _Lists, place: Place) -> Offsets:
    """Where the elements of one PDU type go among all elements."""
    return spread(lists.offsets[place.rows].astype(np.int64), place.count, 1)


def _records(data: Bytes8, rows: Rows, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    fields = list(kind.value_type)
    kinds = [place.kind for place in places if isinstance(place.kind, Records)]
    if len(set(kinds)) == 1:
        children = _record_columns(data, lists.start, lists.count, kinds[0], fields)
    else:
        children = [np.empty(int(lists.offsets[-1]), dtype=field.type.to_pandas_dtype()) for field in fields]
        for place, records in zip(places, kinds, strict=True):
            own = _record_columns(data, place.start, place.count, records, fields)
            target = _target(lists, place)
            for child, values in zip(children, own, strict=True):
                child[target] = values
    records_array = pa.StructArray.from_arrays([pa.array(child) for child in children], fields=fields)
    return _list_array(kind, rows, places, lists.offsets, records_array)


def _record_columns(data: Bytes8, start: Offsets, count: Offsets, kind: Records, fields: list[Any]) -> list[Numbers]:
    """The records of all lists in a row, column by column: each record is read once and then cut."""
    size = sum(column.width for _, column in kind.columns)
    records = rows_at(data, spread(start, count, size), size)
    found: list[Numbers] = []
    place = 0
    for (_, column), field in zip(kind.columns, fields, strict=True):
        raw = records[:, place : place + column.width].view(f">u{column.width}")[:, 0]
        found.append(raw.astype(field.type.to_pandas_dtype()))
        place += column.width
    return found


def _members(data: Bytes8, rows: Rows, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    size = 4 * ((lists.count + 31) >> 5)
    # Bytes from the last to the first and bits from the least significant on: the entities in ascending order.
    at = spread(-(lists.start + size - 1), size, 1)
    bits = np.flatnonzero(np.unpackbits(data[-at], bitorder="little"))
    bitmap_of = np.repeat(np.arange(len(size)), size)[bits >> 3]
    first_bit = 8 * (np.cumsum(size) - size)
    members = (bits - first_bit[bitmap_of] + 1).astype(np.int32)
    count = np.bincount(bitmap_of, minlength=len(size))
    offsets = list_offsets(rows.count, rows.of(places).rows, count)
    return _list_array(kind, rows, places, offsets, pa.array(members))


def _binary(data: Bytes8, rows: Rows, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    occupied = rows.of(places)
    return binary_array(data, kind, rows.count, occupied, lists.start, lists.count)


def binary_array(data: Bytes8, kind: DataType, rows: int, occupied: Occupied, start: Offsets, count: Offsets) -> Array:
    """data[start:start+count] in the occupied rows, where the starts are ascending."""
    size = int(count[0]) if len(count) else 0
    if size and (count == size).all():
        values = rows_at(data, start, size).reshape(-1)
        full = len(count) == rows
        offsets = np.arange(rows + 1, dtype=np.int32) * size if full else list_offsets(rows, occupied.rows, count)
        return pa.Array.from_buffers(kind, rows, [occupied.validity, pa.py_buffer(offsets), pa.py_buffer(values)])
    # The block as an array of strings of which every second is one of ours and the others are what lies between.
    bounds = np.stack([start, start + count], axis=1).astype(np.int32).reshape(-1)
    pieces = pa.Array.from_buffers(kind, max(0, len(bounds) - 1), [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    index = np.zeros(rows, dtype=np.int32)
    index[occupied.rows] = np.arange(0, len(bounds), 2)
    return pieces.take(pa.Array.from_buffers(pa.int32(), rows, [occupied.validity, pa.py_buffer(index)]))


def occupied_rows(present: Bools) -> Occupied:
    """The rows where this holds."""
    return Occupied(np.flatnonzero(present), None if present.all() else bitmap(present))


def _text(data: Bytes8, rows: Rows, places: list[Place], kind: DataType) -> Array:
    found = _binary(data, rows, places, pa.binary())
    try:
        return found.cast(kind)
    except pa.ArrowInvalid:
        # Somebody wrote bytes that are no UTF-8. They are shown with replacement characters, as the codec's users do.
        return pa.array([None if text is None else text.decode("utf-8", "replace") for text in found.to_pylist()], kind)


_BUILDERS = {
    "integer": _integers,
    "vector": _vectors,
    "members": _members,
    "records": _records,
    "bytes": _binary,
    "payload": _binary,
    "text": _text,
}


def payload_lengths(rows: Rows, places: list[Place]) -> Array:
    """The length column of a payload."""
    if not places:
        return nulls(rows.count, pa.int32())
    values = np.zeros(rows.count, dtype=np.int32)
    for place in places:
        values[place.rows] = place.count
    return pa.Array.from_buffers(pa.int32(), rows.count, [rows.of(places).validity, pa.py_buffer(values)])


def numbers(values: Numbers, kind: DataType, null: int | None = None) -> Array:
    """A column of integers, in which one value means that there is none."""
    narrow = np.ascontiguousarray(values, dtype=kind.to_pandas_dtype())
    if null is None or (present := values != null).all():
        return pa.array(narrow)
    return pa.Array.from_buffers(kind, len(narrow), [bitmap(present), pa.py_buffer(narrow)])


def named(index: Numbers, names: Array, null: int | None) -> Array:
    """A column of names, as indices into a dictionary."""
    return pa.DictionaryArray.from_arrays(numbers(index, pa.int16(), null), names)
