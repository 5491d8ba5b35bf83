"""A run that is branched at a moment: it stands still there, and goes on in its forks only.

The recorder, which sleeps anyway, waits for the moment too and makes the guest a template. Nothing of that reads a
clock, or fails, so no virtual time passes: a fork in which nothing is changed goes on as if there had been no moment.
Where something is changed, the recorder tells the agent.
"""

from __future__ import annotations

import ctypes
import os
import time

from harness.agent.guest import fork_here, read
from harness.exchange import Exchange

_CLOCK_MONOTONIC, _TIMER_ABSTIME = 1, 1
_BILLION = 1_000_000_000
_libc = ctypes.CDLL(None, use_errno=True)


class RevisionError(RuntimeError):
    """A change that cannot be made any more."""


class _TimerSpec(ctypes.Structure):
    _fields_ = (("every", ctypes.c_long * 2), ("first", ctypes.c_long * 2))


class Branching:
    """Made by the agent, used by the recorder, which is forked after that."""

    def __init__(self, files: Exchange) -> None:
        self._files = files
        self.changed, self._tell = os.pipe()  # to the agent: something is different from now on
        self._ahead_ns = time.time_ns() - time.monotonic_ns()  # read here, in all runs
        self.moment: int = _libc.timerfd_create(_CLOCK_MONOTONIC, os.O_CLOEXEC)  # can be read when it is there

    def set(self, at_ns: int) -> None:
        """It is this true time; 0: there is none."""
        seconds, rest = divmod(at_ns and at_ns - self._ahead_ns, _BILLION)
        spec = _TimerSpec((0, 0), (seconds, rest))
        if _libc.timerfd_settime(self.moment, _TIMER_ABSTIME, ctypes.byref(spec), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def stand_still(self) -> None:
        """It is there."""
        os.read(self.moment, 8)
        fork_here()
        if read(self._files.change_file):
            os.write(self._tell, b"c")
