"""What impairs each place of a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from topologies.impairments import Impairment
from topologies.layers import Cover, Layers
from topologies.placement import Placement, placements
from topologies.plan import Plan


class Impaired:
    """Says what is to be put where."""

    def __init__(self, plan: Plan, put: Callable[[Placement, Impairment | None], None]) -> None:
        self._plan = plan
        self._layers = Layers[Placement, Impairment | None](put, None)

    def impair(self, on: Iterable[str], impairment: Impairment | None) -> None:
        """What is there usually, from now on."""
        self._layers.lay(self._places(on), impairment)

    def cover(self, on: Iterable[str], impairment: Impairment) -> Cover[Placement]:
        """Put another one over what is there."""
        return self._layers.cover(self._places(on), impairment)

    def _places(self, on: Iterable[str]) -> list[Placement]:
        return list(dict.fromkeys(place for word in on for place in placements(self._plan, word)))
