"""What moved between two sweeps: per point and metric the difference with its interval.

Moved means that the interval of the difference does not hold 0. Equal runs differ by exactly 0 and have not moved.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from harness.sweep.statistics import Interval, difference
from harness.sweep.store import Store
from harness.sweep.tables import Rows, interval_of


@dataclass(frozen=True, slots=True)
class Move:
    """One metric at one point, before and now."""

    parameters: str
    metric: str
    old: Interval
    new: Interval

    @property
    def by(self) -> Interval:
        """How far."""
        return difference(self.new, self.old)

    @property
    def moved(self) -> bool | None:
        """None: it differs, but without intervals that says nothing."""
        by = self.by
        if by.value == 0:
            return False
        if by.low is None or by.high is None:
            return None
        return not by.low <= 0 <= by.high

    def __str__(self) -> str:
        by = self.by
        how = {True: "moved", False: "not moved", None: "cannot be told"}[self.moved]
        interval = "" if by.low is None else f" [{by.low:+.4g}, {by.high:+.4g}]"
        what = f"{self.parameters}: {self.metric} {self.old.value:.4g} -> {self.new.value:.4g}"
        return f"{what}: {how}, by {by.value:+.4g}{interval}"

    def document(self) -> dict[str, Any]:
        """As JSON."""
        by = self.by
        return {
            "parameters": self.parameters,
            "metric": self.metric,
            "old": self.old.value,
            "new": self.new.value,
            "by": by.value,
            "low": by.low,
            "high": by.high,
            "moved": self.moved,
        }


def points_of(store: Store) -> Rows:
    """The points that an earlier sweep left; OSError if there are none."""
    data = store.read("tables/points.parquet")
    if data is None:
        raise OSError(f"{store} holds no sweep to compare with: there is no tables/points.parquet")
    rows: Rows = pq.read_table(io.BytesIO(data)).to_pylist()
    return rows


def moves(old: Rows, new: Rows) -> Iterator[Move]:
    """What both sweeps have measured."""
    before = {(row["parameters"], row["metric"]): row for row in old}
    for row in new:
        other = before.get((row["parameters"], row["metric"]))
        if other is not None:
            yield Move(row["parameters"], row["metric"], interval_of(other), interval_of(row))
