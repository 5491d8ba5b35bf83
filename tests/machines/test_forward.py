"""A clock that is set back stops no timer."""

from __future__ import annotations

import pytest

from harness.explore.corpus import corpus
from harness.explore.judging import judged
from harness.scenario import load, loads
from nodes.forward import Forward

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


def test_time_runs_on_whatever_the_clock_does() -> None:
    forward = Forward()
    assert [forward.time_ns(local) for local in (10, 20, 5, 6, 30)] == [10, 20, 20, 21, 45]
    assert forward.local_ns(50) == 35
    assert forward.local_ns(None) is None


def test_two_of_three_go_on_though_a_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What explore found: with one dead, the other one waited for 4 s, and nobody had a majority."""
    assert not judged(loads(SET_BACK)).against
    monkeypatch.setattr(Forward, "time_ns", lambda self, local_ns: local_ns)
    assert judged(loads(SET_BACK)).broken == {"TD-5"}


@pytest.mark.parametrize(("case", "broken"), [("cmd/clock-back", {"CD-2"}), ("him/clock-back", {"HI-2", "HI-8"})])
def test_what_was_lost_is_repeated_though_a_clock_is_set_back(
    case: str, broken: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What explore found: what was to be repeated in some milliseconds waited for as long as the clock was set back."""
    scenario = load(corpus()[case])
    assert not judged(scenario).against
    monkeypatch.setattr(Forward, "time_ns", lambda self, local_ns: local_ns)
    assert judged(scenario).broken == broken
