"""ppoll(2): wait for any of some descriptors, however high their numbers, to the nanosecond.

select(2) takes no descriptor above 1,023, which an agent with 200 nodes has, and rounds to microseconds; poll(2) and
epoll round to milliseconds.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence

_POLLIN = 1
_BILLION = 1_000_000_000
_libc = ctypes.CDLL(None, use_errno=True)


class _Watched(ctypes.Structure):
    _fields_ = (("descriptor", ctypes.c_int), ("wanted", ctypes.c_short), ("found", ctypes.c_short))


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def readable(descriptors: Sequence[int], timeout_ns: int | None) -> list[int]:
    """Those that can be read, or have ended; none if the time is over first. None waits for ever."""
    watched = (_Watched * len(descriptors))(*[_Watched(descriptor, _POLLIN, 0) for descriptor in descriptors])
    limit = None if timeout_ns is None else ctypes.byref(_Timespec(*divmod(max(timeout_ns, 0), _BILLION)))
    if _libc.ppoll(watched, ctypes.c_ulong(len(descriptors)), limit, None) < 0:
        number = ctypes.get_errno()
        if number == errno.EINTR:  # stopped and continued: look again
            return []
        raise OSError(number, os.strerror(number))
    return [one.descriptor for one in watched if one.found]
