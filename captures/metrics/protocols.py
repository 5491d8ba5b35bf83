"""What the papers measure of their own protocols: tags and waits (002, 004), rounds and false successes (003)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from captures.evidence import Event, Evidence, facets
from captures.metrics.latency import since_sending_ms
from captures.metrics.registry import count, mean, messages, metric, once, quantiles, ratio
from captures.tables import Ints
from nodes.cmd import notes as cmd_notes
from nodes.cmd.options import CmdOptions
from nodes.delta import evaluation as delta
from nodes.delta import notes as delta_notes
from nodes.delta.options import DeltaOptions
from nodes.him import notes as him_notes
from nodes.him import timing as him
from nodes.him.options import HimOptions
from nodes.wire import all_pdu_types
from nodes.wire.him import HimAnswer
from nodes.wire.note import NoteKind, said

_MS = 1e6


def _tagged(evidence: Evidence) -> Ints:
    """All copies; nothing if some are not seen because they did not fit into one frame: they have the longest tags."""
    frames = evidence.frames
    rows = frames.of_type(*(pdu for pdu, facet in facets().items() if facet.tag_bytes), among=frames.sent)
    sent = (event for event in evidence.notes.events(NoteKind.SENT) if set(event.peers) - {event.node})
    seen = set(messages(frames, rows))
    return rows if all((event.about, event.seq) in seen for event in sent) else rows[:0]


def _settled(evidence: Evidence) -> Ints:
    """The second half of the copies: tags grow from nothing in the first."""
    rows = _tagged(evidence)
    rows = rows[np.argsort(evidence.frames.time_ns[rows], kind="stable")]
    return rows[len(rows) // 2 :]


def _entries(evidence: Evidence, rows: Ints) -> list[int]:
    """How many entries the tags have, of those that have any."""
    frames = evidence.frames
    rows = frames.of_type(*(pdu for pdu, facet in facets().items() if facet.tag), among=rows)
    found: list[int] = frames.entries[rows].tolist()
    return found


def _bytes(evidence: Evidence, rows: Ints) -> list[int]:
    frames, known, rows_of = evidence.frames, facets(), all_pdu_types()
    told = zip(frames.type[rows].tolist(), frames.entries[rows].tolist(), strict=True)
    tags = ((known[rows_of[kind].cls].tag_bytes, entries) for kind, entries in told)
    return [tag_bytes(len(evidence.nodes), entries) for tag_bytes, entries in tags if tag_bytes]


@metric("tag_entries", "entries of CB, or s-records, per message sent")
def _tag_entries(evidence: Evidence) -> float | None:
    return mean(_entries(evidence, _tagged(evidence)))


@metric("tag_entries_max", "the most entries of CB, or s-records, of any message")
def _tag_entries_max(evidence: Evidence) -> float | None:
    return max(_entries(evidence, _tagged(evidence)), default=None)


@metric("tag_bytes", "bytes of the tag per copy sent: CB and its counts; vector time and s-records; a matrix", "bytes")
def _tag_bytes(evidence: Evidence) -> float | None:
    return mean(_bytes(evidence, _tagged(evidence)))


@metric("settled_entries", "entries per copy, of the second half of the copies")
def _settled_entries(evidence: Evidence) -> float | None:
    return mean(_entries(evidence, _settled(evidence)))


@metric("settled_tag_bytes", "bytes of the tag per copy, of the second half of the copies", "bytes")
def _settled_tag_bytes(evidence: Evidence) -> float | None:
    return mean(_bytes(evidence, _settled(evidence)))


# Δ-causal order (002 §4). Figure 4 is about a steady state, and about waits that the whole order did not need.


def _delta_deliveries(evidence: Evidence) -> list[Event]:
    if not isinstance(evidence.options, DeltaOptions):
        return []
    return [
        event
        for event in evidence.notes.events(NoteKind.DELIVERED)
        if event.about != event.node and said(delta_notes.Delivered, event.values)
    ]


def _log(evidence: Evidence) -> Iterator[delta.Sending | delta.Delivery]:
    sent: set[tuple[int, int]] = set()
    for event in evidence.notes.events(NoteKind.SENT, NoteKind.DELIVERED):
        if event.kind is NoteKind.SENT:
            sending = said(delta_notes.Sent, event.values)
            if sending is not None:
                sent.add((event.node, event.seq))
                yield delta.Sending(event.node, event.seq, event.peers, sending)
        elif event.kind is NoteKind.DELIVERED and (event.about, event.seq) in sent:
            delivery = said(delta_notes.Delivered, event.values)
            if delivery is not None:
                yield delta.Delivery(event.node, event.about, event.seq, event.local_ns, delivery)


@once
def _steady(evidence: Evidence) -> list[delta.Measured]:
    if not isinstance(evidence.options, DeltaOptions):
        return []
    limit_ns = evidence.options.limit_ns
    return delta.steady(delta.measure(_log(evidence), evidence.nodes, limit_ns), limit_ns)


def _of_fig_4(name: str, meaning: str, value: Callable[[delta.Point], float]) -> None:
    @metric(name, f"{meaning} (paper 002 §4), in the steady state: from twice Δ on")
    def _(evidence: Evidence) -> float | None:
        found = _steady(evidence)
        if not found:
            return None
        return value(delta.point(found, evidence.options.max_cb, evidence.options.delta_ns))


_of_fig_4("cb_full_share", "rate_MAX: messages that came with MAX_CB entries for their receiver", lambda p: p.rate_max)
_of_fig_4(
    "unnecessary_wait_share",
    "rate_wait: messages that waited although all before them were there or expired",
    lambda p: p.rate_wait,
)
_of_fig_4(
    "unnecessary_wait_per_delta", "rate_w_time: mean unnecessary wait of all messages, in Δ", lambda p: p.rate_w_time
)
_of_fig_4("cb_entries", "entries of CB per message", lambda p: p.tag_entries)


@metric("steady_messages", "deliveries of Δ-causal order that Fig. 4 counts: of messages sent in the steady state")
def _counted(evidence: Evidence) -> float | None:
    return len(_steady(evidence)) or None


@metric("late_share", "messages that came after their deadline")
def _late(evidence: Evidence) -> float | None:
    late = sum(1 for event in evidence.notes.events(NoteKind.REFUSED) if event.text == "late" and event.seq)
    return ratio(late, late + len(_delta_deliveries(evidence)))


# Causal order (004).


def _queue_waits_ms(evidence: Evidence) -> list[float]:
    if not isinstance(evidence.options, CmdOptions):
        return []
    told = (said(cmd_notes.Delivered, event.values) for event in evidence.notes.events(NoteKind.DELIVERED))
    return [one.waited_ns / _MS for one in told if one]


quantiles("queue_wait", "from arrival to delivery of causally ordered messages", _queue_waits_ms)


# High integrity (003).


@metric("success_share", "messages of which the sender was told SUCCESS")
def _success(evidence: Evidence) -> float | None:
    told = list(evidence.notes.events(NoteKind.RESULT))
    return ratio(sum(event.text == "SUCCESS" for event in told), len(told))


@metric("false_success_share", "messages of which the sender was told SUCCESS before all it was sent to had delivered")
def _false_success(evidence: Evidence) -> float | None:
    missing: dict[tuple[int, int], set[int]] = {}
    false = 0
    for event in evidence.notes.events(NoteKind.SENT, NoteKind.DELIVERED, NoteKind.RESULT):
        key = (event.about, event.seq)
        if event.kind is NoteKind.SENT:
            missing[key] = set(event.peers)
        elif event.kind is NoteKind.DELIVERED and key in missing:
            missing[key].discard(event.node)
        elif event.kind is NoteKind.RESULT and event.text == "SUCCESS":
            false += bool(missing.get(key))
    return ratio(false, count(evidence, NoteKind.RESULT))


@metric("rounds_per_message", "multicasts of a message until the sender was told")
def _rounds(evidence: Evidence) -> float | None:
    told = (evidence.said(him_notes.Result, event) for event in evidence.notes.events(NoteKind.RESULT))
    return mean([one.round + 1 for one in told if one])


def _completions_ms(evidence: Evidence) -> list[float]:
    """Per message, when the last neighbour has answered (paper 003 §3.4.1: half a round trip, and one for the test).

    What is answered after the sender was told, and so late that a holder has asked for the END, is about no test. Over
    TCP no answer can be seen in a frame: the sender is told in the moment in which the last one comes.
    """
    if len(evidence.segments):
        return since_sending_ms(NoteKind.RESULT, evidence)
    if not isinstance(evidence.options, HimOptions):
        return []
    sent_at, told_at = (
        {(event.about, event.seq): event.time_ns for event in evidence.notes.events(kind)}
        for kind in (NoteKind.SENT, NoteKind.RESULT)
    )
    patience_ns, frames = him.patience_ns(evidence.options), evidence.frames
    answers = frames.of_type(HimAnswer, among=frames.came)
    last: dict[tuple[int, int], int] = {}
    for key, at_ns in zip(messages(frames, answers), frames.time_ns[answers].tolist(), strict=True):
        if key in sent_at and at_ns <= max(told_at.get(key, at_ns), sent_at[key] + patience_ns):
            last[key] = at_ns - sent_at[key]
    return [waited_ns / _MS for waited_ns in last.values()]


quantiles("completion", "from sending to the last neighbour's answer", _completions_ms)
