"""PROGRESS: after everything was mended the protocol works again."""

from __future__ import annotations

from collections.abc import Collection

from captures.evidence import Event
from harness.judges.base import Broken, Finding, Holds, judge_of, when_quiet
from harness.judges.facts import Facts, name_of
from nodes.wire.note import NoteKind, Sent, said, submission


@judge_of("PROGRESS", "progress: what is submitted after the heal is sent, and every live destination delivers of it")
def progress(facts: Facts) -> Finding:
    return when_quiet(facts, _goes_on)


@judge_of("TAKEN", "what is submitted to a process that still runs is sent or refused")
def taken(facts: Facts) -> Finding:
    return when_quiet(facts, lambda facts: never_sent(facts) or Holds("every submission was sent or refused"))


def _goes_on(facts: Facts) -> Finding:
    unsent = never_sent(facts)
    if unsent is not None:
        return unsent
    since, sent = _mended_ns(facts), _sent(facts)
    wanted: dict[int, Event] = {}  # destination -> a message it should have delivered
    delivered = zip(facts.d_node.tolist(), facts.d_message.tolist(), strict=True)
    got = {(node, *facts.keys[message]) for node, message in delivered}
    served = set()
    submitted = _submitted(facts)
    for event in submitted:
        sending = sent.get(_key(event))
        if sending is None:
            continue  # refused
        for node in sending.peers if event.time_ns >= since else ():
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
    return Holds(f"all {len(submitted)} submissions were sent, and {len(wanted)} destinations delivered of the last")


def _mended_ns(facts: Facts) -> int:
    """From when on nothing was wrong any more: the heal, or the last fault if nothing was submitted after the heal."""
    if facts.heal is None:
        return 0
    if any(event.time_ns >= facts.heal.time_ns for event in facts.of(NoteKind.SUBMITTED)):
        return facts.heal.time_ns
    lasting = [event.time_ns for event in facts.of(NoteKind.FAULT) if not event.fault.of_one_pdu]
    return max(lasting, default=0)


def never_sent(facts: Facts, since_ns: int = 0, nodes: Collection[int] | None = None) -> Broken | None:
    """A submission since then, to a process that still runs (at one of these nodes), neither sent nor refused."""
    sent = _sent(facts)
    refused = {
        (event.node, event.incarnation, submission(event.kind, event.seq, event.values))
        for event in facts.of(NoteKind.REFUSED)
        if event.about in (0, event.node)
    }
    for event in _submitted(facts):
        owed = event.time_ns >= since_ns and (nodes is None or event.node in nodes)
        if owed and _key(event) not in sent and _key(event) not in refused:
            return Broken(f"n{event.node} never sent its submission {event.seq}", (event,), by_absence=True)
    return None


def _key(submitted: Event) -> tuple[int, int, int]:
    return submitted.node, submitted.incarnation, submitted.seq


def _submitted(facts: Facts) -> list[Event]:
    """What was submitted to processes that run at the end."""
    last = {life.node: life.incarnation for life in facts.lives if life.up}
    return [event for event in facts.of(NoteKind.SUBMITTED) if last.get(event.node) == event.incarnation]


def _sent(facts: Facts) -> dict[tuple[int, int, int], Event]:
    """Node, incarnation and number of a submission -> its SENT."""
    return {
        (event.node, event.incarnation, told.submission): event
        for event in facts.notes.rows(facts.s_event)
        if (told := said(Sent, event.values))
    }
