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
from captures.gather import Bools, Bytes8, Numbers, Offsets, integers_at, spread
from nodes.wire.table import Flags, Records, SInt, UInt, Vector

pa: Any = pyarrow
Array: TypeAlias = Any
DataType: TypeAlias = Any
Offsets32 = npt.NDArray[np.int32]


def build(column: FieldColumn, data: Bytes8, rows: int, places: list[Place]) -> Array:
    """The column for a batch of `rows` frames."""
    if not places:
        return nulls(rows, column.type)
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


def _present(rows: int, places: list[Place]) -> Bools | None:
    """Which rows have a value; None if all have."""
    if sum(len(place.rows) for place in places) == rows:
        return None
    present = np.zeros(rows, dtype=bool)
    for place in places:
        present[place.rows] = True
    return present


def _validity(rows: int, places: list[Place]) -> Any | None:
    present = _present(rows, places)
    return None if present is None else bitmap(present)


def _integers(data: Bytes8, rows: int, places: list[Place], kind: DataType) -> Array:
    dtype = kind.to_pandas_dtype()
    values = np.zeros(rows, dtype=dtype)
    for width, same in groupby(places, key=lambda place: place.kind):
        assert isinstance(width, UInt | SInt | Flags)
        where, start = _together(list(same))
        values[where] = integers_at(data, start, width)
    return pa.Array.from_buffers(kind, rows, [_validity(rows, places), pa.py_buffer(values)])


def _together(places: list[Place]) -> tuple[Offsets, Offsets]:
    if len(places) == 1:
        return places[0].rows, places[0].start
    return np.concatenate([place.rows for place in places]), np.concatenate([place.start for place in places])


@dataclass(frozen=True, slots=True)
class _Lists:
    """List columns need starts and counts in the order of the rows."""

    start: Offsets
    count: Offsets
    offsets: npt.NDArray[np.int32]


def _lists(rows: int, places: list[Place]) -> _Lists:
    start = np.zeros(rows, dtype=np.int64)
    count = np.zeros(rows, dtype=np.int64)
    for place in places:
        start[place.rows] = place.start
        count[place.rows] = place.count
    offsets = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum(count, out=offsets[1:])
    return _Lists(start, count, offsets)


def _list_array(kind: DataType, rows: int, places: list[Place], lists: _Lists, values: Array) -> Array:
    buffers = [_validity(rows, places), pa.py_buffer(lists.offsets)]
    return pa.Array.from_buffers(kind, rows, buffers, children=[values])


def _vectors(data: Bytes8, rows: int, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    dtype = kind.value_type.to_pandas_dtype()
    elements = {place.kind.element for place in places if isinstance(place.kind, Vector)}
    values: Numbers
    if len(elements) == 1:
        element = elements.pop()
        values = integers_at(data, spread(lists.start, lists.count, element.width), element).astype(dtype)
    else:
        values = np.zeros(int(lists.offsets[-1]), dtype=dtype)
        for place in places:
            assert isinstance(place.kind, Vector)
            element = place.kind.element
            target = spread(lists.offsets[place.rows].astype(np.int64), place.count, 1)
            values[target] = integers_at(data, spread(place.start, place.count, element.width), element)
    return _list_array(kind, rows, places, lists, pa.array(values))


def _records(data: Bytes8, rows: int, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    struct_type = kind.value_type
    children = [np.zeros(int(lists.offsets[-1]), dtype=struct_type[i].type.to_pandas_dtype())
                for i in range(struct_type.num_fields)]  # fmt: skip
    for place in places:
        assert isinstance(place.kind, Records)
        target = spread(lists.offsets[place.rows].astype(np.int64), place.count, 1)
        columns = place.kind.columns
        at = spread(place.start, place.count, sum(column.width for _, column in columns))
        for child, (_, column) in zip(children, columns, strict=True):
            child[target] = integers_at(data, at, column)
            at = at + column.width
    arrays = [pa.array(child) for child in children]
    values = pa.StructArray.from_arrays(arrays, fields=list(struct_type))
    return _list_array(kind, rows, places, lists, values)


def _members(data: Bytes8, rows: int, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    size = 4 * -(-lists.count // 32)
    # Bytes from the last to the first and bits from the least significant on: the entities in ascending order.
    at = spread(-(lists.start + size - 1), size, 1)
    bits = np.flatnonzero(np.unpackbits(data[-at], bitorder="little"))
    ends = np.cumsum(8 * size)
    row = np.searchsorted(ends, bits, side="right")
    offsets = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum(np.bincount(row, minlength=rows), out=offsets[1:])
    members = (bits - (ends - 8 * size)[row] + 1).astype(np.int32)
    return _list_array(kind, rows, places, _Lists(lists.start, lists.count, offsets), pa.array(members))


def _binary(data: Bytes8, rows: int, places: list[Place], kind: DataType) -> Array:
    lists = _lists(rows, places)
    return binary_array(data, kind, rows, lists.start, lists.count, lists.offsets, _validity(rows, places))


def binary_array(
    data: Bytes8,
    kind: DataType,
    rows: int,
    start: Offsets,
    count: Offsets,
    offsets: Offsets32,
    validity: Any | None,
) -> Array:
    """data[start:start+count] of every row."""
    values = data[spread(start, count, 1)]
    return pa.Array.from_buffers(kind, rows, [validity, pa.py_buffer(offsets), pa.py_buffer(values)])


def _text(data: Bytes8, rows: int, places: list[Place], kind: DataType) -> Array:
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


def payload_lengths(rows: int, places: list[Place]) -> Array:
    """The length column of a payload."""
    if not places:
        return nulls(rows, pa.int32())
    values = np.zeros(rows, dtype=np.int32)
    for place in places:
        values[place.rows] = place.count
    return pa.Array.from_buffers(pa.int32(), rows, [_validity(rows, places), pa.py_buffer(values)])


def numbers(values: Numbers, kind: DataType, null: int | None = None) -> Array:
    """A column of integers, in which one value means that there is none."""
    narrow = np.ascontiguousarray(values).astype(kind.to_pandas_dtype(), copy=False)
    if null is None or not (absent := values == null).any():
        return pa.array(narrow)
    return pa.array(narrow, mask=absent)


def named(index: Offsets, names: Array, null: int) -> Array:
    """A column of names, as indices into a dictionary."""
    return pa.DictionaryArray.from_arrays(numbers(index, pa.int16(), null), names)
