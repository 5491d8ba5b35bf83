"""What the papers measure of their own protocols: tags and waits (002, 004), rounds and false successes (003)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from captures.history import Event, History, Transmission
from captures.metrics.latency import since_sending_ms
from captures.metrics.registry import count, mean, metric, of_kind, once, quantiles, ratio, sent_frames
from nodes.cmd import notes as cmd_notes
from nodes.cmd.options import CmdOptions
from nodes.delta import evaluation as delta
from nodes.delta import notes as delta_notes
from nodes.delta.options import DeltaOptions
from nodes.him import notes as him_notes
from nodes.wire.note import NoteKind, said

_MS = 1e6


# PDU -> the bytes of its tag among n nodes, with so many entries; a matrix has n x n counters and no entries.
_TAG_BYTES: dict[str, Callable[[int, int], int]] = {
    "delta.DATA": lambda n, entries: n + 10 * entries,
    "cmd.DATA": lambda n, records: 4 * n + 8 * records,
    "cmd.MATRIX": lambda n, _: 4 * n * n,
}


def _tagged(history: History) -> list[Transmission]:
    """All copies; nothing if some are not seen because they did not fit into one frame: they have the longest tags."""
    frames = [frame for frame in sent_frames(history) if frame.title in _TAG_BYTES]
    seen = {(frame.about, frame.seq) for frame in frames}
    sent = (event for event in of_kind(history, NoteKind.SENT) if set(event.peers) - {event.node})
    return frames if all((event.about, event.seq) in seen for event in sent) else []


def _settled(history: History) -> list[Transmission]:
    """The second half of the copies: tags grow from nothing in the first."""
    frames = sorted(_tagged(history), key=lambda frame: frame.time_ns)
    return frames[len(frames) // 2 :]


def _entries(frames: list[Transmission]) -> list[int]:
    return [frame.entries for frame in frames if frame.title != "cmd.MATRIX"]


def _bytes(history: History, frames: list[Transmission]) -> list[int]:
    nodes = len(history.nodes)
    return [_TAG_BYTES[frame.title](nodes, frame.entries) for frame in frames]


@metric("tag_entries", "entries of CB, or s-records, per message sent")
def _tag_entries(history: History) -> float | None:
    return mean(_entries(_tagged(history)))


@metric("tag_entries_max", "the most entries of CB, or s-records, of any message")
def _tag_entries_max(history: History) -> float | None:
    return max(_entries(_tagged(history)), default=None)


@metric("tag_bytes", "bytes of the tag per copy sent: CB and its counts; vector time and s-records; a matrix", "bytes")
def _tag_bytes(history: History) -> float | None:
    return mean(_bytes(history, _tagged(history)))


@metric("settled_entries", "entries per copy, of the second half of the copies")
def _settled_entries(history: History) -> float | None:
    return mean(_entries(_settled(history)))


@metric("settled_tag_bytes", "bytes of the tag per copy, of the second half of the copies", "bytes")
def _settled_tag_bytes(history: History) -> float | None:
    return mean(_bytes(history, _settled(history)))


# Δ-causal order (002 §4). Figure 4 is about a steady state, and about waits that the whole order did not need.


def _delta_deliveries(history: History) -> list[Event]:
    if not isinstance(history.options, DeltaOptions):
        return []
    return [
        event
        for event in of_kind(history, NoteKind.DELIVERED)
        if event.about != event.node and said(delta_notes.Delivered, event.values)
    ]


def _log(history: History) -> Iterator[delta.Sending | delta.Delivery]:
    sent: set[tuple[int, int]] = set()
    for event in history.events:
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
def _steady(history: History) -> list[delta.Measured]:
    if not isinstance(history.options, DeltaOptions):
        return []
    limit_ns = history.options.limit_ns
    return delta.steady(delta.measure(_log(history), history.nodes, limit_ns), limit_ns)


def _of_fig_4(name: str, meaning: str, value: Callable[[delta.Point], float]) -> None:
    @metric(name, f"{meaning} (paper 002 §4), in the steady state: from twice Δ on")
    def _(history: History) -> float | None:
        found = _steady(history)
        if not found:
            return None
        return value(delta.point(found, history.options.max_cb, history.options.delta_ns))


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
def _counted(history: History) -> float | None:
    return len(_steady(history)) or None


@metric("late_share", "messages that came after their deadline")
def _late(history: History) -> float | None:
    late = sum(1 for event in of_kind(history, NoteKind.REFUSED) if event.text == "late" and event.seq)
    return ratio(late, late + len(_delta_deliveries(history)))


# Causal order (004).


def _queue_waits_ms(history: History) -> list[float]:
    if not isinstance(history.options, CmdOptions):
        return []
    told = (said(cmd_notes.Delivered, event.values) for event in of_kind(history, NoteKind.DELIVERED))
    return [one.waited_ns / _MS for one in told if one]


quantiles("queue_wait", "from arrival to delivery of causally ordered messages", _queue_waits_ms)


# High integrity (003).


@metric("success_share", "messages of which the sender was told SUCCESS")
def _success(history: History) -> float | None:
    told = list(of_kind(history, NoteKind.RESULT))
    return ratio(sum(event.text == "SUCCESS" for event in told), len(told))


@metric("false_success_share", "messages of which the sender was told SUCCESS before all it was sent to had delivered")
def _false_success(history: History) -> float | None:
    missing: dict[tuple[int, int], set[int]] = {}
    false = 0
    for event in history.events:
        key = (event.about, event.seq)
        if event.kind is NoteKind.SENT:
            missing[key] = set(event.peers)
        elif event.kind is NoteKind.DELIVERED and key in missing:
            missing[key].discard(event.node)
        elif event.kind is NoteKind.RESULT and event.text == "SUCCESS":
            false += bool(missing.get(key))
    return ratio(false, count(history, NoteKind.RESULT))


@metric("rounds_per_message", "multicasts of a message until the sender was told")
def _rounds(history: History) -> float | None:
    told = (said(him_notes.Result, event.values) for event in of_kind(history, NoteKind.RESULT))
    return mean([one.round + 1 for one in told if one])


def _completions_ms(history: History) -> list[float]:
    """Per message, when the last neighbour has answered (paper 003 §3.4.1: half a round trip, and one for the test).

    Over TCP no answer can be seen in a frame: the sender is told in the moment in which the last one comes.
    """
    if history.segments:
        return since_sending_ms(NoteKind.RESULT, history)
    sent_at = {(event.about, event.seq): event.time_ns for event in of_kind(history, NoteKind.SENT)}
    last: dict[tuple[int, int], int] = {}
    for frame in history.transmissions:
        if frame.title == "him.ANSWER" and frame.direction == "in" and frame.at.startswith("n"):
            last[frame.about, frame.seq] = frame.time_ns
    return [(at_ns - sent_at[key]) / _MS for key, at_ns in last.items() if key in sent_at]


quantiles("completion", "from sending to the last neighbour's answer", _completions_ms)
