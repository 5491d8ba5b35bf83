"""A node's clocks, driven by the harness: one tells the time and can be set, the other measures lengths of time only.

Elsewhere than in our kernel time namespaces shift by a constant only, and a faked libc clock breaks sleeping; so a node
reads its clocks from these objects, and the harness *measures* the skew in the captures. (Programs of other people
cannot: their keeper hands it to their time namespace.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

_BILLION = 1_000_000_000

Kind = Literal["local", "steady"]


@dataclass(slots=True)
class Steady:
    """Runs a little too fast or too slowly, and nobody sets it (CLOCK_MONOTONIC). `drift_ppb` is in parts per 10^9."""

    drift_ppb: int = 0
    since_ns: int = 0  # true time from which the drift counts
    gained_ns: int = 0  # before

    def shows(self, true_ns: int) -> int:
        """What the clock shows at a true time."""
        return true_ns + self.gained_ns + (true_ns - self.since_ns) * self.drift_ppb // _BILLION

    def true(self, shown_ns: int) -> int:
        """The first true time at which the clock shows at least this."""
        # Without the floor: shown = true (1 + d) + gained - since d
        guess = ((shown_ns - self.gained_ns) * _BILLION + self.since_ns * self.drift_ppb) // (_BILLION + self.drift_ppb)
        while self.shows(guess) < shown_ns:
            guess += 1
        while self.shows(guess - 1) >= shown_ns:
            guess -= 1
        return guess

    def change(self, true_ns: int, drift_ppb: int) -> None:
        """Run with this drift from now on."""
        self.gained_ns = self.shows(true_ns) - true_ns
        self.drift_ppb, self.since_ns = drift_ppb, true_ns


@dataclass(slots=True)
class Clock:
    """The local clock: the steady one, and how far it was set ahead of that."""

    steady: Steady = field(default_factory=Steady)
    ahead_ns: int = 0

    @property
    def drift_ppb(self) -> int:
        return self.steady.drift_ppb

    def shows(self, true_ns: int) -> int:
        """What the clock shows at a true time."""
        return self.steady.shows(true_ns) + self.ahead_ns

    def true(self, shown_ns: int) -> int:
        """The first true time at which the clock shows at least this."""
        return self.steady.true(shown_ns - self.ahead_ns)

    def change(self, true_ns: int, offset_ns: int | None = None, drift_ppb: int | None = None) -> None:
        """Step to a new offset and run with a new drift from now on; what is not given stays as it is now."""
        self.steady.change(true_ns, self.drift_ppb if drift_ppb is None else drift_ppb)
        if offset_ns is not None:
            self.ahead_ns = true_ns + offset_ns - self.steady.shows(true_ns)

    def of(self, kind: Kind) -> Clock | Steady:
        """The one of the two by which a machine lives (nodes/facet.py)."""
        return self.steady if kind == "steady" else self
