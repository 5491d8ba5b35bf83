"""How long it took: from submission to delivery, from sending to confirmation, and how long nothing was delivered."""

from __future__ import annotations

from functools import partial

from captures.evidence import Evidence
from captures.metrics.registry import metric, quantiles
from nodes.wire.note import NoteKind, Sent, said

_MS = 1e6


def submitted_ns(evidence: Evidence) -> dict[tuple[int, int], int]:
    """Message -> when it was submitted, as far as its SENT tells the submission."""
    submitted = {
        (event.node, event.incarnation, event.seq): event.time_ns for event in evidence.notes.events(NoteKind.SUBMITTED)
    }
    began: dict[tuple[int, int], int] = {}
    for event in evidence.notes.events(NoteKind.SENT):
        sent = said(Sent, event.values)
        at_ns = submitted.get((event.node, event.incarnation, sent.submission)) if sent else None
        if at_ns is not None:
            began.setdefault((event.about, event.seq), at_ns)
    return began


def latencies_ms(evidence: Evidence, kind: NoteKind = NoteKind.DELIVERED) -> list[float]:
    """From submission to each delivery, or to each NOTE of another kind, in the order of size."""
    began = submitted_ns(evidence)
    found = (
        (event.time_ns - began[event.about, event.seq]) / _MS
        for event in evidence.notes.events(kind)
        if (event.about, event.seq) in began
    )
    return sorted(found)


quantiles("latency", "from submission to delivery", latencies_ms)


def since_sending_ms(kind: NoteKind, evidence: Evidence) -> list[float]:
    """From SENT to each NOTE of a kind about the same message."""
    sent: dict[tuple[int, int], int] = {}
    for event in evidence.notes.events(NoteKind.SENT):
        sent.setdefault((event.about, event.seq), event.time_ns)
    return [
        (event.time_ns - sent[event.about, event.seq]) / _MS
        for event in evidence.notes.events(kind)
        if (event.about, event.seq) in sent
    ]


for _name, _what, _kind in (
    ("acceptance", "acceptance", NoteKind.ACCEPTED),
    ("confirmation", "confirmation", NoteKind.CONFIRMED),
    ("decision", "what the sender is told", NoteKind.RESULT),
):
    quantiles(_name, f"from sending to {_what}", partial(since_sending_ms, _kind))


@metric("outage_max_ms", "the longest time between two deliveries at a node that did not stop", "ms")
def _outage(evidence: Evidence) -> float | None:
    stopped = {event.node for event in evidence.notes.events(NoteKind.LEFT)}
    for event in evidence.notes.events(NoteKind.FAULT):
        stopped.update(event.fault.stopped)
    last: dict[int, int] = {}
    longest: int | None = None
    for event in evidence.notes.events(NoteKind.DELIVERED):
        if event.node in stopped:
            continue
        if event.node in last:
            longest = max(longest or 0, event.time_ns - last[event.node])
        last[event.node] = event.time_ns
    return None if longest is None else longest / _MS
