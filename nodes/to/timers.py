"""The timers of the view control: T_stop for the others, T_hb for me, T_r' for what I said in a stop round or a join.

An entity that has been silent for T_hb sends an ACK PDU, so that silence means a stop.
"""

from __future__ import annotations

from collections.abc import Iterable

from nodes.st.core import Core, earliest
from nodes.to.options import ToOptions, ViewTiming


class Timers:
    """Who was heard when, and what is to be done when."""

    def __init__(self, core: Core, options: ToOptions) -> None:
        self._core = core
        timing = ViewTiming.of(options, core.timing, core.n, core.setting.slot_ns)
        self.stop, self.heartbeat = timing.stop, timing.heartbeat
        self.forget()

    def forget(self) -> None:
        """Nobody has to be heard, and nobody waits to hear from me."""
        self.hear_all()
        self._watch_at: int | None = None  # the earliest time at which a T_stop may have passed
        self._beating_since: int | None = None
        self._repeat_at: int | None = None

    @property
    def deadline(self) -> int | None:
        return earliest(self._watch_at, self._beat_at(), self._repeat_at)

    # The others

    def hear(self, j: int) -> None:
        """A PDU of E_j's current incarnation has come."""
        self.heard[j - 1] = self._core.now_ns

    def hear_all(self) -> None:
        """What was not heard until now does not count."""
        self.heard = [self._core.now_ns] * self._core.n

    def restart(self) -> None:
        """Restart all T_stop."""
        self.hear_all()
        self.watch_in(self.stop)

    def silent(self, whom: Iterable[int]) -> list[int]:
        """Whose T_stop has passed?"""
        return [j for j in whom if self._core.now_ns - self.heard[j - 1] >= self.stop]

    def watch_in(self, delay: int) -> None:
        self._watch_at = self._core.now_ns + delay

    def watch_for(self, whom: Iterable[int]) -> None:
        """Until the next T_stop of these can have passed."""
        now = self._core.now_ns
        self._watch_at = max(min([self.heard[j - 1] for j in whom], default=now) + self.stop, now + 1)

    def is_watch_due(self) -> bool:
        return self._watch_at is not None and self._core.now_ns >= self._watch_at

    # Myself

    def beat(self) -> None:
        """T_hb begins again; it does so too whenever I send something."""
        self._beating_since = self._core.now_ns

    def is_beat_due(self) -> bool:
        at = self._beat_at()
        return at is not None and self._core.now_ns >= at

    def _beat_at(self) -> int | None:
        if self._beating_since is None:
            return None
        return max(self._beating_since, self._core.spoke_ns) + self.heartbeat

    def repeat(self) -> None:
        """What I have just said may be lost: T_r' begins again."""
        self._repeat_at = self._core.next_repetition()

    def rest(self) -> None:
        """Nobody waits for what I said."""
        self._repeat_at = None

    def is_repetition_due(self) -> bool:
        return self._repeat_at is not None and self._core.now_ns >= self._repeat_at
