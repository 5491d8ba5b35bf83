"""Intervals of confidence: Wilson's for shares, the bootstrap over runs for everything else, and of differences.

Runs are independent of each other, what happens within a run is not: so the bootstrap draws whole runs. Wilson's
interval takes every trial as independent and is meant for metrics whose trials are (a loss, a report).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
Z = 1.959963984540054  # the normal distribution's quantile for it
DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its interval; without one where too little is known."""

    value: float
    low: float | None = None
    high: float | None = None


def wilson(successes: float, trials: float) -> Interval:
    """Of a share; exact at 0 and 1, where the usual interval has no width."""
    share = successes / trials
    spread = Z * Z / trials
    middle = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Interval(share, 0.0 if successes == 0 else low, 1.0 if successes == trials else high)


def bootstrap(values: Sequence[float], what: str) -> Interval:
    """Of the mean over runs. The draws follow from `what` and nothing else."""
    found = np.asarray(values, dtype=np.float64)
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return Interval(mean)
    seed = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], "big")
    chosen = np.random.Generator(np.random.PCG64(seed)).integers(0, len(found), (DRAWS, len(found)))
    means = np.sort(found[chosen].mean(axis=1))
    tail = (1 - CONFIDENCE) / 2
    return Interval(mean, float(means[int(tail * DRAWS)]), float(means[DRAWS - 1 - int(tail * DRAWS)]))


def difference(new: Interval, old: Interval) -> Interval:
    """new - old, with the interval that follows from both (the method of variance estimates recovery)."""
    value = new.value - old.value
    bounds = (new.low, new.high, old.low, old.high)
    if any(bound is None for bound in bounds):
        return Interval(value)
    low = math.hypot(new.value - (new.low or 0.0), (old.high or 0.0) - old.value)
    high = math.hypot((new.high or 0.0) - new.value, old.value - (old.low or 0.0))
    return Interval(value, value - low, value + high)
