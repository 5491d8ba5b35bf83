"""Metrics of the network and of the protocols, each with the number counted by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from captures.evidence import Event, Evidence, Frame, Frames, Notes
from captures.metrics import METRICS, delays_by_link, loss_by_receiver, measure
from nodes.cmd.options import CmdOptions
from nodes.delta.options import DeltaOptions
from nodes.him.options import HimOptions
from nodes.wire.note import NoteKind
from tests.helpers.notation import history


def frame(time_us: int, at: str, direction: str, title: str, seq: int = 0, **more: Any) -> Frame:
    about = 1 if seq else 0
    return Frame(time_us * 1000, at, direction, 1, title, 100, f"{at}.pcap", 1, about, seq)._replace(**more)


def with_frames(line: str, *frames: Frame, options: DeltaOptions | HimOptions | None = None) -> Evidence:
    return replace(history(line, options=options), frames=Frames(frames))


ON_CHANNEL = with_frames(
    "1+a>2,3 1+b>2 @4 2^a 2=a @6 3^a 2-a 3-a @20 2-b x1",
    frame(10, "channel", "", "st.DATA", 1, payload=40),
    frame(20, "channel", "", "st.DATA", 2, payload=10),
    frame(30, "channel", "", "st.RST"),
    frame(40, "channel", "", "st.DATA", 2, payload=10),
    frame(11, "n1", "in", "st.DATA", 1),
    frame(21, "n1", "in", "st.DATA", 2),
    frame(31, "n1", "in", "st.RST"),
    frame(41, "n1", "in", "st.DATA", 2),
    frame(15, "n2", "in", "st.DATA", 1),
    frame(42, "n2", "in", "st.DATA", 2),
    frame(17, "n3", "in", "st.DATA", 1),
    frame(37, "n3", "in", "st.RST"),
    frame(38, "n3", "in", "st.RST"),
    frame(9, "n1", "out", "st.DATA", 1),
)

ROUTED = with_frames(
    "1+a 2+b",
    frame(0, "n1", "out", "him.DATA", 1, multicast=True),
    frame(0, "n1", "out", "him.QUERY", 1),
    frame(2000, "n2", "in", "him.DATA", 1),
    frame(1500, "n2", "in", "him.QUERY", 1),
    frame(1000, "r1", "in", "him.DATA", 1),
)

DELTA = with_frames(
    "1+z>2 2%z,0,2 @21 1+a>2,3#7 2%a,1,2 3%a,1,1 1+b>2#4 2%b,0,2 2+c>2,3 2%c,0,0 3/c",
    frame(0, "n1", "out", "delta.DATA", 1, entries=3),
    frame(0, "n1", "out", "delta.DATA", 2, entries=6),
    frame(0, "n1", "out", "delta.DATA", 3, entries=0),
    frame(0, "n2", "out", "delta.DATA", 1, about=2, src=2, entries=9),
    options=DeltaOptions(delta_ns=10_000_000, max_cb=2),
)

CMD = with_frames(
    "1+a>2,3 2-a 3-a",
    frame(0, "n1", "out", "cmd.DATA", 1, entries=1),
    frame(0, "n1", "out", "cmd.DATA", 1, entries=2),
    frame(9, "n1", "out", "cmd.ACK"),
)

MATRIX = with_frames(
    "1+a>2 2-a",
    frame(0, "n1", "out", "cmd.MATRIX", 1),
    frame(50, "n1", "out", "cmd.MATRIX", 1),
    frame(99, "n1", "out", "cmd.ACK"),
)

# One burst: a comes to both, b is lost and sent again, c comes, d is lost for ever.
BURST = with_frames(
    "1+a>2,3 1+b>2 1+c>3 1+d>3",
    frame(10, "channel", "", "st.DATA", 1),
    frame(20, "channel", "", "st.DATA", 2),
    frame(30, "channel", "", "st.DATA", 3),
    frame(40, "channel", "", "st.DATA", 2),
    frame(50, "channel", "", "st.DATA", 4),
    frame(11, "n2", "in", "st.DATA", 1),
    frame(12, "n3", "in", "st.DATA", 1),
    frame(31, "n3", "in", "st.DATA", 3),
    frame(41, "n2", "in", "st.DATA", 2),
    frame(21, "n1", "in", "st.DATA", 2),
)

HIM = with_frames("1+a 1-a 2-a 1+b 1$a 3-a 1-b 2-b 3-b 1$b 1+c 1$c:3")

# Whoever missed the END of b asks for it after 20 ms; c takes longer than that.
ANSWERED = with_frames(
    "1+a @1 1$a @9 1+b @12 1$b @99 1+c @149 1$c",
    frame(1_004_000, "n2", "in", "him.ANSWER", 1),
    frame(1_006_000, "n3", "in", "him.ANSWER", 1),
    frame(1_021_000, "n2", "in", "him.ANSWER", 2),
    frame(1_070_000, "n2", "in", "him.ANSWER", 2),
    frame(1_110_000, "n3", "in", "him.ANSWER", 3),
    frame(1_140_000, "n2", "in", "him.ANSWER", 3),
    options=HimOptions(decide_ns=10_000_000),
)

# a is repeated and then everywhere; b is said to be everywhere, and 3 does not have it; of c the failure is found.
MISSED = with_frames(
    "1+a 1-a 2-a 3-a 1$a 1+b 1-b 2-b 1$b 1+c 1-c 1$c:2,3",
    frame(0, "n1", "out", "him.DATA", 1),
    frame(500, "n1", "out", "him.DATA", 1),
    frame(5000, "n1", "out", "him.DATA", 2),
    frame(9000, "n1", "out", "him.DATA", 3),
    frame(9500, "n1", "out", "him.QUERY", 3),
)

# 3 is down: reported after the first multicast of a, missed after the second and after that of b, reported twice for c.
REPORTED = with_frames(
    "1+a 1-a 2-a 1$a 1+b 1-b 2-b 1$b 1+c 1-c 2-c 1$c:2,3",
    frame(0, "n1", "out", "him.DATA", 1),
    frame(500, "n1", "out", "him.DATA", 1),
    frame(5000, "n1", "out", "him.DATA", 2),
    frame(9000, "n1", "out", "him.DATA", 3),
    frame(9500, "n1", "out", "him.DATA", 3),
)


def recovering(line: str, *states: tuple[int, int, str]) -> Evidence:
    """A history with (place, node, mode) put in."""
    run = history(line)
    events = list(run.notes)
    for place, node, mode in sorted(states, reverse=True):
        events.insert(place, Event(events[place].time_ns, node, NoteKind.STATE, text=mode))
    return replace(run, notes=Notes(events))


# 2 holds a and b when it is done, 3 holds a; 1 holds nothing. (A message is two events: submitted and sent.)
SORTED = recovering(
    "1+a 1+b 2^a 2^b 3^a 2-a 2-b 3-a 3^b 3-b",
    (5, 1, "RECOV"),
    (5, 2, "RECOV"),
    (6, 3, "RECOV"),
    (7, 1, "DATA"),
    (7, 2, "DATA"),
    (7, 3, "DATA"),
    (9, 3, "DATA"),
)

WANTED: list[tuple[str, Evidence, Mapping[str, float]]] = [
    (
        "channel",
        ON_CHANNEL,
        {
            "frames:st.DATA": 3,
            "frames:st.RST": 1,
            "frames:st.RST_PAK": 0,
            "loss_share": (0 + 0.5 + 0.25) / 3,
            "loss_share_max": 0.5,
            "loss_share_min": 0,
            "delay_p50_ms": 0.005,  # a, sent once: 1, 5 and 7 us
            "delay_max_ms": 0.007,
            "bytes_per_delivered_byte": 400 / (40 + 40 + 10),
            "acceptance_max_ms": 6,
            "confirmation_p50_ms": 5,
            "outage_max_ms": 13,
            "clock_skew_max_ms": 0,
        },
    ),
    ("routed", ROUTED, {"loss_share": 1 - 2 / 3, "delay_p50_ms": 1.5, "delay_max_ms": 2}),
    (
        "delta",
        DELTA,
        {
            "tag_entries": 4.5,
            "tag_entries_max": 9,
            "tag_bytes": 3 + 45,
            "cb_full_share": 2 / 3,  # z was sent before there was a steady state
            "cb_entries": (7 + 7 + 4) / 3,
            "unnecessary_wait_share": 2 / 3,
            "unnecessary_wait_per_delta": (1 + 1) / 3 / 10,
            "steady_messages": 3,
            "late_share": 1 / 5,
        },
    ),
    (
        "cmd tags",
        CMD,
        {
            "tag_entries": 1.5,
            "tag_entries_max": 2,
            "tag_bytes": 4 * 3 + 8 * 1.5,
            "settled_entries": 2,
            "settled_tag_bytes": 4 * 3 + 8 * 2,
        },
    ),
    ("matrix", MATRIX, {"tag_bytes": 4 * 3 * 3, "retransmitted_per_data": 1, "control_per_message": 1}),
    (
        "him",
        HIM,
        {"success_share": 2 / 3, "false_success_share": 1 / 3, "decision_max_ms": 6},
    ),
    ("answered", ANSWERED, {"completion_p50_ms": 12, "completion_max_ms": 41}),
    ("burst", BURST, {"go_back_per_data": 3 / 4, "retransmitted_per_data": 1 / 4}),
    ("missed", MISSED, {"missed_share": 1 / 4, "false_success_share": 1 / 3, "sends_to_report": 3 / 2}),
    ("reported", REPORTED, {"missed_share": 2 / 5, "sends_to_report": 5 / 3}),
    ("sorted", SORTED, {"sorted_per_data": 3 / (2 * 3)}),
    ("skew", history("2@7 1+a 2-a"), {"clock_skew_max_ms": 7}),
    ("cmd", history("1+a 2-a", options=CmdOptions()), {}),
]


@pytest.mark.parametrize(("run", "values"), [(run, values) for _, run, values in WANTED], ids=[n for n, _, _ in WANTED])
def test_measured(run: Evidence, values: Mapping[str, float]) -> None:
    assert {name: measure(run, name) for name in values} == pytest.approx(dict(values))


def test_the_waits_that_the_paper_counts() -> None:
    """a waited in vain; c waited as long, but for a: whatever their agents think of it."""
    line = "1+z>2 2%z,0 @21 1+a>3 1+b>2 2%b,0 2+c>3 @26 3%a,1 @26 3%c,1"
    options = DeltaOptions(delta_ns=10_000_000, max_cb=3)
    one = history(line, options=options)
    assert measure(one, "unnecessary_wait_share") == pytest.approx(1 / 3)
    assert measure(one, "unnecessary_wait_per_delta") == pytest.approx(0.1 / 3)
    assert measure(one, "cb_full_share") == 0
    behind = history("3@-2 " + line, options=options)
    assert measure(behind, "unnecessary_wait_share") == pytest.approx(1 / 3)
    # R0: the clock of 3 is behind, and shows the time stamp of a only when it delivers it
    assert measure(history("3@-5 " + line, options=options), "unnecessary_wait_share") == 0


def test_tags_of_which_the_longest_are_not_seen_are_not_measured() -> None:
    """A datagram in fragments is no PDU for the captures."""
    one = with_frames("1+a>2 1+b>2 2-ab", frame(0, "n1", "out", "cmd.DATA", 1, entries=1))
    assert {measure(one, name) for name in ("tag_entries", "tag_bytes", "settled_entries", "tag_entries_max")} == {None}


def test_by_receiver_and_by_link() -> None:
    assert loss_by_receiver(ON_CHANNEL) == {1: 0, 2: 0.5, 3: 0.25}
    assert loss_by_receiver(ROUTED) == {}
    assert delays_by_link(ROUTED) == {("n1", "n2"): [2_000_000, 1_500_000]}


def test_every_metric_says_what_it_is() -> None:
    assert all(metric.meaning and metric.name == name for name, metric in METRICS.items())
    assert all(name.endswith(f"_{metric.unit}") or metric.unit in ("", "bytes") for name, metric in METRICS.items())
