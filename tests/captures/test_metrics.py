"""Metrics on small histories, each with the number counted by hand."""

from __future__ import annotations

import pytest

from captures.evidence import Event, Evidence, Frame, Frames, Notes
from captures.metrics import METRICS, measure
from harness.scenario.model import Expect
from nodes.wire.note import NoteKind
from tests.helpers.notation import history

MS = 1_000_000


def note(at_ms: int, node: int, kind: NoteKind, seq: int = 0, **rest: object) -> Event:
    return Event(time_ns=at_ms * MS, node=node, kind=kind, seq=seq, **rest)  # type: ignore[arg-type]


def frame(at: str, direction: str, src: int, title: str, about: int = 0, seq: int = 0) -> Frame:
    return Frame(0, at, direction, src, title, 100, "x.pcap", 1, about, seq)


EVENTS = Notes(
    [
        note(0, 1, NoteKind.SUBMITTED, 1, peers=(1, 2, 3)),
        note(1, 1, NoteKind.SENT, 7, about=1, peers=(1, 2, 3), values=(1,)),
        note(5, 1, NoteKind.DELIVERED, 7, about=1),
        note(6, 2, NoteKind.DELIVERED, 7, about=1),
        note(10, 2, NoteKind.SUBMITTED, 1, peers=(1,)),
        note(10, 2, NoteKind.SENT, 1, about=2, peers=(1,), values=(1,)),
        note(30, 1, NoteKind.DELIVERED, 1, about=2),
        note(31, 1, NoteKind.REFUSED),
    ]
)
ON_CHANNEL = Evidence(
    (1, 2, 3),
    EVENTS,
    frames=Frames(
        [
            frame("n1", "out", 1, "st.DATA", 1, 7),
            frame("channel", "", 1, "st.DATA", 1, 7),
            frame("channel", "", 1, "st.DATA", 1, 7),
            frame("channel", "", 2, "st.DATA", 2, 1),
            frame("channel", "", 3, "st.DATA"),
            frame("channel", "", 3, "st.RST"),
        ]
    ),
)
ROUTED = Evidence(
    (1, 2, 3),
    EVENTS,
    frames=Frames(
        [
            frame("n1", "out", 1, "cmd.DATA", 1, 7),
            frame("n2", "in", 1, "cmd.DATA", 1, 7),
            frame("r1", "out", 1, "cmd.DATA", 1, 7),
            frame("n2", "out", 2, "cmd.ACK"),
        ]
    ),
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("submitted", 2),
        ("sent", 2),
        ("delivered", 3),
        ("delivered_share", 0.75),
        ("frames", 5),
        ("frames_per_message", 2.5),
        ("bytes_per_message", 250),
        ("control_per_message", 1),
        ("retransmitted_per_data", 0.5),
        ("refused", 1),
        ("alarms", 0),
        ("views", 0),
        ("latency_p50_ms", 6),
        ("latency_p99_ms", 20),
        ("latency_max_ms", 20),
    ],
)
def test_on_the_channel(name: str, value: float) -> None:
    assert measure(ON_CHANNEL, name) == value


def test_each_frame_counts_where_it_is_sent() -> None:
    assert measure(ROUTED, "frames") == 2
    assert measure(ROUTED, "retransmitted_per_data") == 0


@pytest.mark.parametrize(
    ("line", "crash_to_view_ms", "rejoin_ms"),
    [
        ("1[1,2,3 2[1,2,3 3[1,2,3 @10 x3 @15 1[1,2 @17 2[1,2 @20 r3 @21 1[1,2,3 2[1,2,3 @30 3[1,2,3", 7, 10),
        ("1[1,2,3 2[1,2,3 3[1,2,3 @10 x3 @15 1[1,2 @20 r3 @21 3[1,2,3 2[1,2,3", None, None),  # n2 and n1 never
        ("1[1,2,3 2[1,2 3[1,2,3 @10 x3 @15 1[1,2", 5, None),  # n2 knew already, and nobody restarts
        ("1[1,2,3 2[1,2,3 @10 x3 @11 1[1,2 @12 2[1,2 @20 x2 @30 1[1", 10, None),
        ("1[1,2,3 2[1,2,3", None, None),
    ],
)
def test_views_after_a_crash_and_a_restart(line: str, crash_to_view_ms: float, rejoin_ms: float) -> None:
    evidence = history(line)
    assert [measure(evidence, name) for name in ("crash_to_view_ms", "rejoin_ms")] == [crash_to_view_ms, rejoin_ms]


def test_every_metric_is_tested_and_undefined_ones_are_none() -> None:
    empty = Evidence((1,), Notes())
    counts = {name for name in METRICS if measure(empty, name) is not None}
    assert {name for name in counts if not name.startswith("frames:")} == {
        "submitted",
        "sent",
        "delivered",
        "frames",
        "alarms",
        "views",
        "refused",
    }
    assert {measure(empty, name) for name in counts} == {0}
    with pytest.raises(ValueError, match="did you mean 'delivered'"):
        measure(empty, "deliverd")


def test_expectations() -> None:
    near = Expect(metric="frames", near=100, tolerance=0.15)
    assert [near.holds(value) for value in (84.9, 85, 115, 115.1)] == [False, True, True, False]
    between = Expect(metric="frames", at_least=1, at_most=2)
    assert [between.holds(value) for value in (0.9, 1, 2, 2.1)] == [False, True, True, False]
