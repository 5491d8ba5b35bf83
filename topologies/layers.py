"""What holds at each place: what is usual there, and over it what was put there for a while.

If each put back what it had found, then of two that overlap the later one would bring back the earlier one for good;
and if the end of one were the end of all, the earlier one would end the later one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Cover(Generic[K]):
    """What lies over the usual, for a while."""

    frees: Callable[[], Sequence[K]]  # where nothing else does
    end: Callable[[], None]


class Layers(Generic[K, V]):
    """Says what is to be put where, when it is something else; of all that lies over each other the latest counts."""

    def __init__(self, put: Callable[[K, V], None], usual: V) -> None:
        self._put, self._everywhere = put, usual
        self._usual: dict[K, V] = {}
        self._over: dict[K, dict[object, V]] = {}  # in the order in which they came

    def at(self, key: K) -> V:
        """What holds there now."""
        return next(reversed(self._over.get(key, {}).values()), self._usual.get(key, self._everywhere))

    def covered(self) -> list[K]:
        """Where something else holds than what is usual."""
        return [key for key, over in self._over.items() if over]

    def lay(self, keys: Iterable[K], value: V) -> None:
        """What is usual there, from now on."""
        for key in keys:
            before = self.at(key)
            self._usual[key] = value
            self._change(key, before)

    def cover(self, keys: Iterable[K], value: V) -> Cover[K]:
        """Put something over what is there."""
        mark, keys = object(), list(dict.fromkeys(keys))
        for key in keys:
            before = self.at(key)
            self._over.setdefault(key, {})[mark] = value
            self._change(key, before)

        def frees() -> list[K]:
            return [key for key in keys if self._over[key].keys() <= {mark}]

        def end() -> None:
            for key in keys:
                before = self.at(key)
                self._over[key].pop(mark, None)
                self._change(key, before)

        return Cover(frees, end)

    def bare(self, keys: Iterable[K]) -> None:
        """Take away all that lies over what is usual."""
        for key in keys:
            before = self.at(key)
            self._over.get(key, {}).clear()
            self._change(key, before)

    def _change(self, key: K, before: V) -> None:
        after = self.at(key)
        if after != before:
            self._put(key, after)
