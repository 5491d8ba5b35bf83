"""What names in a scenario mean: its nodes, and the places of its network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from harness.scenario.problems import Path, Problem
from harness.scenario.schema import Problems
from topologies.impairments import Impairment, refusals
from topologies.placement import placements
from topologies.plan import Plan, PlanError


@dataclass(frozen=True, slots=True)
class Scope:
    """A scenario's network and what runs on it, as far as they could be read."""

    nodes: tuple[str, ...]
    plan: Plan
    protocol: str | None
    engine: Literal["virtual", "live"]

    def strangers(self, names: Iterable[str], path: Path) -> Iterator[Problem]:
        """Names that are no node's."""
        for name in names:
            if name not in self.nodes:
                reason = f"there is no node {name!r}: this scenario has n1 to n{len(self.nodes)}"
                yield Problem(path, reason)

    def places(self, words: Iterable[str], path: Path) -> tuple[list[str], Problems]:
        """The interfaces that are meant, and what is wrong with the words."""
        found, problems = [], []
        for word in words:
            try:
                found += [place.name for place in placements(self.plan, word)]
            except PlanError as error:
                problems.append(Problem(path, str(error)))
        return found, problems

    def refused(self, impairment: Impairment, path: Path) -> Iterator[Problem]:
        """What an impairment asks for that cannot be had here."""
        for key, reason in refusals(impairment, self.engine, one_channel=self.plan.channel is not None):
            yield Problem((*path, key), reason)
