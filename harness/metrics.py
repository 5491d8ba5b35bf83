"""Metrics: numbers that an expectation may be about, each a function of the history of a run.

A metric that has no value in a run (the latency of no delivery) is None: an expectation about it is unknown.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from captures.history import Event, History, Transmission
from nodes.wire.note import NoteKind


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table of metrics."""

    name: str
    meaning: str
    measure: Callable[[History], float | None]


METRICS: dict[str, Metric] = {}

Measure = Callable[[History], float | None]


def metric(name: str, meaning: str) -> Callable[[Measure], Measure]:
    """Enter a function into the table."""

    def enter(measure: Measure) -> Measure:
        METRICS[name] = Metric(name, meaning, measure)
        return measure

    return enter


def measure(history: History, name: str) -> float | None:
    """The value of a metric in a run; ValueError names the nearest spelling."""
    if name in METRICS:
        return METRICS[name].measure(history)
    near = difflib.get_close_matches(name, METRICS, n=1)
    raise ValueError(f"no metric is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def _of(history: History, kind: NoteKind) -> Iterable[Event]:
    return (event for event in history.events if event.kind is kind)


def _count(history: History, kind: NoteKind) -> int:
    return sum(1 for _ in _of(history, kind))


def sent_frames(history: History) -> list[Transmission]:
    """Every frame once, where it was sent: on the single channel, or as it leaves its node."""
    on_channel = [one for one in history.transmissions if one.at == "channel"]
    if on_channel:
        return on_channel
    return [one for one in history.transmissions if one.direction == "out" and one.at == f"n{one.src}"]


def _is_data(frame: Transmission) -> bool:
    return frame.title.endswith(".DATA") and frame.about > 0


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


@metric("submitted", "messages that applications handed over")
def _submitted(history: History) -> float | None:
    return _count(history, NoteKind.SUBMITTED)


@metric("sent", "messages that became a PDU")
def _sent(history: History) -> float | None:
    return _count(history, NoteKind.SENT)


@metric("delivered", "deliveries, over all nodes")
def _delivered(history: History) -> float | None:
    return _count(history, NoteKind.DELIVERED)


@metric("delivered_share", "deliveries per message and destination")
def _delivered_share(history: History) -> float | None:
    wanted = sum(len(event.peers) for event in _of(history, NoteKind.SENT))
    return _ratio(_count(history, NoteKind.DELIVERED), wanted)


@metric("frames", "frames with a PDU of the protocol that were sent")
def _frames(history: History) -> float | None:
    return len(sent_frames(history))


@metric("frames_per_message", "frames that were sent per message")
def _frames_per_message(history: History) -> float | None:
    return _ratio(len(sent_frames(history)), _count(history, NoteKind.SENT))


@metric("bytes_per_message", "bytes of PDUs that were sent per message")
def _bytes_per_message(history: History) -> float | None:
    return _ratio(sum(frame.length for frame in sent_frames(history)), _count(history, NoteKind.SENT))


@metric("control_per_message", "frames that carry no message, per message")
def _control_per_message(history: History) -> float | None:
    control = sum(1 for frame in sent_frames(history) if not _is_data(frame))
    return _ratio(control, _count(history, NoteKind.SENT))


@metric("retransmitted_per_data", "frames that carry a message again, per message that was carried")
def _retransmitted_per_data(history: History) -> float | None:
    times = Counter((frame.about, frame.seq) for frame in sent_frames(history) if _is_data(frame))
    return _ratio(sum(times.values()) - len(times), len(times))


@metric("alarms", "ALARM notes")
def _alarms(history: History) -> float | None:
    return _count(history, NoteKind.ALARM)


@metric("views", "views installed, over all nodes")
def _views(history: History) -> float | None:
    return _count(history, NoteKind.VIEW)


@metric("refused", "submissions and PDUs that were refused")
def _refused(history: History) -> float | None:
    return _count(history, NoteKind.REFUSED)


def latencies_ms(history: History) -> list[float]:
    """From submission to each delivery, in the order of size."""
    submitted = {
        (event.node, event.incarnation, event.seq): event.time_ns for event in _of(history, NoteKind.SUBMITTED)
    }
    began: dict[tuple[int, int], int] = {}
    for event in _of(history, NoteKind.SENT):
        if event.values:
            at_ns = submitted.get((event.node, event.incarnation, event.values[0]))
            if at_ns is not None:
                began.setdefault((event.about, event.seq), at_ns)
    found = (
        (event.time_ns - began[event.about, event.seq]) / 1e6
        for event in _of(history, NoteKind.DELIVERED)
        if (event.about, event.seq) in began
    )
    return sorted(found)


def _quantile(name: str, meaning: str, share: float) -> None:
    @metric(name, meaning)
    def _(history: History) -> float | None:
        ordered = latencies_ms(history)
        return ordered[math.ceil(share * len(ordered)) - 1] if ordered else None


_quantile("latency_p50_ms", "from submission to delivery: half of the deliveries took no longer", 0.5)
_quantile("latency_p99_ms", "from submission to delivery: 99% of the deliveries took no longer", 0.99)
_quantile("latency_max_ms", "from submission to delivery: the longest", 1.0)
