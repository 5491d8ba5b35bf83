"""The table of metrics: a name, a unit, a meaning, and a function from the history of a run to a number.

A metric that has no value in a run (the latency of no delivery) is None: an expectation about it is unknown.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from captures.history import Event, History, Transmission
from nodes.wire.note import NoteKind

T = TypeVar("T")
Measure = Callable[[History], float | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table of metrics."""

    name: str
    meaning: str
    measure: Measure
    unit: str = ""  # "ms", "bytes"; a count, a share or a ratio has none


METRICS: dict[str, Metric] = {}


def metric(name: str, meaning: str, unit: str = "") -> Callable[[Measure], Measure]:
    """Enter a function into the table."""

    def enter(measure: Measure) -> Measure:
        if name in METRICS:
            raise ValueError(f"there is a metric {name} already")
        METRICS[name] = Metric(name, meaning, measure, unit)
        return measure

    return enter


def measure(history: History, name: str) -> float | None:
    """The value of a metric in a run; ValueError names the nearest spelling."""
    if name in METRICS:
        return METRICS[name].measure(history)
    near = difflib.get_close_matches(name, METRICS, n=1)
    raise ValueError(f"no metric is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


# What the families share.


def once(find: Callable[[History], T]) -> Callable[[History], T]:
    """What several metrics are made of is found once per history."""
    last: list[tuple[History, T]] = []

    def found(history: History) -> T:
        if not last or last[0][0] is not history:
            last[:] = [(history, find(history))]
        return last[0][1]

    return found


def of_kind(history: History, kind: NoteKind) -> Iterator[Event]:
    """The NOTEs of one kind."""
    return (event for event in history.events if event.kind is kind)


def count(history: History, kind: NoteKind) -> int:
    """How many NOTEs of a kind there are."""
    return sum(1 for _ in of_kind(history, kind))


def sent_frames(history: History) -> list[Transmission]:
    """Every frame once, where it was sent: on the single channel, or as it leaves its node."""
    on_channel = [one for one in history.transmissions if one.at == "channel"]
    if on_channel:
        return on_channel
    return [one for one in history.transmissions if one.direction == "out" and one.at == f"n{one.src}"]


def ratio(part: float, whole: float) -> float | None:
    """part / whole, if there is a whole."""
    return part / whole if whole else None


def mean(values: Sequence[float]) -> float | None:
    """The mean, if there are values."""
    return ratio(sum(values), len(values))


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that so large a share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def quantiles(name: str, what: str, values: Callable[[History], Sequence[float]], unit: str = "ms") -> None:
    """Enter half, 99% and all of a distribution: <name>_p50_<unit>, _p99_, _max_."""
    for word, share, meaning in (
        ("p50", 0.5, "half of them"),
        ("p99", 0.99, "99% of them"),
        ("max", 1.0, "all of them"),
    ):

        def measured(history: History, share: float = share) -> float | None:
            return quantile(sorted(values(history)), share)

        metric(f"{name}_{word}_{unit}", f"{what}: {meaning} took no longer", unit)(measured)
