"""The alternative of paper 003 §3.4.1: a TCP connection with every other node, the message on each, a word in return.

The word is the receiver's, not its kernel's: that bytes were acknowledged by TCP says nothing about who has them.
Connections are the link's affair (nodes/streams.py): one per message and receiver, closed when the word has come.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodes.him.notes import Delivered, Result
from nodes.lives import Numbering, refused
from nodes.machine import Input, Log, Output, Received, Send, Setting, Submit
from nodes.tcp.options import TcpOptions
from nodes.wire.note import NoteKind, Sent, digest_of
from nodes.wire.raw import RawData

NUMBERING = Numbering(count_bits=20)


class Tcp:
    """One entity. A RawData without destinations is the word of a receiver."""

    def __init__(self, setting: Setting, options: TcpOptions) -> None:
        self._me = setting.me
        self._others = tuple(member for member in setting.members if member != setting.me)
        self._members = setting.members
        self._give_up_ns = options.give_up_ns
        self._numbers = iter(NUMBERING.of(setting.incarnation))
        self._waiting: dict[int, tuple[int, set[int]]] = {}  # seq -> until when, for whom
        self._refused = 0

    @property
    def deadline(self) -> int | None:
        return min((until for until, _ in self._waiting.values()), default=None)

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Submit):
            return self._submit(event, now_ns)
        if isinstance(event, Received):
            if not isinstance(event.pdu, RawData):
                self._refused += 1
                return []
            return self._word(event.pdu) if not event.pdu.dest else self._message(event.pdu)
        late = [seq for seq, (until, _) in self._waiting.items() if until <= now_ns]
        return [self._told(seq, tuple(sorted(self._waiting.pop(seq)[1]))) for seq in late]

    def _submit(self, event: Submit, now_ns: int) -> list[Output]:
        seq, me = next(self._numbers, None), self._me
        if seq is None:
            return refused(me, event)
        sent = Log(NoteKind.SENT, me, seq, peers=self._members, values=Sent(event.number))
        own = Log(NoteKind.DELIVERED, me, seq, values=_held(event.data))
        if not self._others:
            return [sent, own, self._told(seq, ())]
        self._waiting[seq] = now_ns + self._give_up_ns, set(self._others)
        data = RawData(src=me, seq=seq, ndest=len(self._others), dest=self._others, payload=event.data)
        return [sent, own, Send(data, self._others)]

    def _message(self, pdu: RawData) -> list[Output]:
        taken = Log(NoteKind.DELIVERED, pdu.src, pdu.seq, values=_held(pdu.payload))
        return [taken, Send(RawData(src=self._me, seq=pdu.seq, ndest=0, dest=(), payload=b""), (pdu.src,))]

    def _word(self, pdu: RawData) -> list[Output]:
        _, missing = self._waiting.get(pdu.seq, (0, set()))
        missing.discard(pdu.src)
        if pdu.seq not in self._waiting or missing:
            return []
        del self._waiting[pdu.seq]
        return [self._told(pdu.seq, ())]

    def _told(self, seq: int, missing: tuple[int, ...]) -> Log:
        return Log(
            NoteKind.RESULT, self._me, seq, peers=missing, values=Result(0), text="FAIL" if missing else "SUCCESS"
        )

    def settled(self) -> bool:
        return not self._waiting

    def counters(self) -> Mapping[str, int]:
        return {"refused_foreign": self._refused}


def _held(data: bytes) -> Delivered:
    """As HIM notes it."""
    return Delivered(digest_of(data), 0)
