"""A search also sees it when a node remembers for ever what is over."""

from __future__ import annotations

from dataclasses import replace

from harness.explore.base import base_of
from harness.explore.growth import EVERY, growth, is_looked_at
from harness.explore.judging import judged
from harness.scenario.faults.clock import ClockChange
from harness.scenario.model import Message, Scenario, Script

MS = 1_000_000


def with_records(scheme: str) -> Scenario:
    """Everybody tells the next one something; with or without forgetting what everybody knows."""
    base = base_of("cmd", [f'cmd.scheme="{scheme}"'])
    nodes = base.nodes
    said = [
        Message(at_ns=number * MS, node=node, to=(nodes[(number + 1) % len(nodes)],), data="x")
        for number, node in enumerate(nodes)
    ]
    return replace(base, explore=None, workload=Script(message=tuple(said)))


def test_what_grows_each_time_is_seen_and_where() -> None:
    verdict, *more = growth(with_records("unpruned"))
    assert not more
    assert verdict.property == "grows"
    assert "order.r holds" in verdict.sentence
    assert growth(with_records("s_records")) == ()


def test_an_agent_whose_clock_was_far_ahead_forgets_as_others_do() -> None:
    """When it is set back, what expires by it expires now, and not when it comes to where it was."""
    said = [Message(at_ns=at * MS, node="n2", to=(), data="x") for at in (2, 4)]
    away = ClockChange(at_ns=1 * MS, node=("n1",), step_ns=60_000 * MS)
    back = ClockChange(at_ns=3 * MS, node=("n1",), offset_ns=0)
    case = replace(base_of("delta"), explore=None, workload=Script(message=tuple(said)), fault=(away, back))
    assert growth(case) == ()


def test_one_case_in_some_hundreds_is_lived_through_again() -> None:
    case = replace(with_records("s_records"), seed=EVERY)
    assert is_looked_at(case)
    assert not is_looked_at(replace(case, seed=EVERY + 1))
    assert not is_looked_at(replace(with_records("unpruned"), seed=EVERY))  # that it keeps everything is its nature
    assert not judged(case).against
