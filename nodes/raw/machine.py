"""The control: no order, no repetition, no acknowledgement, no duplicate test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodes.lives import Numbering, refused
from nodes.machine import Input, Log, Output, Received, Send, Setting, Submit
from nodes.wire.note import Delivered, NoteKind, Sent, digest_of
from nodes.wire.raw import RawData

NUMBERING = Numbering(count_bits=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawOptions:
    """raw has no options."""


class Raw:
    """One entity."""

    def __init__(self, setting: Setting, options: RawOptions) -> None:
        self._me = setting.me
        self._numbers = iter(NUMBERING.of(setting.incarnation))
        self._refused = 0
        self.deadline: int | None = None

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Submit):
            seq = next(self._numbers, None)
            if seq is None:
                return refused(self._me, event)
            dest = tuple(sorted(event.to))
            sent = Log(NoteKind.SENT, self._me, seq, peers=dest, values=Sent(event.number))
            return [sent, Send(RawData(src=self._me, seq=seq, ndest=len(dest), dest=dest, payload=event.data))]
        if isinstance(event, Received):
            if not isinstance(event.pdu, RawData):
                self._refused += 1
            elif self._me in event.pdu.dest:
                said = Delivered(digest_of(event.pdu.payload))
                return [Log(NoteKind.DELIVERED, event.pdu.src, event.pdu.seq, values=said)]
        return []

    def settled(self) -> bool:
        return True

    def counters(self) -> Mapping[str, int]:
        return {"refused_foreign": self._refused}
