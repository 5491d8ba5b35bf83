"""Cases of the space of a protocol, and what is found broken in a run of one."""

from __future__ import annotations

from collections.abc import Iterator

from harness.explore import chance
from harness.explore.draw import cases
from harness.explore.invariants import WATCHES
from harness.explore.memory import Run
from harness.scenario.model import Scenario


def drawn(base: Scenario, number: int, count: int = 40) -> list[Scenario]:
    """So many cases of the space of a scenario."""
    assert base.explore is not None
    return list(chance.drawn(cases(base, base.explore), number, count))


def watched(case: Scenario) -> Iterator[str]:
    """Whether the rules are in force or not."""
    run = Run(case)
    watching = WATCHES[case.protocol](run.world, case.options)
    run.all()
    yield from watching.broken
