"""How much was said: messages, deliveries, frames and bytes."""

from __future__ import annotations

import numpy as np

from captures.evidence import Evidence, type_of
from captures.metrics.registry import count, messages, metric, ratio
from captures.tables import Ints
from nodes.wire import PduType, Proto, all_pdu_types
from nodes.wire.note import NoteKind


def _data(evidence: Evidence) -> Ints:
    """Of the frames sent those that carry a message."""
    return evidence.frames.carriers(evidence.frames.sent)


@metric("submitted", "messages that applications handed over")
def _submitted(evidence: Evidence) -> float | None:
    return count(evidence, NoteKind.SUBMITTED)


@metric("sent", "messages that became a PDU")
def _sent(evidence: Evidence) -> float | None:
    return count(evidence, NoteKind.SENT)


@metric("delivered", "deliveries, over all nodes")
def _delivered(evidence: Evidence) -> float | None:
    return count(evidence, NoteKind.DELIVERED)


@metric("delivered_share", "deliveries per message and destination")
def _delivered_share(evidence: Evidence) -> float | None:
    wanted = len(evidence.notes.peers_of(evidence.notes.of_kind(NoteKind.SENT)).flat)
    return ratio(count(evidence, NoteKind.DELIVERED), wanted)


@metric("frames", "frames with a PDU of the protocol that were sent")
def _frames(evidence: Evidence) -> float | None:
    return len(evidence.frames.sent)


@metric("frames_per_message", "frames that were sent per message")
def _frames_per_message(evidence: Evidence) -> float | None:
    return ratio(len(evidence.frames.sent), count(evidence, NoteKind.SENT))


@metric("packets_per_message", "frames with a PDU, or TCP segments, that were sent per message")
def _packets_per_message(evidence: Evidence) -> float | None:
    return ratio(len(evidence.frames.sent) + len(evidence.segments), count(evidence, NoteKind.SENT))


@metric("bytes_per_message", "bytes of PDUs that were sent per message", "bytes")
def _bytes_per_message(evidence: Evidence) -> float | None:
    return ratio(_bytes(evidence), count(evidence, NoteKind.SENT))


def _bytes(evidence: Evidence) -> int:
    return int(evidence.frames.length[evidence.frames.sent].sum())


@metric("control_per_message", "frames that carry no message, per message")
def _control_per_message(evidence: Evidence) -> float | None:
    control = len(evidence.frames.sent) - len(_data(evidence))
    return ratio(control, count(evidence, NoteKind.SENT))


@metric("retransmitted_per_data", "frames that carry a message again, per message that was carried")
def _retransmitted_per_data(evidence: Evidence) -> float | None:
    data = _data(evidence)
    carried = len(set(messages(evidence.frames, data)))
    return ratio(len(data) - carried, carried)


@metric("bytes_per_delivered_byte", "bytes of PDUs that were sent per byte of payload that was delivered")
def _bytes_per_delivered_byte(evidence: Evidence) -> float | None:
    frames, notes = evidence.frames, evidence.notes
    rows = frames.sent[frames.payload[frames.sent] > 0]
    payload = dict(zip(messages(frames, rows), frames.payload[rows].tolist(), strict=True))
    delivered = sum(payload.get(one, 0) for one in messages(notes, notes.of_kind(NoteKind.DELIVERED)))
    return ratio(_bytes(evidence), delivered)


@metric("alarms", "ALARM notes")
def _alarms(evidence: Evidence) -> float | None:
    return count(evidence, NoteKind.ALARM)


@metric("views", "views installed, over all nodes")
def _views(evidence: Evidence) -> float | None:
    return count(evidence, NoteKind.VIEW)


@metric("refused", "submissions and PDUs that were refused")
def _refused(evidence: Evidence) -> float | None:
    return count(evidence, NoteKind.REFUSED)


def _of_type(row: PduType) -> None:
    @metric(f"frames:{row.name}", f"frames with a PDU {row.name} that were sent")
    def _(evidence: Evidence) -> float | None:
        return int(np.count_nonzero(evidence.frames.type[evidence.frames.sent] == type_of(row.cls)))


for _row in all_pdu_types():
    if _row.proto is not Proto.NOTE:
        _of_type(_row)
