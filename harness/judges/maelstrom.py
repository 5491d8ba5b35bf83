"""What Maelstrom's checkers want of the workloads echo, broadcast and unique-ids."""

from __future__ import annotations

import numpy as np

from captures.evidence import Event
from harness.judges.base import Broken, Finding, Holds, Undecided, judge_of, when_quiet
from harness.judges.common import no_alteration
from harness.judges.facts import Facts, name_of
from nodes.maelstrom.options import MaelstromOptions
from nodes.wire.note import NoteKind


@judge_of(
    "MAELSTROM",
    "what its checker wants: an echo is what was said; an ID is given once; a broadcast that was confirmed is read at "
    "every node in the end, and stays",
)
def maelstrom(facts: Facts) -> Finding:
    options = facts.evidence.options
    if not isinstance(options, MaelstromOptions):
        return Undecided("these are no nodes of Maelstrom")
    if options.workload == "echo":
        return no_alteration(facts)
    return _unique(facts) if options.workload == "unique-ids" else when_quiet(facts, _broadcast)


def _unique(facts: Facts) -> Finding:
    given: dict[str, Event] = {}
    for event in facts.of(NoteKind.RESULT):
        if event.text in given:
            return Broken(f"the ID {event.text} was given twice", (given[event.text], event))
        given[event.text] = event
    return Holds(f"{len(given)} IDs were given, each once")


def _broadcast(facts: Facts) -> Finding:
    for event in facts.of(NoteKind.ALARM):
        if event.text.startswith("lost:"):
            return Broken(f"n{event.node} had {name_of(event.about, event.seq)} and lost it", (event,))
    read = {(life, *facts.keys[message]) for life, message in np.column_stack((facts.d_life, facts.d_message)).tolist()}
    confirmed = facts.of(NoteKind.CONFIRMED)
    for life in facts.lives:
        for event in confirmed if life.up else ():
            if (life.index, event.about, event.seq) not in read:
                name = name_of(event.about, event.seq)
                return Broken(f"{life} has never read {name}, which was confirmed", (event,), by_absence=True)
    return Holds(f"all {len(confirmed)} broadcasts that were confirmed are read everywhere in the end")
