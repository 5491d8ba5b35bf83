"""HIM in random schedules (tests/helpers/him_schedules.py).

Two kinds of group. Where every SUCCESS rests on evidence (up to three nodes, or confirm = "tree") HI-1 must hold
whatever is lost. Where silence decides, it holds with the probability that tests/machines/test_him_tables.py measures;
here a node fails or packets are lost, not both at once: a tester that falls silent between its answer and its report
hides what its successor missed, and the paper excludes that failures come together.
"""

from __future__ import annotations

import os

import pytest

from tests.helpers.group import options
from tests.helpers.him_schedules import Schedule, objections
from tests.helpers.seeds import EverySeed

THOROUGH = os.environ.get("TUTTI_THOROUGH") == "1"
COUNT = 3400 if THOROUGH else 100  # schedules of each kind
ALWAYS = ("HI-1", "HI-2", "HI-3", "HI-4", "HI-8")


@pytest.mark.parametrize("kind", ["proof", "silence"])
def test_repaired_rules_hold(kind: str, every_seed: EverySeed) -> None:
    properties = ALWAYS if kind == "proof" else (*ALWAYS, "HI-5")  # a probe fails too where a quarter is lost
    every_seed(range(COUNT), lambda seed: objections(Schedule(kind, seed), *properties))


def test_somebody_gives_the_alarm_when_the_originator_is_gone(every_seed: EverySeed) -> None:
    every_seed(range(3 * COUNT), lambda seed: objections(Schedule("orphan", seed), "HI-3", "HI-4", "HI-8"))


def test_without_waiting_for_the_end_nobody_gives_it() -> None:
    silent = [seed for seed in range(COUNT) if "HI-8" in objections(Schedule("orphan, as printed", seed), "HI-8")]
    assert 2 * len(silent) > COUNT


def test_printed_rules_are_caught() -> None:
    found: set[str] = set()
    for seed in range(COUNT):
        found |= objections(Schedule("printed", seed), *ALWAYS, "HI-5").keys()
    assert {"HI-1", "HI-2"} <= found, "false successes"


def test_equal_seeds_are_equal_and_others_are_not() -> None:
    one, again, other = (Schedule("proof", seed).run().world for seed in (4, 4, 5))
    assert one.history().notes == again.history().notes
    assert one.history().notes != other.history().notes


def test_options_of_the_schedules_are_spread() -> None:
    """Lest a slip of the draw leave a rule out."""
    drawn = [Schedule("proof", seed).group()[0].options for seed in range(60)]
    assert {one.adj for one in drawn} == {"ring", "random", "near_far"}
    assert {one.confirm for one in drawn} == {"tree", "evidence"}
    assert {one.neighbours for one in drawn} == {1, 2}
    assert options(drawn[0], q=1).q == 1
