"""AL and PAL (paper 000 §3.1): what each entity is known to have of each source, and per source the least of it.

The least over the members is kept as the values rise: a row is searched again only when its last lowest holder has
moved on, so that a PDU costs one pass over its ACK vector and not one over the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence


class Minima:
    """A matrix of rising numbers with its minimum per source, over the entities that count.

    Indices are E_j's number less one. `columns[j][k]`: E_j expects this TSEQ of E_k next. `moved` collects the sources
    whose minimum has risen, until somebody takes them.
    """

    __slots__ = ("_holders", "columns", "members", "minimum", "moved")

    def __init__(self, n: int, start: int = 1) -> None:
        self.columns = [[start] * n for _ in range(n)]
        self.minimum = [start] * n
        self.members = frozenset(range(n))
        self.moved: set[int] = set()
        self._holders = [n] * n  # members that stand at the minimum

    def raise_column(self, j: int, vector: Sequence[int]) -> None:
        """E_j acknowledges: of every source at least this much."""
        column, minimum, counts = self.columns[j], self.minimum, j in self.members
        for k, value in enumerate(vector):
            old = column[k]
            if value > old:
                column[k] = value
                if counts and old == minimum[k]:
                    self._leave(k)

    def raise_one(self, j: int, k: int, value: int) -> None:
        """E_j has everything of E_k below `value`."""
        old = self.columns[j][k]
        if value > old:
            self.columns[j][k] = value
            if j in self.members and old == self.minimum[k]:
                self._leave(k)

    def set_source(self, k: int, value: int) -> None:
        """Begin again with source k: everybody expects `value` of it."""
        for column in self.columns:
            column[k] = value
        self._search(k)

    def lower(self, limits: Sequence[int]) -> None:
        """Nobody has more of a source than this: what lay above was discarded."""
        for column in self.columns:
            for k, limit in enumerate(limits):
                column[k] = min(column[k], limit)
        for k in range(len(limits)):
            self._search(k)

    def count_only(self, members: frozenset[int]) -> None:
        """From now on only these entities hold a minimum back."""
        self.members = members
        for k in range(len(self.minimum)):
            self._search(k)

    def _leave(self, k: int) -> None:
        self._holders[k] -= 1
        if not self._holders[k]:
            self._search(k)

    def _search(self, k: int) -> None:
        row = [self.columns[j][k] for j in self.members]
        self.minimum[k] = least = min(row)
        self._holders[k] = row.count(least)
        self.moved.add(k)
