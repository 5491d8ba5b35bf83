"""The parts of HIM by themselves: adj, votes, time-outs, the tree, rules and options."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from nodes.him import PROTOCOL
from nodes.him.adjacency import adjacency, near_far, ring, uniform
from nodes.him.majority import Verdict, majority
from nodes.him.options import HimOptions
from nodes.him.rules import (
    printed_accused,
    printed_doubted_after_success,
    printed_failure_counts,
    printed_heeds_failure,
    printed_pending,
    printed_query_starts_test,
    printed_report_times,
    printed_retests,
    printed_to_probe,
    repaired_accused,
    repaired_doubted_after_success,
    repaired_failure_counts,
    repaired_heeds_failure,
    repaired_pending,
    repaired_query_starts_test,
    repaired_report_times,
    repaired_retests,
    repaired_to_probe,
    rules_of,
)
from nodes.him.timing import RoundTrips, Timers, decision_time_ns, round_trip_ns, stamp
from nodes.him.tree import children_of, parent_of, subtree_of
from nodes.wire.him import Reason
from tests.helpers.group import Group

MS = 1_000_000


# adj


def test_the_ring_asks_the_next_and_closes() -> None:
    chance = random.Random(0)
    members = (2, 3, 7, 9)
    assert [ring(me, members, 1, chance, {}) for me in members] == [(3,), (7,), (9,), (2,)]
    assert ring(7, members, 2, chance, {}) == (9, 2)
    assert ring(7, members, 9, chance, {}) == (9, 2, 3), "nobody twice, never oneself"
    assert ring(7, (7,), 1, chance, {}) == ()


def test_uniform_chooses_everybody_equally_and_never_itself() -> None:
    chance = random.Random(1)
    members = tuple(range(1, 11))
    drawn = Counter(node for _ in range(9000) for node in uniform(4, members, 1, chance, {}))
    assert set(drawn) == set(members) - {4}
    assert all(abs(count - 1000) < 5 * 30 for count in drawn.values()), drawn  # sigma = 30
    assert len(set(uniform(4, members, 3, chance, {}))) == 3


def test_near_far_goes_far_as_often_as_told() -> None:
    chance = random.Random(2)
    hops = {1: 1, 2: 1, 4: 3, 5: 3}
    drawn = Counter(near_far(0.2)(3, (1, 2, 3, 4, 5), 1, chance, hops)[0] for _ in range(5000))
    far = drawn[4] + drawn[5]
    assert abs(far - 1000) < 5 * 29, drawn
    assert drawn[3] == 0
    assert adjacency("near_far", 0.0)(3, (1, 2, 3, 4, 5), 4, chance, hops)[2:] in ((4, 5), (5, 4)), "near ones first"
    assert near_far(0.0)(3, (3, 4), 1, chance, {4: 3}) == (4,), "where nobody is nearer, the nearest is near"


# votes


@pytest.mark.parametrize(
    ("others", "verdict"),
    [
        ({}, Verdict.RIGHT),
        ({2: b"a"}, Verdict.RIGHT),
        ({2: b"b"}, Verdict.OPEN),  # D-HI-10
        ({2: b"a", 3: b"b"}, Verdict.RIGHT),
        ({2: b"b", 3: b"b"}, Verdict.WRONG),
        ({2: b"b", 3: b"c"}, Verdict.OPEN),
        ({2: b"b", 3: b"b", 4: b"a"}, Verdict.OPEN),
        ({2: b"b", 3: b"b", 4: b"b", 5: b"a"}, Verdict.WRONG),
    ],
)
def test_majority(others: dict[int, bytes], verdict: Verdict) -> None:
    assert majority(b"a", others) is verdict


# time


def test_time_out_follows_the_round_trips() -> None:
    trips = RoundTrips(200 * MS, 20 * MS, 1000 * MS)
    assert trips.timeout_ns(2) == 200 * MS
    trips.measured(2, 40 * MS)
    assert trips.timeout_ns(2) == (40 * MS + 4 * 20 * MS) * 5 // 4
    for _ in range(100):
        trips.measured(2, 40 * MS)
    assert trips.timeout_ns(2) == 50 * MS * 5 // 4, "a constant round trip leaves a quarter of it"
    for _ in range(100):
        trips.measured(2, 1 * MS)
    assert trips.timeout_ns(2) == 20 * MS, "not below the minimum"
    trips.measured(3, 5000 * MS)
    assert trips.timeout_ns(3) == 1000 * MS, "not above the maximum"
    assert trips.slowest_ns((2, 3)) == 1000 * MS
    assert trips.slowest_ns((2, 4)) == 200 * MS


def test_time_stamps_wrap_and_moved_clocks_are_no_round_trips() -> None:
    now = (2**32 + 5) * 1000
    assert stamp(now) == 5
    assert round_trip_ns(now, 2**32 - 5) == 10_000
    assert round_trip_ns(now, 6) is None


def test_t_dec_with_the_values_of_the_specification() -> None:
    assert decision_time_ns(200 * MS, 3, 3) == 3800 * MS  # 17 RTO and twice RTT <= RTO
    assert decision_time_ns(20 * MS, 3, 3) == 380 * MS


def test_a_run_is_not_over_while_an_originator_waits_or_is_waited_for() -> None:
    for chosen in (HimOptions(), HimOptions(rto_initial_ns=20 * MS, q=2), HimOptions(decide_ns=500 * MS)):
        group = Group(5, chosen, one_way_ns=10 * MS)
        group.submit()
        group.world.run()
        (waited,) = group.confirmation_ns()
        orphans = Group(5, chosen, one_way_ns=10 * MS)
        orphans.submit()
        orphans.world.at(orphans.world.now + 100 * MS, lambda: orphans.world.kill(1))  # noqa: B023
        orphans.world.run()
        sent_ns = [at_ns for at_ns, _ in orphans.world.sent]
        silent = max(after - before for before, after in pairwise(sent_ns))
        assert waited < silent < PROTOCOL.silence_ns(chosen) < 1.4 * silent


def test_timers_move_and_stop() -> None:
    timers = Timers()
    timers.set("a", 10)
    timers.set("b", 5)
    timers.set("a", 3)
    timers.cancel("b")
    assert timers.next_ns == 3
    assert timers.pop_due(2) is None
    assert timers.pop_due(3) == "a"
    timers.set("c", 7)
    timers.set("c", 9)
    timers.set("c", 7)
    assert [timers.pop_due(20), timers.pop_due(20)] == ["c", None]
    assert timers.next_ns is None


# the tree


@pytest.mark.parametrize("fanout", [1, 2, 4, 50])
@pytest.mark.parametrize("n", [2, 3, 9, 50])
def test_every_node_confirms_once_towards_the_originator(n: int, fanout: int) -> None:
    members = tuple(range(10, 10 + n))
    for origin in (10, 10 + n // 2, 9 + n):
        assert sorted(subtree_of(origin, origin, members, fanout)) == list(members)
        for node in members:
            if node != origin:
                assert node in children_of(parent_of(node, origin, members, fanout), origin, members, fanout)
        assert len(children_of(origin, origin, members, fanout)) == min(fanout, n - 1)


# the printed rule beside the repaired one, each pair parted by one case


def test_rules_differ_where_the_paper_fails() -> None:
    options = HimOptions()
    assert (printed_report_times(options), repaired_report_times(options)) == (1, 3)
    assert (printed_query_starts_test(1, 0), repaired_query_starts_test(1, 0)) == (False, True)
    assert not repaired_query_starts_test(1, 1)
    assert (printed_retests(3, 1), repaired_retests(3, 1)) == (0, 2)
    assert not printed_pending([4])
    assert repaired_pending([4]) == {4}
    assert (printed_to_probe([4, 2]), repaired_to_probe([4, 2])) == ((), (2, 4))
    assert not printed_failure_counts(False, Reason.NOANSWER, 5, 10)
    assert repaired_failure_counts(False, Reason.NOANSWER, 5, 10)
    assert not repaired_failure_counts(False, Reason.NOANSWER, 11, 10)
    assert not repaired_failure_counts(False, Reason.NOTHAVE, 5, 10), "who says no is there"
    assert printed_failure_counts(True, Reason.NOTHAVE, 5, 10) and repaired_failure_counts(True, Reason.NOTHAVE, 5, 10)
    assert not printed_heeds_failure("random", Reason.NOANSWER, 0)
    assert repaired_heeds_failure("random", Reason.NOANSWER, 0)
    assert not repaired_heeds_failure("random", Reason.NOANSWER, 1)
    assert not repaired_heeds_failure("ring", Reason.NOANSWER, 0)
    assert printed_doubted_after_success({2: 3}, 3) == ()
    assert repaired_doubted_after_success({2: 3, 4: 2}, 3) == (2,)
    assert printed_accused(1, Reason.NOANSWER, 5, 1) == 1
    assert repaired_accused(1, Reason.NOANSWER, 5, 1) is None
    assert repaired_accused(1, Reason.MISMATCH, 5, 1) == 5
    assert repaired_accused(4, Reason.NOANSWER, 5, 1) == 4


def test_each_switch_turns_its_own_rule() -> None:
    repaired, printed = rules_of(HimOptions()), rules_of(HimOptions(rules="printed"))
    assert rules_of(HimOptions(printed_report=True)).report_times is printed.report_times
    assert rules_of(HimOptions(printed_report=True)).to_probe is repaired.to_probe
    assert rules_of(HimOptions(printed_test=True)).retests is printed.retests
    assert rules_of(HimOptions(printed_test=True)).report_times is repaired.report_times
    assert rules_of(HimOptions(printed_disjoin=True)).to_probe is printed.to_probe
    assert rules_of(HimOptions(printed_count=True)).failure_counts is printed.failure_counts
    assert not printed.evidence_decides and repaired.evidence_decides


@pytest.mark.parametrize(
    "wrong", [{"q": 0}, {"rtry": 0}, {"neighbours": 0}, {"maxfail": -1}, {"rto_min_ns": 0}, {"alive_ns": -1}]
)
def test_impossible_options_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        HimOptions(**wrong)  # type: ignore[arg-type]
