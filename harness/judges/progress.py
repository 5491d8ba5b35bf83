"""PROGRESS: after everything was mended the protocol works again."""

from __future__ import annotations

from captures.history import Event
from harness.judges.base import Broken, Finding, Holds, judge_of, when_quiet
from harness.judges.facts import Facts, name_of


@judge_of("PROGRESS", "progress: what is submitted after the heal is sent, and every live destination delivers of it")
def progress(facts: Facts) -> Finding:
    return when_quiet(facts, _goes_on)


def _goes_on(facts: Facts) -> Finding:
    since = facts.heal.time_ns if facts.heal is not None else 0
    submitted = [event for event in facts.submitted if event.time_ns >= since and not facts.down(event.node)]
    refused = {
        (event.node, event.incarnation, value) for event in facts.refused if not event.about for value in event.values
    }
    sent = {
        (event.node, event.incarnation, event.values[0]): event
        for event in (facts.events[at] for at in facts.s_event.tolist())
        if event.values
    }
    wanted: dict[int, Event] = {}  # destination -> a message it should have delivered
    got = {(event.node, event.about, event.seq) for event in map(facts.delivery, range(len(facts.d_message)))}
    served = set()
    for event in submitted:
        key = (event.node, event.incarnation, event.seq)
        sending = sent.get(key)
        if sending is None:
            if key in refused:
                continue
            return Broken(f"n{event.node} never sent its submission {event.seq}", (event,), by_absence=True)
        for node in sending.peers:
            if facts.down(node):
                continue
            wanted.setdefault(node, sending)
            if (node, sending.about, sending.seq) in got:
                served.add(node)
    for node, sending in sorted(wanted.items()):
        if node not in served:
            return Broken(
                f"n{node} delivered nothing of what was submitted after the heal, not even "
                f"{name_of(sending.about, sending.seq)}",
                (sending,),
                by_absence=True,
            )
    when = "after the heal" if facts.heal is not None else "in the run"
    return Holds(f"{len(submitted)} submissions {when} were sent, and {len(wanted)} destinations delivered")
