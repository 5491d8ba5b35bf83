"""Histories from pcaps: what was noted comes back event by event, and everything that is missing is a hole."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captures.audit import counter_holes
from captures.evidence import Event, Evidence, Notes
from captures.load import capture_files, load_evidence
from captures.pcap import Audit
from captures.recorded import Recorded
from captures.samples import udp6
from harness.judges import Outcome, judge
from nodes.wire import Pdu, encode
from nodes.wire.cmd import CmdData
from nodes.wire.delta import DeltaData
from nodes.wire.him import HAVE, HimAnswer, HimData
from nodes.wire.note import NoteKind
from nodes.wire.raw import RawData
from nodes.wire.st import StData
from tests.helpers.captured import Frame, stopped, timed_pcap, write_captures
from tests.helpers.notation import history

_LINE = "start 1+a>2,3 2^a 3^a 2-a 3-a 1+b>2 2-b end"


def test_events_come_back_as_they_were(tmp_path: Path) -> None:
    one = stopped(history("start 2@7 1+a>2,3#4 2^a 2~a 2=a 3%a,2 2[1,2#3 2!1,late 1$a:2,3 x3 end"), 3)
    assert load_evidence(write_captures(tmp_path, one)) == one


def test_incarnations_and_marks_come_back(tmp_path: Path) -> None:
    one = stopped(history("start 1+a 2-a x2 r2 1+b 2-b heal end"))
    loaded = load_evidence(write_captures(tmp_path, one))
    assert loaded.holes == ()
    assert [(event.node, event.incarnation, event.number) for event in loaded.notes] == [
        (event.node, event.incarnation, event.number) for event in one.notes
    ]


def test_a_judge_says_the_same_of_captures(tmp_path: Path) -> None:
    one = stopped(history("start 1+a>2,3 2+b>2,3 2-ab 3-ba end"))
    (direct,), (captured,) = judge(one, ["ST-3"]), judge(load_evidence(write_captures(tmp_path, one)), ["ST-3"])
    assert direct == captured
    assert captured.outcome is Outcome.FAIL
    assert {event.capture for event in captured.events} == {"n2.pcap", "n3.pcap"}


# Holes. Each is made in otherwise complete captures.


def cut_last_bytes(captures: Path) -> None:
    path = captures / "n2.pcap"
    path.write_bytes(path.read_bytes()[:-3])


def drop_file(captures: Path) -> None:
    (captures / "n3.pcap").unlink()


def not_a_pcap(captures: Path) -> None:
    (captures / "n2.pcap").write_bytes(b"nonsense, and enough of it")


def empty_file(captures: Path) -> None:
    (captures / "r1.pcap").write_bytes(b"")


def without(drop: Callable[[Event], bool]) -> Callable[[Path], None]:
    def damage(captures: Path) -> None:
        one = load_evidence(captures)
        for path in captures.glob("*.pcap"):
            path.unlink()
        write_captures(captures.parent, replace(one, notes=Notes(event for event in one.notes if not drop(event))))

    return damage


def another_note(captures: Path) -> None:
    one = load_evidence(captures)
    first = next(event for event in one.notes if event.node == 2)
    changed = Evidence((2,), Notes([first._replace(seq=77)]))
    write_captures(captures.parent / "other", changed)
    (captures.parent / "other/captures/n2.pcap").rename(captures / "n9.pcap")


HOLES: list[tuple[Callable[[Path], None], str]] = [
    (cut_last_bytes, "n2.pcap: truncated"),
    (drop_file, "n3: no NOTE"),
    (not_a_pcap, "n2.pcap: foreign"),
    (empty_file, "r1.pcap: empty"),
    (without(lambda event: event.node == 2 and event.number == 2), "n2: NOTE 2 missing"),
    (without(lambda event: event.node == 2 and event.number in (1, 2)), "n2: NOTEs 1 to 2 missing"),
    (without(lambda event: event.kind is NoteKind.END and event.node == 3), "n3: no END"),
    (without(lambda event: event.text == "start"), "harness: NOTE 1 missing"),
    (without(lambda event: event.text.startswith("end")), "harness.pcap: no MARK end"),
    (another_note, "n9.pcap: frame 1 is another NOTE 1 of n2"),
]


@pytest.mark.parametrize(("damage", "hole"), HOLES, ids=[hole for _, hole in HOLES])
def test_what_is_missing_is_a_hole_and_never_a_pass(tmp_path: Path, damage: Callable[[Path], None], hole: str) -> None:
    captures = write_captures(tmp_path, stopped(history(_LINE)))
    whole = load_evidence(captures, nodes=(1, 2, 3))
    assert whole.holes == ()
    assert [one.outcome for one in judge(whole, ["ST-1", "ST-3", "ST-4"])] == [Outcome.PASS] * 3
    damage(captures)
    damaged = load_evidence(captures, nodes=(1, 2, 3))
    assert any(found.startswith(hole) for found in damaged.holes), damaged.holes
    assert [one.outcome for one in judge(damaged, ["ST-1", "ST-3", "ST-4"])] == [Outcome.UNKNOWN] * 3


def test_an_end_that_counts_more_notes_is_a_hole(tmp_path: Path) -> None:
    one = stopped(history(_LINE))
    lost = next(event for event in one.notes if event.node == 1 and event.kind is NoteKind.END)
    changed = lost._replace(number=lost.number - 1, values=lost.values)
    before = [event for event in one.notes if not (event.node == 1 and event.number == changed.number)]
    events = Notes(changed if event is lost else event for event in before)
    (hole,) = load_evidence(write_captures(tmp_path, replace(one, notes=events))).holes
    assert "its END says" in hole


def test_a_killed_node_needs_no_end(tmp_path: Path) -> None:
    one = stopped(history("start 1+a>2 x2 end"), 2)
    captures = write_captures(tmp_path, one)
    assert load_evidence(captures, nodes=(1, 3)).holes == ()
    one = stopped(history("start 1+a>2 2-a x2 end"), 2)
    assert load_evidence(write_captures(tmp_path / "second", one)).holes == ()
    one = stopped(history("start 1+a>2 2-a x2 r2 end"), 2)  # its second life should have stopped as asked
    (hole,) = load_evidence(write_captures(tmp_path / "third", one)).holes
    assert hole.startswith("n2, incarnation 2: no END")


def test_the_same_note_in_two_captures_counts_once(tmp_path: Path) -> None:
    one = stopped(history(_LINE))
    captures = write_captures(tmp_path, one)
    (captures / "n10.pcap").write_bytes((captures / "n2.pcap").read_bytes())
    loaded = load_evidence(captures, nodes=(1, 2, 3))
    assert loaded == one
    assert [path.name for path in capture_files(captures)] == [
        "harness.pcap",
        "n1.pcap",
        "n2.pcap",
        "n3.pcap",
        "n10.pcap",
    ]


def test_counters_of_the_capturing_side() -> None:
    audits = {"n1.pcap": Audit("n1.pcap", frames=7)}
    good = Recorded(written=7, received=9)
    assert counter_holes(audits, {"n1": good}) == []
    for counters, reason in (
        ({"n1": replace(good, dropped=2)}, "2 frames dropped"),
        ({"n1": replace(good, if_dropped=1)}, "1 frames dropped by the interface"),
        ({"n1": replace(good, written=8)}, "7 of 8 frames are there"),
        ({"n1": good, "n2": good}, "not there"),
    ):
        (hole,) = counter_holes(audits, counters)
        assert reason in str(hole)


def test_a_capture_of_what_the_network_has_not_is_a_hole_and_left_out(tmp_path: Path) -> None:
    captures = write_captures(tmp_path, stopped(history(_LINE)))
    (captures / "n9.pcap").write_bytes((captures / "n1.pcap").read_bytes())
    points = ("n1", "n2", "n3", "harness")
    found = load_evidence(captures, nodes=(1, 2, 3), points=points)
    assert found.holes == ("n9.pcap: left out: the network has no such place",)
    (captures / "n9.pcap").unlink()
    assert replace(found, holes=()) == load_evidence(captures, nodes=(1, 2, 3), points=points)


def test_a_directory_without_captures_is_a_hole(tmp_path: Path) -> None:
    assert any("no capture" in hole for hole in load_evidence(tmp_path).holes)


# Frames.


def made(cls: type[Pdu], **given: Any) -> Pdu:
    """A PDU with these fields; what they leave out is 0."""
    return cls(**({field.name: 0 for field in cls.TYPE.fields} | given))


def test_frames_say_which_message_they_are_about(tmp_path: Path) -> None:
    one = stopped(history(_LINE))
    digest = bytes(range(1, 21))
    st: dict[str, Any] = {
        "cluster": 1,
        "n": 2,
        "flags": 0,
        "epoch": 0,
        "buf": 9,
        "ack": (1, 1),
        "pseq": (1, 1),
        "payload": b"x",
    }
    delta: dict[str, Any] = {"ts": 7, "ndest": 1, "dest": (1,), "n": 2, "counts": (2, 0), "payload": b""}
    him = {"flags": HAVE, "round": 0, "origin": 2, "view": 1, "seq": 9, "tsval": 0}
    pdus = [
        RawData(src=3, seq=5, ndest=1, dest=(1,), payload=b""),
        StData(src=1, tseq=4, dst=(2,), **st),
        StData(src=1, tseq=5, dst=(), **st),
        DeltaData(src=2, seq=1 << 32 | 3, cb=((1, 5), (2, 6)), **delta),
        made(CmdData, src=2, t=8, v=(3, 8), n=2, r=((1, 2, 3),), nrec=1, payload=b""),
        HimData(src=2, hash=digest, payload=b"", **him),
        HimAnswer(src=1, hash=digest, tsecr=0, seal=b"", **(him | {"flags": 0})),
    ]
    frames = [Frame(1_000_000_500 + index, "n1", pdu, outgoing=index % 2 == 0) for index, pdu in enumerate(pdus)]
    loaded = load_evidence(write_captures(tmp_path, one, frames))
    found = [(frame.title, frame.direction, frame.about, frame.seq, frame.entries) for frame in loaded.frames]
    assert found == [
        ("raw.DATA", "out", 3, 5, 0),
        ("st.DATA", "in", 1, 4, 0),
        ("st.DATA", "out", 0, 0, 0),  # an ACK PDU carries no message
        ("delta.DATA", "in", 2, 1 << 32 | 3, 2),
        ("cmd.DATA", "out", 2, 8, 1),
        ("him.DATA", "in", 2, 9, 0),
        ("him.ANSWER", "out", 2, 9, 0),
    ]
    assert loaded.frames.said(np.array([4]), "v") == [(3, 8)]
    assert loaded.frames.said(np.array([3]), "cb") == [((1, 5), (2, 6))]
    assert [loaded.frames.said(np.array([at]), "hash") for at in (5, 6)] == [[digest], [digest]]
    assert {frame.capture for frame in loaded.frames} == {"n1.pcap"}
    assert loaded.holes == ()


def test_an_ethernet_capture_tells_no_direction(tmp_path: Path) -> None:
    pdu = RawData(src=3, seq=5, ndest=1, dest=(1,), payload=b"")
    captures = write_captures(tmp_path, stopped(history(_LINE)))
    (captures / "channel.pcap").write_bytes(timed_pcap([Frame(10**9, "channel", pdu)], cooked_frames=False))
    (frame,) = load_evidence(captures).frames
    assert (frame.at, frame.direction, frame.src) == ("channel", "", 3)


def test_what_is_for_another_host_does_not_come_to_this_one(tmp_path: Path) -> None:
    """A switch that does not know where a host is puts what is for it on all links."""
    pdu = encode(RawData(src=3, seq=5, ndest=1, dest=(1,), payload=b""))
    to = [ipaddress.IPv6Address(one).packed for one in ("fd00:0:0:7::2", "fd00:0:0:7::1", "fe80::1", "ff15::1")]
    frames = [Frame(10**9 + k, "n1", udp6(pdu, to=one), outgoing=False) for k, one in enumerate(to)]
    found = load_evidence(write_captures(tmp_path, stopped(history(_LINE)), frames)).frames
    assert [frame.to_node for frame in found] == [2, 1, 1, 0]
    assert found.came.tolist() == [1, 2, 3]
