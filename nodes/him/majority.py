"""Which information is right? Neighbours compare hashes and vote (paper 003 §3.4.4; D-HI-10, D-HI-11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import Enum


class Verdict(Enum):
    """What a node may conclude about its own copy."""

    RIGHT = "right"  # nobody differs, or a strict majority holds the same
    WRONG = "wrong"  # a strict majority holds one other
    OPEN = "open"  # no strict majority, as always with one neighbour that differs


def majority(own: bytes, others: Mapping[int, bytes]) -> Verdict:
    """Votes are my hash and those of the neighbours that HAVE the message; who does not answer has no vote."""
    votes = Counter([own, *others.values()])
    winner, most = votes.most_common(1)[0]
    if 2 * most <= sum(votes.values()):
        return Verdict.OPEN
    return Verdict.RIGHT if winner == own else Verdict.WRONG
