"""What impairs each place of a network: what is there usually, and over it what was put there for a while.

If each put back what it had found, then of two that overlap the later one would bring back the earlier one for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from topologies.impairments import Impairment
from topologies.placement import Placement, placements
from topologies.plan import Plan

Put = Callable[[Placement, Impairment | None], None]


class Impaired:
    """Says what is to be put where; of all that lies over each other the latest counts."""

    def __init__(self, plan: Plan, put: Put) -> None:
        self._plan, self._put = plan, put
        self._usual: dict[Placement, Impairment | None] = {}
        self._over: dict[Placement, dict[object, Impairment]] = {}  # in the order in which they came

    def impair(self, on: Iterable[str], impairment: Impairment | None) -> None:
        """What is there usually, from now on."""
        for place in self._places(on):
            self._usual[place] = impairment
            if not self._over.get(place):
                self._put(place, impairment)

    def cover(self, on: Iterable[str], impairment: Impairment) -> Callable[[], None]:
        """Put another one over what is there; what takes it away again."""
        mark, places = object(), self._places(on)
        for place in places:
            self._over.setdefault(place, {})[mark] = impairment
            self._put(place, impairment)

        def uncover() -> None:
            for place in places:
                over = self._over[place]
                counts = mark == next(reversed(over))
                del over[mark]
                if counts:
                    self._put(place, next(reversed(over.values()), self._usual.get(place)))

        return uncover

    def _places(self, on: Iterable[str]) -> list[Placement]:
        return list(dict.fromkeys(place for word in on for place in placements(self._plan, word)))
