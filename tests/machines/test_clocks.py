"""Who measures lengths of time lives by a clock that nobody sets: one that is set, back or forward, moves no timer."""

from __future__ import annotations

import pytest

from harness.explore.corpus import corpus
from harness.explore.judging import judged
from harness.scenario import load, loads
from harness.world import World
from nodes.clock import Clock, Steady
from nodes.machine import Input, Output, Wake

SET_BACK = """
name = "set-back"
protocol = "to"
settle = "300ms"
[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "10mbit", delay = "100us" }
[[fault]]
at = "100us"
kind = "clock"
node = "n2"
step = "-4s"
[[fault]]
kind = "crash"
node = "n3"
"""


def test_a_clock_is_set_and_drifts_and_the_steady_one_only_drifts() -> None:
    clock = Clock(Steady(drift_ppb=100_000_000, since_ns=1000), ahead_ns=70)
    assert [(clock.shows(now), clock.of("steady").shows(now)) for now in (1000, 2000)] == [(1070, 1000), (2170, 2100)]
    clock.change(2000, offset_ns=-500)
    assert (clock.shows(2000), clock.steady.shows(2000), clock.drift_ppb) == (1500, 2100, 100_000_000)
    clock.change(3000, drift_ppb=0)
    assert [(clock.shows(now), clock.steady.shows(now)) for now in (3000, 4000)] == [(2600, 3200), (3600, 4200)]


@pytest.mark.parametrize("drift_ppb", [0, 100_000, -100_000, 499_999_999, -499_999_999])
def test_a_clock_says_at_which_true_time_it_shows_a_time_first(drift_ppb: int) -> None:
    clock = Clock(Steady(drift_ppb, 1000), 70)
    for shown in range(2000, 2050):
        assert clock.shows(clock.true(shown)) >= shown > clock.shows(clock.true(shown) - 1)


class Alarm:
    """Wants to be woken once, and keeps when it was."""

    def __init__(self, deadline: int) -> None:
        self.deadline: int | None = deadline
        self.woken: list[int] = []

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Wake) and self.deadline is not None and self.deadline <= now_ns:
            self.deadline = None
            self.woken.append(now_ns)
        return []

    def settled(self) -> bool:
        return True

    def counters(self) -> dict[str, int]:
        return {}


def test_a_clock_that_is_set_forward_brings_a_deadline_nearer_in_memory_too() -> None:
    world = World()
    clock, machine = Clock(), Alarm(world.now + 1000)
    world.add(1, machine, clock.shows)
    world.run(world.now + 100)
    clock.change(world.now, offset_ns=500)
    world.clock_changed(1, (500, 0))
    world.run(world.now + 399)
    assert not machine.woken
    world.run(world.now + 1)
    assert machine.woken == [world.now + 500]


def test_two_of_three_go_on_though_a_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What explore found: with one dead, the other one waited for 4 s, and nobody had a majority."""
    assert not judged(loads(SET_BACK)).against
    monkeypatch.setattr(Clock, "of", lambda self, kind: self)
    assert judged(loads(SET_BACK)).broken == {"TD-5"}


@pytest.mark.parametrize(
    ("case", "broken"),
    [
        ("cmd/clock-back", {"CD-2"}),
        ("him/clock-back", {"HI-2", "HI-8"}),
        ("him/clock-forward", {"HI-1", "HI-2"}),
    ],
)
def test_what_was_lost_is_repeated_though_a_clock_is_set(
    case: str, broken: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What explore found: what was to be repeated in some milliseconds waited as long as the clock was set back, and
    time by which it was set forward was taken for silence."""
    scenario = load(corpus()[case])
    assert not judged(scenario).against
    monkeypatch.setattr(Clock, "of", lambda self, kind: self)
    assert judged(scenario).broken == broken
