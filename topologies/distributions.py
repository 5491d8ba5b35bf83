"""Distributions of a packet's delay, as the tables that netem draws from.

netem knows one distribution, the uniform one; for every other it takes a table of at most 16,384 signed 16-bit
numbers, picks one of them uniformly per packet and computes delay = latency + jitter * number / 8192. A number ends
at 32,767, so a table whose unit is the standard deviation (as the ones that come with iproute2) ends before four
sigma, and rare late packets never happen. Here `latency` and `jitter` are merely the offset and scale of the table
and are fitted to its smallest and largest delay: any quantile function fits, up to its 1 - 1/32,768 quantile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

TABLE_MAX = 16_384  # NETEM_DIST_MAX
SCALE = 8192  # NETEM_DIST_SCALE
ENTRY_MAX = 32_767
JITTER_MAX_NS = 2**31 - 1  # netem keeps it in 32 bits

Quantile = Callable[[float], float]  # share 0..1 -> delay in ns


@dataclass(frozen=True, slots=True)
class DelayDraw:
    """How netem draws one delay: uniformly from latency ± jitter, or with a table from latency + jitter*entry/8192."""

    latency_ns: int
    jitter_ns: int = 0
    table: tuple[int, ...] = ()

    def delays_ns(self) -> tuple[int, ...]:
        """All the delays that the table can give, in the kernel's own integer arithmetic."""
        return tuple(self._delay_ns(entry) for entry in self.table)

    def _delay_ns(self, entry: int) -> int:
        low = self.jitter_ns % SCALE * entry
        rounded = (low + SCALE // 2) // SCALE if low >= 0 else -((-low + SCALE // 2) // SCALE)
        return rounded + self.jitter_ns // SCALE * entry + self.latency_ns

    def late_share(self, after_ns: int) -> float:
        """The exact share of delays above `after_ns`."""
        delays = self.delays_ns()
        return sum(delay > after_ns for delay in delays) / len(delays)

    def mean_ns(self) -> float:
        """The exact mean delay."""
        delays = self.delays_ns()
        return sum(delays) / len(delays) if delays else float(self.latency_ns)


def table_of(quantile: Quantile, size: int = TABLE_MAX) -> DelayDraw:
    """The table of a distribution: its quantiles in the middles of `size` equal shares."""
    wanted = [quantile((number + 0.5) / size) for number in range(size)]
    low, high = min(wanted), max(wanted)
    if low < 0:
        raise ValueError("a delay cannot be below 0")
    latency = round((low + high) / 2)
    jitter = math.ceil((high - low) / 2 * SCALE / ENTRY_MAX) + 1
    if jitter > JITTER_MAX_NS:
        raise ValueError("the delays are further apart than netem can draw (about 17 s)")
    return DelayDraw(latency, jitter, tuple(round((delay - latency) * SCALE / jitter) for delay in wanted))


class Distribution(Protocol):
    """A distribution of delays around `delay_ns`, with spread `jitter_ns` where it has one."""

    def draw(self, delay_ns: int, jitter_ns: int) -> DelayDraw:
        """What netem is told; ValueError with the reason when there is no such distribution."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Anything from delay - jitter to delay + jitter; netem's own."""

    def draw(self, delay_ns: int, jitter_ns: int) -> DelayDraw:
        if jitter_ns > delay_ns:
            raise ValueError("jitter larger than the delay would make delays below 0, which netem sends at once")
        return DelayDraw(delay_ns, jitter_ns)


@dataclass(frozen=True, slots=True)
class Normal:
    """Mean delay, standard deviation jitter, both tails to four sigma."""

    def draw(self, delay_ns: int, jitter_ns: int) -> DelayDraw:
        normal = NormalDist(delay_ns, jitter_ns)
        if normal.inv_cdf(0.5 / TABLE_MAX) < 0:
            raise ValueError(
                "a normal delay needs a mean of at least 4.01 times its jitter, or some delays fall below 0; "
                'take distribution = { late = "1%", after = "..." }, a normal one cut off at 0'
            )
        return table_of(normal.inv_cdf)


PARETO_SHAPE = 3.0  # the heaviest tail with an integer shape that still has a variance


@dataclass(frozen=True, slots=True)
class Pareto:
    """Mean delay, standard deviation jitter, and a long tail: a Pareto distribution of shape 3."""

    def draw(self, delay_ns: int, jitter_ns: int) -> DelayDraw:
        mean = PARETO_SHAPE / (PARETO_SHAPE - 1)
        sigma = math.sqrt(PARETO_SHAPE / (PARETO_SHAPE - 2)) / (PARETO_SHAPE - 1)

        def quantile(share: float) -> float:
            return delay_ns + jitter_ns * (math.pow(1 - share, -1 / PARETO_SHAPE) - mean) / sigma

        if quantile(0) < 0:
            raise ValueError("a pareto delay needs a mean of at least 0.58 times its jitter, or delays fall below 0")
        return table_of(quantile)


@dataclass(frozen=True, slots=True)
class TruncatedNormal:
    """A normal distribution cut off at 0 whose mean is the delay and which exceeds `after_ns` in `late_share` of all
    packets: "delays are normal, one in 10,000 comes too late" of paper 002 §4, made precise (D-DC-10)."""

    late_share: float
    after_ns: int

    def draw(self, delay_ns: int, jitter_ns: int) -> DelayDraw:
        if not delay_ns < self.after_ns:
            raise ValueError("what comes late must come after the mean delay")
        mu, sigma = fit_truncated_normal(delay_ns, self.after_ns, self.late_share)
        kept = tail(-mu / sigma)
        unit = NormalDist()
        return table_of(
            lambda share: max(0.0, mu - sigma * unit.inv_cdf(kept * (1 - share))), exact_size(self.late_share)
        )


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Measured delays: their quantiles at equal distances from the smallest to the largest, straight lines between."""

    delays_ns: tuple[int, ...]

    def draw(self, delay_ns: int, jitter_ns: int) -> DelayDraw:
        points = self.delays_ns
        if len(points) < 2 or list(points) != sorted(points):
            raise ValueError("quantiles are at least two delays in ascending order")

        def quantile(share: float) -> float:
            place = share * (len(points) - 1)
            left = min(int(place), len(points) - 2)
            return points[left] + (points[left + 1] - points[left]) * (place - left)

        return table_of(quantile)


def exact_size(share: float) -> int:
    """The largest table of which `share` is a whole number of entries, as nearly as any table has it."""
    return max(range(TABLE_MAX // 2, TABLE_MAX + 1), key=lambda size: (-abs(round(share * size) / size - share), size))


def tail(z: float) -> float:
    """The share of a standard normal distribution above z, exact far out too."""
    return math.erfc(z / math.sqrt(2)) / 2


def fit_truncated_normal(mean: float, after: float, late_share: float) -> tuple[float, float]:
    """The (mu, sigma) of the narrowest normal distribution that, cut off at 0, has that mean and that share above
    `after`."""

    def truncated_mean(mu: float, sigma: float) -> float:
        return mu + sigma * NormalDist().pdf(mu / sigma) / tail(-mu / sigma)

    def mu_for(sigma: float) -> float:
        """The mean grows with mu."""
        return _bisect(lambda mu: truncated_mean(mu, sigma) - mean, -30 * sigma, mean)

    def late(sigma: float) -> float:
        mu = mu_for(sigma)
        return tail((after - mu) / sigma) / tail(-mu / sigma)

    narrow = wide = (after - mean) / 40
    while late(wide) < late_share:
        narrow, wide = wide, wide * 1.2
        if wide > 25 * mean:  # nearly exponential already: nothing wider has this mean
            raise ValueError(
                f"no normal delay cut off at 0 exceeds {after / mean:.3g} times its mean so often "
                f"(in {late_share:.3%} of all packets)"
            )
    sigma = _bisect(lambda width: late(width) - late_share, narrow, wide)
    return mu_for(sigma), sigma


def _bisect(rising: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(100):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
