"""A node's local clock: true time with an offset and a drift, driven by the harness.

Elsewhere than in our kernel time namespaces shift by a constant only, and a faked libc clock breaks sleeping; so a node
reads its clock from this one object, and the harness *measures* the skew in the captures. (Programs of other people
cannot: their keeper hands it to their time namespace.)
"""

from __future__ import annotations

from dataclasses import dataclass

_BILLION = 1_000_000_000


@dataclass(slots=True)
class Clock:
    """local = true + offset + drift since the last change. `drift_ppb` is in parts per 10^9."""

    offset_ns: int = 0
    drift_ppb: int = 0
    since_ns: int = 0  # true time from which the drift counts

    def local(self, true_ns: int) -> int:
        """What the clock shows at a true time."""
        return true_ns + self.offset_ns + (true_ns - self.since_ns) * self.drift_ppb // _BILLION

    def true(self, local_ns: int) -> int:
        """The first true time at which the clock shows at least this."""
        # Without the floor: local = true (1 + d) + offset - since d
        guess = ((local_ns - self.offset_ns) * _BILLION + self.since_ns * self.drift_ppb) // (_BILLION + self.drift_ppb)
        while self.local(guess) < local_ns:
            guess += 1
        while self.local(guess - 1) >= local_ns:
            guess -= 1
        return guess

    def change(self, true_ns: int, offset_ns: int | None = None, drift_ppb: int | None = None) -> None:
        """Step to a new offset and run with a new drift from now on; what is not given stays as it is now."""
        now = self.local(true_ns) - true_ns
        self.offset_ns = now if offset_ns is None else offset_ns
        self.drift_ppb = self.drift_ppb if drift_ppb is None else drift_ppb
        self.since_ns = true_ns
