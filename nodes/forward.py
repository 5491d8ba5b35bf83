"""A time that never runs back, for machines that measure lengths only: a clock that is set back stops no timer.

Invariant: no deadline lies further ahead of the local clock, once that has been read, than it lay when it was set.
"""

from __future__ import annotations


class Forward:
    """Local time plus all by which it was set back so far."""

    def __init__(self) -> None:
        self._shift_ns = 0
        self._last_ns = 0

    def time_ns(self, local_ns: int) -> int:
        """Now."""
        if local_ns + self._shift_ns < self._last_ns:
            self._shift_ns = self._last_ns - local_ns
        self._last_ns = local_ns + self._shift_ns
        return self._last_ns

    def local_ns(self, deadline_ns: int | None) -> int | None:
        """A deadline, as the local clock will show it."""
        return None if deadline_ns is None else deadline_ns - self._shift_ns
