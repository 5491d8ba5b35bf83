"""The delay of paper 002 §4.2: "normal", Δ five times its mean, 0.01 % of the messages late (D-DC-10).

A normal distribution with that mean and that tail is negative for 17.6 % of the messages, which no delay is. Three
readings differ little; we fit a normal distribution cut off below 0 so that its mean and its tail are the wanted ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

_STANDARD = NormalDist()


@dataclass(frozen=True, slots=True)
class TruncatedNormal:
    """N(mu0, sigma²) given that it is not negative; in units of the mean delay if fitted to mean 1."""

    mu0: float
    sigma: float

    @property
    def mean(self) -> float:
        lowest = -self.mu0 / self.sigma
        return self.mu0 + self.sigma * _STANDARD.pdf(lowest) / _STANDARD.cdf(-lowest)

    def late(self, limit: float) -> float:
        """The share of delays above `limit`."""
        return _upper(limit, self) / _upper(0, self)

    def delay(self, share: float) -> float:
        """The delay that a share 0 <= share < 1 of all delays does not reach: its quantile, so a draw if uniform."""
        above = (1 - share) * _upper(0, self)
        return max(0.0, self.mu0 - self.sigma * _STANDARD.inv_cdf(above))

    def table(self, entries: int) -> tuple[float, ...]:
        """`entries` delays that stand for equal shares: for a network emulator that draws from a table."""
        return tuple(self.delay((index + 0.5) / entries) for index in range(entries))


def _upper(limit: float, normal: TruncatedNormal) -> float:
    """The share of the uncut normal above `limit`, exact far out in the tail."""
    return math.erfc((limit - normal.mu0) / normal.sigma / math.sqrt(2)) / 2


def fitted(mean: float, limit: float, late_share: float) -> TruncatedNormal:
    """The truncated normal with this mean and this share above `limit`, found by two nested bisections."""

    def with_mean(mu0: float) -> TruncatedNormal:
        low, high = mean * 1e-6, mean * 1e3
        for _ in range(80):
            sigma = (low + high) / 2
            low, high = (sigma, high) if TruncatedNormal(mu0, sigma).mean < mean else (low, sigma)
        return TruncatedNormal(mu0, low)

    low, high = -5 * mean, mean * (1 - 1e-9)  # the lower the uncut mean, the longer the tail
    for _ in range(80):
        mu0 = (low + high) / 2
        low, high = (mu0, high) if with_mean(mu0).late(limit) > late_share else (low, mu0)
    return with_mean(low)


PAPER_002 = TruncatedNormal(mu0=-0.1347, sigma=1.3128)  # fitted(1, 5, 1e-4)
