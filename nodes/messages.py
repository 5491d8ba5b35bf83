"""recvmmsg(2) and sendmmsg(2): many frames in one system call.

In the private kernel a system call costs more than everything Python does between two of them, so the number of
calls per PDU decides how fast a run is.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence

_MSG_DONTWAIT = 0x40
_libc = ctypes.CDLL(None, use_errno=True)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    _fields_ = (("header", _Header), ("length", ctypes.c_uint))


class Slots:
    """Room for `count` messages of up to `size` bytes, used again and again; for one direction."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        # Memory that is not there until it is used: a buffer of ctypes is filled with zeros, and each page of it costs
        # a fault, which in the private kernel is dearer than a system call.
        self._room = mmap.mmap(-1, count * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._view = memoryview(self._room)
        self._vectors = (_Vector * count)()
        self._messages = (_Message * count)()
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._room))
        for number in range(count):
            self._vectors[number].base = start + number * size
            self._vectors[number].length = size
            self._messages[number].header.vectors = ctypes.pointer(self._vectors[number])
            self._messages[number].header.vector_count = 1

    def receive(self, descriptor: int) -> list[bytes]:
        """All messages that wait, up to the number of slots; none is an empty list. Longer ones are cut."""
        count = _libc.recvmmsg(descriptor, self._messages, self.count, _MSG_DONTWAIT, None)
        if count < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        view, size, messages = self._view, self.size, self._messages
        return [bytes(view[n * size : n * size + messages[n].length]) for n in range(count)]

    def send(self, descriptor: int, frames: Sequence[bytes], names: Sequence[bytes] | None = None) -> int:
        """Send up to `count` messages, to these socket addresses if given; how many the kernel took, at least one."""
        view, size = self._view, self.size
        for number, frame in enumerate(frames):
            begin = number * size
            view[begin : begin + len(frame)] = frame
            self._vectors[number].length = len(frame)
            if names is not None:
                header = self._messages[number].header
                header.name = ctypes.cast(ctypes.c_char_p(names[number]), ctypes.c_void_p)
                header.name_length = len(names[number])
        count: int = _libc.sendmmsg(descriptor, self._messages, len(frames), 0)
        if count < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return count
