"""How much was said: messages, deliveries, frames and bytes."""

from __future__ import annotations

from collections import Counter

from captures.history import History, Transmission
from captures.metrics.registry import count, metric, of_kind, ratio, sent_frames
from nodes.wire import Proto, all_pdu_types
from nodes.wire.note import NoteKind


def _is_data(frame: Transmission) -> bool:
    return frame.title.endswith((".DATA", ".MATRIX")) and frame.about > 0


@metric("submitted", "messages that applications handed over")
def _submitted(history: History) -> float | None:
    return count(history, NoteKind.SUBMITTED)


@metric("sent", "messages that became a PDU")
def _sent(history: History) -> float | None:
    return count(history, NoteKind.SENT)


@metric("delivered", "deliveries, over all nodes")
def _delivered(history: History) -> float | None:
    return count(history, NoteKind.DELIVERED)


@metric("delivered_share", "deliveries per message and destination")
def _delivered_share(history: History) -> float | None:
    wanted = sum(len(event.peers) for event in of_kind(history, NoteKind.SENT))
    return ratio(count(history, NoteKind.DELIVERED), wanted)


@metric("frames", "frames with a PDU of the protocol that were sent")
def _frames(history: History) -> float | None:
    return len(sent_frames(history))


@metric("frames_per_message", "frames that were sent per message")
def _frames_per_message(history: History) -> float | None:
    return ratio(len(sent_frames(history)), count(history, NoteKind.SENT))


@metric("packets_per_message", "frames with a PDU, or TCP segments, that were sent per message")
def _packets_per_message(history: History) -> float | None:
    return ratio(len(sent_frames(history)) + len(history.segments), count(history, NoteKind.SENT))


@metric("bytes_per_message", "bytes of PDUs that were sent per message", "bytes")
def _bytes_per_message(history: History) -> float | None:
    return ratio(sum(frame.length for frame in sent_frames(history)), count(history, NoteKind.SENT))


@metric("control_per_message", "frames that carry no message, per message")
def _control_per_message(history: History) -> float | None:
    control = sum(1 for frame in sent_frames(history) if not _is_data(frame))
    return ratio(control, count(history, NoteKind.SENT))


@metric("retransmitted_per_data", "frames that carry a message again, per message that was carried")
def _retransmitted_per_data(history: History) -> float | None:
    times = Counter((frame.about, frame.seq) for frame in sent_frames(history) if _is_data(frame))
    return ratio(sum(times.values()) - len(times), len(times))


@metric("bytes_per_delivered_byte", "bytes of PDUs that were sent per byte of payload that was delivered")
def _bytes_per_delivered_byte(history: History) -> float | None:
    frames = sent_frames(history)
    payload = {(frame.about, frame.seq): frame.payload for frame in frames if frame.payload}
    delivered = sum(payload.get((event.about, event.seq), 0) for event in of_kind(history, NoteKind.DELIVERED))
    return ratio(sum(frame.length for frame in frames), delivered)


@metric("alarms", "ALARM notes")
def _alarms(history: History) -> float | None:
    return count(history, NoteKind.ALARM)


@metric("views", "views installed, over all nodes")
def _views(history: History) -> float | None:
    return count(history, NoteKind.VIEW)


@metric("refused", "submissions and PDUs that were refused")
def _refused(history: History) -> float | None:
    return count(history, NoteKind.REFUSED)


def _of_type(title: str) -> None:
    @metric(f"frames:{title}", f"frames with a PDU {title} that were sent")
    def _(history: History) -> float | None:
        return sum(1 for frame in sent_frames(history) if frame.title == title)


for _row in all_pdu_types():
    if _row.proto is not Proto.NOTE:
        _of_type(_row.name)
