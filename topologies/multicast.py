"""Multicast forwarding in a router's kernel: what a multicast routing daemon would hold, per family."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping

from topologies.plan import Forward

# linux/mroute.h and linux/mroute6.h: the numbers are the same
_INIT, _ADD_INTERFACE, _ADD_ENTRY = 200, 202, 204
_INTERFACE = struct.Struct("@HBBIi4x")  # number, flags, threshold, rate limit, index
_INTERFACE6 = struct.Struct("@HBBHI")  # number, flags, threshold, index, rate limit
_BY_INDEX = 8  # a flag
_ENTRY = struct.Struct("@4s4sH32s2x16x")  # source, group, incoming, a threshold per interface
_INTERFACES_MAX = 32
_QUESTION_BYTES = 128


class Forwarding:
    """IPv6's of one router, over these interfaces (name -> index) of the current namespace, while this exists."""

    family, _level, _protocol = socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPPROTO_ICMPV6
    # How a question of the kernel is told from what else comes, and where its addresses are: MRT6MSG_NOCACHE.
    _question_at, _question, _source_at, _address_bytes = 0, b"\0\1", 8, 16

    def __init__(self, interfaces: Mapping[str, int]) -> None:
        if len(interfaces) > _INTERFACES_MAX:
            raise ValueError(f"a multicast router has at most {_INTERFACES_MAX} interfaces, not {len(interfaces)}")
        self.control = socket.socket(self.family, socket.SOCK_RAW, self._protocol)
        self._set(_INIT, struct.pack("@i", 1))
        self._number = {name: number for number, name in enumerate(interfaces)}
        for name, index in interfaces.items():
            self._set(_ADD_INTERFACE, self._interface(self._number[name], index))

    def add(self, entry: Forward) -> None:
        """An (S,G) entry."""
        source, group = (socket.inet_pton(self.family, one) for one in (entry.source, entry.group))
        outgoing = [self._number[name] for name in entry.outgoing]
        self._set(_ADD_ENTRY, self._entry(source, group, self._number[entry.incoming], outgoing))

    def asked(self) -> tuple[str, str] | None:
        """The source and the group of a packet that waits for an entry; None: something else has come."""
        data = self.control.recv(_QUESTION_BYTES)
        if not data.startswith(self._question, self._question_at):
            return None
        at, size = self._source_at, self._address_bytes
        source, group = (socket.inet_ntop(self.family, data[one : one + size]) for one in (at, at + size))
        return source, group

    def _set(self, option: int, value: bytes) -> None:
        self.control.setsockopt(self._level, option, value)

    def _interface(self, number: int, index: int) -> bytes:
        return _INTERFACE6.pack(number, 0, 1, index, 0)

    def _entry(self, source: bytes, group: bytes, incoming: int, outgoing: list[int]) -> bytes:
        addresses = b"".join(struct.pack("@HHI16sI", self.family, 0, 0, one, 0) for one in (source, group))
        return addresses + struct.pack("@H2x8I", incoming, sum(1 << one for one in outgoing), *[0] * 7)


class Forwarding4(Forwarding):
    """IPv4's."""

    family, _level, _protocol = socket.AF_INET, socket.IPPROTO_IP, socket.IPPROTO_IGMP
    _question_at, _question, _source_at, _address_bytes = 8, b"\1\0", 12, 4  # IGMPMSG_NOCACHE

    def _interface(self, number: int, index: int) -> bytes:
        return _INTERFACE.pack(number, _BY_INDEX, 1, 0, index)

    def _entry(self, source: bytes, group: bytes, incoming: int, outgoing: list[int]) -> bytes:
        return _ENTRY.pack(source, group, incoming, bytes(int(one in outgoing) for one in range(_INTERFACES_MAX)))
