"""Order equivalence: any two logs have the messages they share in the same order (paper 000 §2).

All pairs of logs are compared without comparing all pairs of logs. One candidate order is drawn up, by the time of
a message's first delivery anywhere; every log that follows it agrees with every other log that does. Only logs that
do not follow it are held against all others, position by position. So a run in which all receivers get everything
costs one sort; k receivers of different messages cost at most k passes over the deliveries.

A cycle through three logs in which each pair shares one message only (a b, b c, c a) is *not* a violation: the
property is pairwise, as printed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, judge_of
from harness.judges.facts import Facts, Life


@judge_of("OE", "order equivalence: two logs have the messages they share in the same order")
def order_equivalent(facts: Facts) -> Finding:
    broken = disagreement(facts, facts.lives)
    if broken is not None:
        return broken
    receivers = len(np.unique(facts.d_life))
    return Holds(f"the logs of {receivers} receivers agree on the order of all messages they share")


def disagreement(facts: Facts, lives: Sequence[Life]) -> Broken | None:
    """Two messages that two of these lives delivered in different order, if there are any."""
    count = len(facts.keys)
    rank = np.full(count, -1, np.int64)
    rank[facts.d_message[::-1]] = facts.d_event[::-1]  # the first delivery wins
    logs = {life.index: _first_copies(facts.log(life.index)) for life in lives}
    suspects = [index for index, log in logs.items() if np.any(np.diff(rank[log]) < 0)]
    position = np.full(count, -1, np.int64)
    for suspect in suspects:
        position[logs[suspect]] = np.arange(len(logs[suspect]))
        for other, log in logs.items():
            shared = log[position[log] >= 0]
            turned = np.flatnonzero(np.diff(position[shared]) < 0)
            if len(turned):
                p, q = _closest(position, log, shared, turned)
                return _broken(facts, suspect, other, p, q)
        position[logs[suspect]] = -1
    return None


def _first_copies(log: Ints) -> Ints:
    """A log without repeated deliveries, which are another judge's business."""
    _, first = np.unique(log, return_index=True)
    return log if len(first) == len(log) else log[np.sort(first)]


def _closest(position: Ints, log: Ints, shared: Ints, turned: Ints) -> tuple[int, int]:
    """Of the neighbours that stand the other way round in the other log, those that lie closest together in both."""
    place = {int(message): index for index, message in enumerate(log)}
    return min(
        ((int(shared[at]), int(shared[at + 1])) for at in turned),
        key=lambda pair: (place[pair[1]] - place[pair[0]] + position[pair[0]] - position[pair[1]], place[pair[0]]),
    )


def _broken(facts: Facts, one: int, other: int, p: int, q: int) -> Broken:
    """`other` has p before q, `one` has q before p."""
    if one < other:
        return _broken(facts, other, one, q, p)
    rows = [
        facts.logs[life][np.flatnonzero(facts.log(life) == message)[0]]
        for life, message in ((other, p), (other, q), (one, q), (one, p))
    ]
    return Broken(
        f"{facts.lives[other]} delivered {facts.name(p)} before {facts.name(q)}, "
        f"{facts.lives[one]} delivered {facts.name(q)} before {facts.name(p)}",
        tuple(facts.delivery(row) for row in rows),
        facts.sending(p) + facts.sending(q),
    )
