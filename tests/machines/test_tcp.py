"""tcp, what HIM is compared with: who has it says so, and who does not in time is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from captures.evidence import Event, Evidence, Notes, Segment, Segments
from captures.metrics import measure
from nodes.machine import Log, Received, Send, Setting, Submit, Wake
from nodes.streams import _Stream
from nodes.tcp import PROTOCOL
from nodes.tcp.machine import Tcp
from nodes.tcp.options import TcpOptions
from nodes.wire import encode
from nodes.wire.note import NoteKind
from nodes.wire.raw import RawData

SECOND = 1_000_000_000


def entity(me: int, members: tuple[int, ...] = (1, 2, 3), incarnation: int = 1) -> Tcp:
    made = PROTOCOL.make(Setting(me=me, members=members, seed=0, incarnation=incarnation), TcpOptions())
    assert isinstance(made, Tcp)
    return made


def told(outputs: Sequence[object]) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.text, one.peers) for one in outputs if isinstance(one, Log) and one.kind is NoteKind.RESULT]


def test_a_message_is_a_success_when_all_others_have_said_so() -> None:
    sender = entity(1)
    outputs = sender.step(Submit(1, (1, 2, 3), b"hello"), 0)
    (send,) = [one for one in outputs if isinstance(one, Send)]
    assert send.to == (2, 3) and not sender.settled()
    words = []
    for other in (2, 3):
        delivered, word = entity(other).step(Received(send.pdu), 5)
        assert isinstance(delivered, Log) and (delivered.kind, delivered.about) == (NoteKind.DELIVERED, 1)
        assert isinstance(word, Send) and word.to == (1,)
        words.append(word.pdu)
    assert told(sender.step(Received(words[0]), 10)) == []
    assert told(sender.step(Received(words[0]), 11)) == []  # once more: still one is missing
    assert told(sender.step(Received(words[1]), 12)) == [("SUCCESS", ())]
    assert sender.settled() and sender.deadline is None
    assert sender.step(Received(words[1]), 13) == []


def test_who_has_not_answered_in_time_is_named() -> None:
    sender = entity(1)
    (send,) = [one for one in sender.step(Submit(1, (1, 2, 3), b"x"), 0) if isinstance(one, Send)]
    sender.step(Received(RawData(src=3, seq=send.pdu.seq, ndest=0, dest=(), payload=b"")), 5)  # type: ignore[attr-defined]
    assert sender.deadline == 30 * SECOND
    assert sender.step(Wake(), 30 * SECOND - 1) == []
    assert told(sender.step(Wake(), 30 * SECOND)) == [("FAIL", (2,))]
    assert sender.settled()


def test_alone_it_is_told_at_once_and_numbers_are_used_once() -> None:
    assert told(entity(1, (1,)).step(Submit(1, (1,), b"x"), 0)) == [("SUCCESS", ())]
    seqs = [entity(1, incarnation=life).step(Submit(1, (), b"x"), 0)[0].seq for life in (1, 2)]  # type: ignore[union-attr]
    assert seqs[0] != seqs[1]


def test_a_stream_is_cut_into_pdus_wherever_it_was_torn() -> None:
    pdus = [encode(RawData(src=1, seq=seq, ndest=0, dest=(), payload=bytes(seq))) for seq in (1, 0, 300)]
    for step in (1, 7, 1000):
        stream, found = _Stream(None, 2, opened=False), []  # type: ignore[arg-type]
        data = b"".join(pdus)
        for start in range(0, len(data), step):
            stream.came += data[start : start + step]
            while (pdu := stream.take()) is not None:
                found.append(pdu)
        assert found == pdus


def test_packets_are_segments_and_completion_is_what_the_sender_is_told() -> None:
    events = (
        Event(100, 1, NoteKind.SENT, 1, 1, (1, 2), (1,), number=1),
        Event(20_000_100, 1, NoteKind.RESULT, 1, 1, (), (0,), "SUCCESS", number=2),
    )
    history = Evidence((1, 2), Notes(events), segments=Segments(Segment(time_ns, 1, 94) for time_ns in range(8)))
    assert measure(history, "packets_per_message") == 8
    assert measure(history, "completion_p50_ms") == 20
    assert measure(replace(history, segments=Segments()), "completion_p50_ms") is None
