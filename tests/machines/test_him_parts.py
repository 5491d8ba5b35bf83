"""The parts of HIM by themselves: adj, votes, time-outs, the tree, the formulas of paper 003 §3.4."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from nodes.him import PROTOCOL
from nodes.him.adjacency import adjacency, near_far, ring, uniform
from nodes.him.evaluation import (
    expected_sends,
    false_success,
    first_round_clean,
    miss_all_of,
    miss_among_all,
    miss_among_others,
    packets,
    packets_one_dead,
    paper_bound,
    ring_overlooks_second,
    tcp_confirmed,
    tcp_handshakes,
)
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


# the formulas


def test_the_papers_bounds_hold_for_its_formula() -> None:
    values = [paper_bound(n) for n in range(2, 200)]
    assert values == sorted(values)
    assert values[0] == 0.25
    assert paper_bound(6) > 1 / 3
    assert all(value < 0.36788 for value in values)


@pytest.mark.parametrize(
    ("n", "bound", "all_", "others", "sends_all", "sends_others"),
    [  # Table A
        (2, 0.2500, 0.5000, 0.0, 2.00, 1.00),
        (4, 0.3164, 0.4219, 0.2963, 1.73, 1.42),
        (6, 0.3349, 0.4019, 0.3277, 1.67, 1.49),
        (10, 0.3487, 0.3874, 0.3464, 1.63, 1.53),
        (20, 0.3585, 0.3774, 0.3580, 1.61, 1.56),
        (50, 0.3642, 0.3716, 0.3641, 1.59, 1.57),
        (100, 0.3660, 0.3697, 0.3660, 1.59, 1.58),
    ],
)
def test_table_a(n: int, bound: float, all_: float, others: float, sends_all: float, sends_others: float) -> None:
    assert paper_bound(n) == pytest.approx(bound, abs=5e-5)
    assert miss_among_all(n) == pytest.approx(all_, abs=5e-5)
    assert miss_among_others(n) == pytest.approx(others, abs=5e-5)
    assert expected_sends(miss_among_all(n)) == pytest.approx(sends_all, abs=6e-3)
    assert expected_sends(miss_among_others(n)) == pytest.approx(sends_others, abs=6e-3)


def test_more_neighbours_and_more_failures() -> None:
    assert [round(miss_among_others(n, 2), 3) for n in (10, 20, 50)] == [0.104, 0.121, 0.130]
    assert [round(miss_among_others(n, 3), 3) for n in (10, 20, 50)] == [0.026, 0.038, 0.045]
    assert [round(miss_all_of(10, failed), 2) for failed in (2, 3)] == [0.13, 0.06]
    # 2 / (n - 1): for n = 50 that is 0.04
    assert [round(ring_overlooks_second(n), 2) for n in (10, 20, 50)] == [0.22, 0.11, 0.04]


def test_false_success_by_hand() -> None:
    """Ring 0, 1, 2 with 2 dead, one round: 1 has the DATA, its REPORT is lost, 0 hears 1's answer."""
    f, q = 0.1, 2
    heard = 1 - (1 - (1 - f) ** 2) ** q
    assert false_success(3, f, {2}, maxfail=0, q=q) == pytest.approx((1 - f) * f * heard)
    # A second round is silent too if 1, who holds it, misses the repetition; if 1 has only now got it, it does test.
    at_once = f * heard + (1 - f * heard) * (f + (1 - f) * f) * heard
    only_now = (1 - f) * f * heard
    assert false_success(3, f, {2}, maxfail=1, q=q) == pytest.approx((1 - f) * at_once + f * only_now)


def test_false_success_depends_on_who_is_down() -> None:
    """Simulated was the mean over the receivers; the originator's own neighbour is found without a REPORT."""
    for loss, simulated in ((0.01, 0.092), (0.05, 0.363), (0.10, 0.576)):
        shares = [false_success(10, loss, {node}, 5) for node in range(1, 10)]
        assert shares[0] == pytest.approx(0, abs=1e-12)
        assert sum(shares) / 9 == pytest.approx(simulated, abs=0.01)
    assert [round(false_success(10, loss, {5}, 5), 3) for loss in (0.0, 0.01, 0.05, 0.1)] == [0.0, 0.104, 0.419, 0.645]
    assert false_success(10, 0.05, {1, 5}, 5) == pytest.approx(0, abs=1e-12)


def test_costs() -> None:
    assert [packets(n) for n in (2, 3, 4, 5, 6, 10, 20, 50)] == [5, 7, 9, 11, 13, 21, 41, 101]
    assert [packets(n) < tcp_handshakes(n) for n in (2, 3, 4, 5)] == [False, False, False, True]  # D-HI-15
    assert [tcp_confirmed(n) for n in (10, 20, 50)] == [45, 95, 245]
    assert packets_one_dead(10, 3) == 76
    assert first_round_clean(10, 0.01) == pytest.approx(0.747, abs=5e-4)
