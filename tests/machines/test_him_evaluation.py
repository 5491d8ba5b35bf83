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
