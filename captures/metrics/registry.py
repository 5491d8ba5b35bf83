"""The table of metrics: a name, a unit, a meaning, and a function from the evidence of a run to a number.

A metric that has no value in a run (the latency of no delivery) is None: an expectation about it is unknown.
"""

from __future__ import annotations

import difflib
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from captures.evidence import Evidence, Frames, Notes
from captures.tables import Ints
from nodes.wire.note import NoteKind

T = TypeVar("T")
Measure = Callable[[Evidence], float | None]


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


def measure(evidence: Evidence, name: str) -> float | None:
    """The value of a metric in a run; ValueError names the nearest spelling."""
    if name in METRICS:
        return METRICS[name].measure(evidence)
    near = difflib.get_close_matches(name, METRICS, n=1)
    raise ValueError(f"no metric is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


# What the families share.


def once(find: Callable[[Evidence], T]) -> Callable[[Evidence], T]:
    """What several metrics are made of is found once per evidence."""
    last: list[tuple[weakref.ref[Evidence], T]] = []

    def found(evidence: Evidence) -> T:
        if not last or last[0][0]() is not evidence:
            last[:] = [(weakref.ref(evidence), find(evidence))]
        return last[0][1]

    return found


def count(evidence: Evidence, kind: NoteKind) -> int:
    """How many NOTEs of a kind there are."""
    return len(evidence.notes.of_kind(kind))


def messages(table: Notes | Frames, rows: Ints) -> list[tuple[int, int]]:
    """The messages that these rows are about: origin and number."""
    return list(zip(table.about[rows].tolist(), table.seq[rows].tolist(), strict=True))


def ratio(part: float, whole: float) -> float | None:
    """part / whole, if there is a whole."""
    return part / whole if whole else None


def mean(values: Sequence[float]) -> float | None:
    """The mean, if there are values."""
    return ratio(sum(values), len(values))


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that so large a share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def quantiles(name: str, what: str, values: Callable[[Evidence], Sequence[float]], unit: str = "ms") -> None:
    """Enter half, 99% and all of a distribution: <name>_p50_<unit>, _p99_, _max_."""
    ordered = once(lambda evidence: sorted(values(evidence)))
    for word, share, meaning in (
        ("p50", 0.5, "half of them"),
        ("p99", 0.99, "99% of them"),
        ("max", 1.0, "all of them"),
    ):

        def measured(evidence: Evidence, share: float = share) -> float | None:
            return quantile(ordered(evidence), share)

        metric(f"{name}_{word}_{unit}", f"{what}: {meaning} took no longer", unit)(measured)
