"""Numbers and bytes at arbitrary places of a buffer, for a whole batch in one numpy call.

One unaligned gather per item is the trick of the whole decoder: a view with one element per *byte position*, indexed
with the places. Gathering byte by byte and putting numbers together is slower than a plain loop.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nodes.wire.table import Flags, SInt, UInt

Bytes8 = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.integer]


def words_at(data: Bytes8, dtype: str) -> npt.NDArray[np.generic]:
    """A view with one element per byte position: element i is what begins at byte i."""
    kind = np.dtype(dtype)
    return np.ndarray((max(0, len(data) - kind.itemsize + 1),), kind, data, strides=(1,))


def unsigned_at(data: Bytes8, dtype: str) -> npt.NDArray[np.unsignedinteger]:
    """words_at for a type of integers."""
    found: npt.NDArray[np.unsignedinteger] = words_at(data, dtype)  # type: ignore[assignment]
    return found


def rows_at(data: Bytes8, places: Offsets, size: int) -> Bytes8:
    """The `size` bytes at each place, as the rows of a matrix."""
    found: Bytes8 = words_at(data, f"V{size}")[places].view(np.uint8).reshape(len(places), size)
    return found


def column_at(rows: Bytes8, place: int, dtype: str) -> Offsets:
    """The numbers that stand at the same place of every row."""
    found: Offsets = rows[:, place : place + np.dtype(dtype).itemsize].view(dtype)[:, 0].astype(np.int64)
    return found


class Reader:
    """Big-endian numbers at any byte of a buffer."""

    __slots__ = ("_u2", "_u4", "data")

    def __init__(self, data: Bytes8) -> None:
        self.data = data
        self._u2 = words_at(data, ">u2")
        self._u4 = words_at(data, ">u4")

    def byte(self, places: Offsets) -> Offsets:
        return self.data[places].astype(np.int64)

    def half(self, places: Offsets) -> Offsets:
        return self._u2[places].astype(np.int64)

    def word(self, places: Offsets) -> Offsets:
        return self._u4[places].astype(np.int64)


def integers_at(data: Bytes8, places: Offsets, kind: UInt | SInt | Flags) -> Numbers:
    """The integers of this kind at these places, in the machine's byte order."""
    letter = "i" if isinstance(kind, SInt) else "u"
    found = unsigned_at(data, f"<{letter}{kind.width}")[places]
    return found.byteswap(inplace=True) if kind.width > 1 else found


def spread(start: Offsets, count: Offsets, width: int) -> Offsets:
    """The places of all elements of all vectors, in a row: vector i has count[i] elements from start[i] on."""
    last = np.cumsum(count)
    total = int(last[-1]) if len(last) else 0
    return np.repeat(start - width * (last - count), count) + width * np.arange(total, dtype=np.int64)


def groups(keys: npt.NDArray[np.uint16], most: int) -> list[tuple[int, Offsets]]:
    """For every key that occurs, below `most`: the places where it stands, ascending."""
    counts = np.bincount(keys, minlength=most)
    order = np.argsort(keys, kind="stable")  # a radix sort for 16 bits
    present = np.flatnonzero(counts)
    return list(zip(present.tolist(), np.split(order, np.cumsum(counts[present])[:-1]), strict=True))
