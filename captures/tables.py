"""Tables of the evidence: columns of numbers and lists, and a row as an object when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow

pa: Any = pyarrow
Array: TypeAlias = Any  # of Arrow, whose stubs know no computed types
Ints: TypeAlias = npt.NDArray[np.int64]
Row = TypeVar("Row", bound=NamedTuple)


class Column:
    """One column of a table: as the captures gave it, else made of the rows when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, table: Table[Any], owner: type) -> Ints:
        found = table.made(self._name)
        vars(table)[self._name] = found  # from now on it is the instance's own attribute
        return found


class Table(Sequence[Row]):
    """Rows of one kind, by columns.

    What comes from captures has columns, and a row is made for an excerpt; what a test or the in-memory world wrote
    down has rows, and a column is made for a judge.
    """

    ROW: type[Row]

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows: Sequence[Row] | None = tuple(rows)
        self._size = len(self._rows)

    @classmethod
    def of(cls, size: int, **columns: Any) -> Self:
        """A table of columns."""
        table = cls()
        table._rows, table._size = None, size
        vars(table).update(columns)
        return table

    def made(self, name: str) -> Ints:
        """The column of that name, from the rows."""
        return np.fromiter(self._given(name), np.int64, self._size)

    def _given(self, name: str) -> Iterator[Any]:
        """What stands in the rows under that name."""
        assert self._rows is not None
        place = self._rows[0]._fields.index(name) if self._rows else 0
        return map(itemgetter(place), self._rows)

    def rows(self, at: Ints) -> list[Row]:
        """Some of the rows as objects."""
        if self._rows is not None:
            return [self._rows[place] for place in at.tolist()]
        return list(map(self.ROW, *(self.shown(name, at) for name in self.ROW._fields)))

    def shown(self, name: str, at: Ints) -> Iterable[Any]:
        """What stands under that name in some rows, made of columns."""
        found: list[Any] = getattr(self, name)[at].tolist()
        return found

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return self.rows(np.arange(self._size)[at])
        if self._rows is not None:
            return self._rows[at]
        return self.rows(np.array([range(self._size)[at]]))[0]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows if self._rows is not None else self.rows(np.arange(self._size)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self) == list(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"


@dataclass(frozen=True, slots=True, eq=False)
class ListColumn:
    """A list of numbers per row: those of row i are flat[ends[i]:ends[i + 1]]."""

    flat: Ints
    ends: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> ListColumn:
        """From lists."""
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        ends = ends_of(counts)
        return cls(np.fromiter(chain.from_iterable(lists), np.int64, int(ends[-1])), ends)

    @property
    def counts(self) -> Ints:
        """How many elements each list has."""
        return self.ends[1:] - self.ends[:-1]

    def at(self, place: Ints | int) -> Ints:
        """The element at this place of every list, from 0; 0 where there is none."""
        there = (place >= 0) & (place < self.counts)
        found = np.zeros(len(self.ends) - 1, np.int64)
        found[there] = self.flat[(self.ends[:-1] + place)[there]]
        return found

    def tuples(self) -> list[tuple[int, ...]]:
        """Every list as a tuple; most of them are empty."""
        flat, ends = self.flat.tolist(), self.ends.tolist()
        return [tuple(flat[begin:end]) if end > begin else () for begin, end in pairwise(ends)]


def ends_of(counts: Ints) -> Ints:
    """Where each part ends, when they stand one behind the other; 0 before the first."""
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def concatenated(parts: Sequence[Ints]) -> Ints:
    """One array behind the other; there may be none."""
    return np.concatenate([np.zeros(0, np.int64), *parts])


# From Arrow.


class Whole:
    """An Arrow table in pieces as the decoder gave them; a column is put together when somebody asks for it."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._columns: dict[str, Array] = {}

    def take(self, name: str, rows: Ints) -> Array:
        """Some rows of a column."""
        if name not in self._columns:
            self._columns[name] = self._table[name].combine_chunks()
        return self._columns[name].take(pa.array(rows))


def ints(array: Array) -> Ints:
    """A column of whole numbers; 0 where there is none."""
    filled = array.fill_null(0) if array.null_count else array
    found: Ints = filled.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return found


def lists(array: Array) -> ListColumn:
    """A column of lists; of lists of records only the lengths are known."""
    ends = array.offsets.to_numpy().astype(np.int64)
    flat = array.values[int(ends[0]) : int(ends[-1])]
    return ListColumn(np.zeros(0, np.int64) if pa.types.is_struct(flat.type) else ints(flat), ends - ends[0])


def codes(*columns: Ints) -> Ints:
    """Rows with equal values in all columns get the same number, from 0 in the order of their first appearance."""
    together = np.stack(columns, axis=1)
    keys = pa.Array.from_buffers(
        pa.binary(together.itemsize * len(columns)), len(together), [None, pa.py_buffer(together)]
    )
    return ints(keys.dictionary_encode().indices)
