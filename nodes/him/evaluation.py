"""What paper 003 §3.4 computes, and what should have been computed (D-HI-1, D-HI-2, D-HI-15).

Everything is exact and for one message; simulation and captures are compared with it.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from math import comb, prod


def paper_bound(n: int) -> float:
    """§3.4.2: P(n) = (1 - 1/n)^n, a lower bound of the probability that a failed node is *missed*.

    The paper goes on as if it were that of finding it (D-HI-1).
    """
    return (1 - 1 / n) ** n


def miss_among_all(n: int) -> float:
    """n - 1 live nodes choose among all n, themselves included: none of them chooses the failed one."""
    return (1 - 1 / n) ** (n - 1)


def miss_among_others(n: int, k: int = 1) -> float:
    """n - 1 live nodes choose k of the others each, as this implementation does: none chooses the failed one."""
    return max(0.0, (n - 1 - k) / (n - 1)) ** (n - 1)


def miss_all_of(n: int, failed: int) -> float:
    """Several failed: none of them is chosen."""
    return ((n - 1 - failed) / (n - 1)) ** (n - failed)


def expected_sends(miss: float) -> float:
    """Until a failed node is found, every send being an independent trial."""
    return 1 / (1 - miss)


def ring_overlooks_second(n: int) -> float:
    """Two failed among the n - 1 receivers: they are adjacent, so the ring reports only the first (D-HI-17)."""
    return (n - 2) / comb(n - 1, 2)


def false_success(n: int, loss: float, dead: Collection[int], maxfail: int, q: int = 3) -> float:
    """The printed rules in the ring (D-HI-4, D-HI-5): the originator calls it a SUCCESS although `dead` have nothing.

    Nodes are counted from the originator, who is 0, and round by round: every test ends and every REPORT arrives within
    its round, or not at all. The message fails if no round is silent; that is the sum, over all sets of rounds, of the
    chance that these are silent, with alternating sign. Given when each node got its first copy, a node's silence
    depends on its own and on its neighbour's: the sum over those goes along the ring. Of 2^(maxfail+1) terms.
    """
    mistaken = (1 - (1 - loss) ** 2) ** q  # a test fails although the neighbour holds it
    rounds = range(maxfail + 1)
    firsts = range(maxfail + 2)  # the round of the first copy; the last stands for none

    def first_copy(node: int) -> list[float]:
        if node == 0 or node in dead:
            return [float(first == (0 if node == 0 else maxfail + 1)) for first in firsts]
        return [loss**first * (1 - loss) for first in rounds] + [loss ** (maxfail + 1)]

    def silent(node: int, mine: int, neighbours: int, silence: tuple[int, ...]) -> float:
        """The originator needs no DATA to test and no REPORT to know: a dead neighbour of it is always found."""
        tests = [1.0 if node == 0 or round_ == mine else 1 - loss for round_ in silence if round_ >= mine]
        fails = [1.0 if round_ < neighbours else mistaken for round_ in silence if round_ >= mine]
        arrives = 1.0 if node == 0 else 1 - loss
        return prod(1 - test * fail * arrives for test, fail in zip(tests, fails, strict=True))

    no_silence = 0.0
    for silence in (each for size in range(maxfail + 2) for each in combinations(rounds, size)):
        along = first_copy(0)
        for node in range(n):
            along = [
                chance and chance * sum(along[mine] * silent(node, mine, first, silence) for mine in firsts)
                for first, chance in enumerate(first_copy((node + 1) % n))
            ]
        no_silence += (-1) ** len(silence) * along[0]
    return max(0.0, 1 - no_silence)


def packets(n: int) -> int:
    """§3.4.1, loss-free: one DATA, n QUERY, n ANSWER. The END comes on top."""
    return 2 * n + 1


def packets_with_tree(n: int) -> int:
    """The same with confirm = "tree"."""
    return packets(n) + n - 1


def packets_one_dead(n: int, maxfail: int, q: int = 1, reports: int = 1) -> int:
    """Loss-free ring with one dead node that a node other than the originator tests, until FAIL."""
    return (maxfail + 1) * (1 + (n - 1) + (q - 1) + (n - 2) + reports)


def tcp_handshakes(n: int) -> int:
    """What §3.4.1 compares with; smaller than `packets` below n = 5 (D-HI-15)."""
    return 3 * (n - 1)


def tcp_confirmed(n: int) -> int:
    """Handshakes alone carry nothing: with the data and its acknowledgement."""
    return 5 * (n - 1)


def tcp_closed(n: int) -> int:
    """And closed, as Linux does it: SYN, SYN/ACK, ACK with the message, ACK, the receiver's word, FIN, FIN, ACK."""
    return 8 * (n - 1)


def first_round_clean(n: int, loss: float) -> float:
    """q = 1: every DATA, QUERY and ANSWER of the first round arrives."""
    return (1 - loss) ** (3 * n - 1)


def completion_ns(rtt_ns: int) -> int:
    """§3.4.1: half a round trip for the DATA, one for question and answer."""
    return rtt_ns * 3 // 2
