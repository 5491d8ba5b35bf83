"""Virtual synchrony: views are points in the order of deliveries, the same for all who pass through them.

It is what daemons of group communication promise (Totem, and all that came of it). Members that are cut off from each
other go through different views, and owe each other nothing; who goes the same way has seen the same.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from captures.evidence import Event
from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, judge_of
from harness.judges.facts import Facts

_View = tuple[int, tuple[int, ...]]  # its number and its members


@judge_of("VS", "virtual synchrony: who goes from one view to the same next one has delivered the same in between")
def virtually_synchronous(facts: Facts) -> Finding:
    ways: dict[tuple[_View, _View], list[tuple[Event, Ints]]] = defaultdict(list)
    number = facts.notes.number[facts.d_event]
    for life in facts.lives:
        log = facts.logs[life.index]
        for here, there in pairwise(life.views):
            between = log[(number[log] > here.number) & (number[log] < there.number)]
            ways[_view(here), _view(there)].append((there, between))
    shared = 0
    for way in ways.values():
        one, rows = way[0]
        for other, others in way[1:]:
            shared += 1
            differ = np.setxor1d(facts.d_message[rows], facts.d_message[others])
            if len(differ):
                message = int(differ[0])
                (row,) = [row for row in (*rows.tolist(), *others.tolist()) if facts.d_message[row] == message][:1]
                has, lacks = (one, other) if row in rows else (other, one)
                return Broken(
                    f"n{has.node} and n{lacks.node} went to the view {_name(has)} from the same view before, but only "
                    f"n{has.node} delivered {facts.name(message)} in between",
                    (facts.delivery(row), has, lacks),
                    facts.sending(message),
                    by_absence=True,
                )
    return Holds(f"{shared} times a node went from a view to the next as another did, with the same deliveries")


def _view(event: Event) -> _View:
    return event.seq, tuple(sorted(event.peers))


def _name(event: Event) -> str:
    return f"{event.seq} {{{','.join(map(str, sorted(event.peers)))}}}"
