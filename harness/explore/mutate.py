"""Cases that are like one that showed something new, but for a few changes, near the moments at which it was new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.explore.choices import Draw, Times
from harness.explore.draw import Drawing, bearable, some_faults, times_of
from harness.explore.edit import option_values
from harness.explore.said import another_message, said_near, with_messages
from harness.scenario.explore import Explore
from harness.scenario.model import Scenario, Script

CHANGES = 3  # at most


@dataclass(frozen=True, slots=True)
class Parent:
    """A case and when, counted from its start, something new happened in it."""

    case: Scenario
    moments: tuple[int, ...]


def mutated(parents: Sequence[Parent], space: Explore) -> Drawing:
    """One of them, changed."""

    def made(draw: Draw) -> Scenario:
        parent = draw.one(parents)
        case = parent.case
        times = times_of(case, space, parent.moments)
        for _ in range(draw.number(1, CHANGES)):
            case = draw.one(_CHANGES)(draw, case, space, times)
        return bearable(case)

    return made


def _another_fault(draw: Draw, case: Scenario, space: Explore, times: Times) -> Scenario:
    if not space.faults or not space.most_faults:
        return case
    return replace(case, fault=(*case.fault, *some_faults(draw, case, space, times)))


def _one_fault_less(draw: Draw, case: Scenario, space: Explore, times: Times) -> Scenario:
    if not case.fault:
        return case
    gone = draw.number(0, len(case.fault) - 1)
    return replace(case, fault=case.fault[:gone] + case.fault[gone + 1 :])


def _once_more(draw: Draw, case: Scenario, space: Explore, times: Times) -> Scenario:
    """What has happened happens again, when its first time is over."""
    if not case.fault:
        return case
    fault = draw.one(case.fault)
    later_ns = (getattr(fault, "for_ns", None) or 0) + times.length(draw)
    return replace(case, fault=(*case.fault, replace(fault, at_ns=fault.at_ns + later_ns)))


def _at_another_time(draw: Draw, case: Scenario, space: Explore, times: Times) -> Scenario:
    if not case.fault:
        return case
    moved = draw.number(0, len(case.fault) - 1)
    faults = list(case.fault)
    faults[moved] = replace(faults[moved], at_ns=times.instant(draw))
    return replace(case, fault=tuple(faults))


def _another_message(draw: Draw, case: Scenario, space: Explore, times: Times) -> Scenario:
    if not isinstance(case.workload, Script) or not space.messages:
        return case
    if case.fault and draw.yes():
        return with_messages(case, said_near(draw, case, space, case.fault))
    return with_messages(case, [another_message(draw, case, space, times)])


def _another_seed(draw: Draw, case: Scenario, space: Explore, times: Times) -> Scenario:
    return replace(case, seed=draw.number(1, 1000))


def _another_option(draw: Draw, case: Scenario, space: Explore, times: Times) -> Scenario:
    choices = option_values(case, space)
    if not choices:
        return case
    field, values = draw.one(choices)
    return replace(case, options=replace(case.options, **{field: draw.one(values)}))


_CHANGES = (
    _another_fault,
    _another_fault,
    _once_more,
    _at_another_time,
    _one_fault_less,
    _another_message,
    _another_seed,
    _another_option,
)
