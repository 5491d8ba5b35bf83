"""What a machine remembers does not grow with what has happened: after a year it needs no more than after a day."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.explore.base import base_of
from harness.explore.growth import elements
from harness.explore.memory import Run
from harness.scenario.faults import Fault
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.pause import Pause
from harness.scenario.model import Impair, Message, Scenario, Script
from topologies.impairments import Impairment

MS = 1_000_000
FEW, MANY = 40, 160  # messages
SLACK = 8  # elements: of what is under way, there are more or fewer
# How far apart messages are sent, longer than anything about one is remembered.
EVERY_MS = {"st": 20, "to": 60, "delta": 100, "him": 3000, "cmd": 200}


@pytest.mark.parametrize("name", EVERY_MS)
@pytest.mark.parametrize("lossy", [False, True])
def test_what_is_remembered_does_not_grow(name: str, lossy: bool) -> None:
    few, many = (sizes(long(base_of(name), EVERY_MS[name], count, lossy)) for count in (FEW, MANY))
    assert all(size > 5 for size in few)  # there is something
    assert max(many) <= max(few) + SLACK, (few, many)


def test_failures_of_who_is_gone_for_good_are_forgotten() -> None:
    """A member that nobody takes out fails in every round of every message."""
    base = base_of("him", ["him.disjoin=false"])
    dead: tuple[Fault, ...] = (Crash(at_ns=5 * MS, node=("n3",)),)
    few, many = (sizes(long(base, 4000, count, lossy=False, faults=dead))[:1] for count in (FEW, 2 * FEW))
    assert max(many) <= max(few) + SLACK, (few, many)


def long(base: Scenario, every_ms: int, count: int, lossy: bool, faults: tuple[Fault, ...] = ()) -> Scenario:
    """So many messages, one after the other, of all nodes to all."""
    nodes, every_ns = base.nodes, every_ms * MS
    said = [
        Message(at_ns=number * every_ns, node=nodes[number % len(nodes)], to=(), data="x") for number in range(count)
    ]
    # Who stands still now and then shows the others gaps, and has them too.
    still = [Pause(at_ns=at * every_ns, node=("n2",), for_ns=2 * MS) for at in range(3, count, 10)] if lossy else []
    loss = (Impair(on=("receivers",), impairment=Impairment(loss=0.1)),) if lossy else ()
    workload = Script(message=tuple(said))
    return replace(base, explore=None, workload=workload, impair=loss, fault=(*faults, *still), limit_ns=10**13)


def sizes(case: Scenario) -> list[int]:
    """How many elements all containers of a machine have in the end, of each that runs."""
    run = Run(case).all()
    assert run.end == "quiet"
    numbers = range(1, len(case.nodes) + 1)
    return [elements(run.world.machine(number)).total() for number in numbers if run.world.runs(number)]
