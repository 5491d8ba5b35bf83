"""What paper 003 §3.4 computes, counted out by hand or by trying all cases."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import pytest

from nodes.him.evaluation import (
    completion_ns,
    expected_sends,
    false_success,
    first_round_clean,
    miss_all_of,
    miss_among_all,
    miss_among_others,
    packets,
    packets_one_dead,
    packets_with_tree,
    paper_bound,
    ring_overlooks_second,
    tcp_closed,
    tcp_confirmed,
    tcp_handshakes,
)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_chance_to_be_missed_by_trying_all_choices(n: int) -> None:
    """Node 0 has failed."""
    live = range(1, n)
    choices = list(product(range(n), repeat=n - 1))
    assert miss_among_all(n) == pytest.approx(sum(0 not in one for one in choices) / len(choices))
    for k in (1, 2):
        each = [list(combinations([other for other in range(n) if other != me], k)) for me in live]
        found = list(product(*each))
        missed = sum(all(0 not in chosen for chosen in one) for one in found)
        assert miss_among_others(n, k) == pytest.approx(missed / len(found))
    for failed in (1, 2):
        choices = list(product(*[[other for other in range(n) if other != me] for me in range(failed, n)]))
        missed = sum(min(one) >= failed for one in choices)
        assert miss_all_of(n, failed) == pytest.approx(missed / len(choices))


def test_the_bound_of_the_paper_and_the_sends_that_follow() -> None:
    assert paper_bound(2) == 0.25 and paper_bound(4) == pytest.approx(0.75**4)
    assert expected_sends(0.75) == 4 and expected_sends(0) == 1
    assert miss_among_others(3, 3) == 0


@pytest.mark.parametrize("n", [4, 5, 8])
def test_two_of_the_receivers_that_are_neighbours_in_the_ring(n: int) -> None:
    pairs = [(a, b) for a, b in combinations(range(1, n), 2) if b == a + 1]
    assert ring_overlooks_second(n) == pytest.approx(len(pairs) / comb(n - 1, 2))


def test_packets_counted_by_hand() -> None:
    """Five nodes: DATA, 5 QUERYs, 5 ANSWERs; the tree has an edge to each of the four others."""
    assert (packets(5), packets_with_tree(5)) == (11, 15)
    # a round with one dead: DATA, 4 QUERYs, 2 of them repeated to the dead, 3 ANSWERs, 3 REPORTs; two rounds
    assert packets_one_dead(5, 1, q=3, reports=3) == 2 * (1 + 4 + 2 + 3 + 3)
    assert packets_one_dead(5, 1) == 2 * (1 + 4 + 3 + 1)
    # per receiver: SYN, SYN/ACK, ACK; with the message and its ACK; and word back, FIN, FIN, ACK: eight in all
    assert (tcp_handshakes(5), tcp_confirmed(5), tcp_closed(5)) == (12, 20, 32)
    assert completion_ns(1000) == 1500


def test_a_first_round_is_clean_if_all_of_its_packets_arrive() -> None:
    """Three nodes: DATA to two, three QUERYs, three ANSWERs."""
    assert first_round_clean(3, 0.1) == pytest.approx(0.9**8)


@pytest.mark.parametrize("loss", [0.1, 0.3])
def test_a_false_success_of_three_nodes_and_one_round(loss: float) -> None:
    """The originator tests node 1, who tests node 2; each asks once. If node 1 is dead, the originator knows. If node 2
    is, all is silent only if node 1 has the DATA, the originator's question and the answer arrive, and node 1's REPORT
    does not."""
    assert false_success(3, loss, (1,), 0, q=1) == pytest.approx(0)
    assert false_success(3, loss, (2,), 0, q=1) == pytest.approx((1 - loss) ** 3 * loss)


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
