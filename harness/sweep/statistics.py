"""Intervals of confidence: Wilson's for shares, the bootstrap over runs for everything else, and of differences.

Runs are independent of each other, what happens within a run is not: so the bootstrap draws whole runs. Wilson's
interval takes every trial as independent and is meant for metrics whose trials are (a loss, a report).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

Z = 1.959963984540054  # the normal distribution's quantile for a confidence of 95 %
DRAWS = 2000
# Student's quantile for it, of 1, 2, ... degrees of freedom; beyond, the normal one is as good.
_STUDENT = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
)


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
    tail = _tail(len(found))
    return Interval(mean, float(means[int(tail * DRAWS)]), float(means[DRAWS - 1 - int(tail * DRAWS)]))


def _tail(runs: int) -> float:
    """How much to cut off at either end: less than 2.5 % where runs are few.

    The means of draws from n runs spread by a factor sqrt((n - 1) / n) too little, and the normal quantile forgets that
    their spread is estimated; the ends move outward to where Student's interval would have them.
    """
    quantile = _STUDENT[runs - 2] if runs <= len(_STUDENT) + 1 else Z
    return NormalDist().cdf(-quantile * math.sqrt(runs / (runs - 1)))


def difference(new: Interval, old: Interval) -> Interval:
    """new - old, with the interval that follows from both (the method of variance estimates recovery)."""
    value = new.value - old.value
    bounds = (new.low, new.high, old.low, old.high)
    if any(bound is None for bound in bounds):
        return Interval(value)
    low = math.hypot(new.value - (new.low or 0.0), (old.high or 0.0) - old.value)
    high = math.hypot((new.high or 0.0) - new.value, old.value - (old.low or 0.0))
    return Interval(value, value - low, value + high)
