"""CPU time of this process and of all that come of it: forks of a template are waited for by nobody, so that no other
account of this machine names theirs."""

from __future__ import annotations

import ctypes
import os
import struct

_PERF_EVENT_OPEN = 298  # of x86-64
_SOFTWARE, _TASK_CLOCK = 1, 1
_INHERIT, _USER_ONLY = 1 << 1, 3 << 5  # what an ordinary user may count; this clock counts all the same
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
_libc = ctypes.CDLL(None, use_errno=True)


class CpuClock:
    """Counts from here on, in processes that are started from here on."""

    def __init__(self) -> None:
        wanted = _ATTRIBUTES.pack(_SOFTWARE, _ATTRIBUTES.size, _TASK_CLOCK, 0, 0, 0, _INHERIT | _USER_ONLY, 0, 0, 0)
        self._counter: int = _libc.syscall(_PERF_EVENT_OPEN, wanted, 0, -1, -1, 0)

    def seconds(self) -> float:
        """So far; not a number where a machine does not let us count."""
        return int.from_bytes(os.read(self._counter, 8), "little") / 1e9 if self._counter >= 0 else float("nan")

    def close(self) -> None:
        """Count no more."""
        if self._counter >= 0:
            os.close(self._counter)
