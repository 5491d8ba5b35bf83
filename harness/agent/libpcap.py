"""libpcap, through ctypes: many capture handles in one process, nanosecond stamps, no per-packet Python.

One tcpdump per interface would cost a process start each and a wake-up and a write per frame. Here the kernel fills
memory-mapped rings, libpcap writes whole blocks of them, and the process sleeps in between.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

from captures.recorded import Recorded

_ERROR_SIZE = 256
_NANOSECONDS = 1
DLT_LINUX_SLL2 = 276
SNAPLEN = 262_144
_FULLY_BUFFERED = 0
_BUFFER_BYTES = 64 * 1024  # of a file: libc's own would be 4 kB, and each write is a call to the host


class PcapError(RuntimeError):
    """libpcap refused, with its own words."""


class _Stat(ctypes.Structure):
    _fields_ = (("received", ctypes.c_uint), ("dropped", ctypes.c_uint), ("if_dropped", ctypes.c_uint))


def _load() -> Any:
    # Not find_library(): it runs gcc or ldconfig, and this name is libpcap's since 2000.
    lib = ctypes.CDLL("libpcap.so.0.8")
    for name in ("pcap_create", "pcap_dump_open", "pcap_dump_file", "pcap_geterr"):
        getattr(lib, name).restype = ctypes.c_void_p
    lib.pcap_geterr.restype = ctypes.c_char_p
    lib.pcap_statustostr.restype = ctypes.c_char_p
    for name in (
        "pcap_set_snaplen",
        "pcap_set_timeout",
        "pcap_set_buffer_size",
        "pcap_set_tstamp_precision",
        "pcap_set_datalink",
    ):
        getattr(lib, name).argtypes = (ctypes.c_void_p, ctypes.c_int)
    for name in (
        "pcap_activate",
        "pcap_get_selectable_fd",
        "pcap_geterr",
        "pcap_close",
        "pcap_dump_close",
        "pcap_dump_file",
        "pcap_dump_flush",
    ):
        getattr(lib, name).argtypes = (ctypes.c_void_p,)
    lib.pcap_create.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
    lib.pcap_setnonblock.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
    lib.pcap_dump_open.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    lib.pcap_dispatch.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    lib.pcap_stats.argtypes = (ctypes.c_void_p, ctypes.POINTER(_Stat))
    return lib


_lib = _load()
_libc = ctypes.CDLL(None)


class Capture:
    """One device of the namespace this thread is in now, captured into one file."""

    def __init__(self, device: str, path: str, block_ms: int, buffer_bytes: int) -> None:
        error = ctypes.create_string_buffer(_ERROR_SIZE)
        self._handle = _lib.pcap_create(device.encode(), error)
        if not self._handle:
            raise PcapError(f"{device}: {error.value.decode()}")
        self._device = device
        self._check(_lib.pcap_set_snaplen(self._handle, SNAPLEN))
        self._check(_lib.pcap_set_timeout(self._handle, block_ms))
        self._check(_lib.pcap_set_buffer_size(self._handle, buffer_bytes))
        self._check(_lib.pcap_set_tstamp_precision(self._handle, _NANOSECONDS))
        self._check(_lib.pcap_activate(self._handle))
        if device == "any":  # one file for all interfaces of a node keeps order, interface and direction
            self._check(_lib.pcap_set_datalink(self._handle, DLT_LINUX_SLL2))
        if _lib.pcap_setnonblock(self._handle, 1, error) < 0:
            raise PcapError(f"{device}: {error.value.decode()}")
        self._dump = _lib.pcap_dump_open(self._handle, path.encode())
        if not self._dump:
            raise PcapError(f"{path}: {_lib.pcap_geterr(self._handle).decode()}")
        file = ctypes.c_void_p(_lib.pcap_dump_file(self._dump))
        self._buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
        _libc.setvbuf(file, self._buffer, _FULLY_BUFFERED, ctypes.c_size_t(_BUFFER_BYTES))
        self.descriptor: int = _lib.pcap_get_selectable_fd(self._handle)
        self._written = 0

    def _check(self, status: int) -> None:
        if status < 0:
            raise PcapError(f"{self._device}: {_lib.pcap_geterr(self._handle).decode() or status}")

    def drain(self) -> int:
        """Write what the kernel has ready; the number of frames."""
        count: int = _lib.pcap_dispatch(self._handle, -1, _lib.pcap_dump, self._dump)
        self._check(count)
        self._written += count
        return count

    def close(self) -> Recorded:
        """Flush and close the file."""
        stat = _Stat()
        self._check(_lib.pcap_stats(self._handle, ctypes.byref(stat)))
        status = _lib.pcap_dump_flush(self._dump)
        _lib.pcap_dump_close(self._dump)
        _lib.pcap_close(self._handle)
        if status < 0:
            raise PcapError(f"{self._device}: the capture could not be written (is the disk full?)")
        return Recorded(self._written, stat.received, stat.dropped, stat.if_dropped)
