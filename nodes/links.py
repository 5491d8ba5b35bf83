"""How PDUs reach the network: raw Ethernet on the single channel, or UDP over IPv6. And NOTEs, to the loopback."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from nodes.wire import ETHERTYPE, UDP_PORT

_BROADCAST = b"\xff" * 6
_ETHERNET = struct.Struct("!6s6sH")
_PACKET_IGNORE_OUTGOING = 23
_SOL_PACKET = 263
_SO_RCVBUFFORCE = 33
_FRAME_MAX = 65_535


class LinkLayer(Protocol):
    """What the shell needs of a network."""

    def fileno(self) -> int:
        """For select."""

    def receive(self) -> bytes | None:
        """The PDU bytes of the next frame, or None when nothing waits."""

    def send(self, data: bytes, to: tuple[int, ...] | None) -> int:
        """Send to everybody (None) or to each of `to`; the number of frames that the kernel refused."""

    def set_buffer(self, size_bytes: int) -> None:
        """The kernel's receive buffer: what does not fit in it is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Where a node is on the network."""

    transport: str  # "channel" or "udp"
    interface: str
    mac: str
    addresses: Mapping[int, str]  # of every node
    group: str
    buffer_bytes: int = 4 * 1024 * 1024
    hop_limit: int = 32


def attach(where: Attachment) -> LinkLayer:
    """Open the link layer; in the node's namespace."""
    return Ethernet(where) if where.transport == "channel" else Udp(where)


class Ethernet:
    """Frames of our EtherType, always broadcast: there is one channel, and all hear everything, the sender included."""

    def __init__(self, where: Attachment) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETHERTYPE))
        # The local copy of a sent frame is not what the channel carries; its reflection is.
        self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        self._socket.bind((where.interface, ETHERTYPE))
        self.set_buffer(where.buffer_bytes)
        self._head = _ETHERNET.pack(_BROADCAST, bytes.fromhex(where.mac.replace(":", "")), ETHERTYPE)

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> bytes | None:
        return _receive(self._socket, _ETHERNET.size)

    def send(self, data: bytes, to: tuple[int, ...] | None) -> int:
        return _send(self._socket, self._head + data, None)

    def set_buffer(self, size_bytes: int) -> None:
        _set_buffer(self._socket, size_bytes)


class Udp:
    """IPv6 datagrams: multicast to the group for everybody, unicast for some."""

    def __init__(self, where: Attachment) -> None:
        index = socket.if_nametoindex(where.interface)
        self._socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        options = {
            socket.IPV6_MULTICAST_IF: index,
            socket.IPV6_MULTICAST_LOOP: 0,  # a machine handles its own copy itself
            socket.IPV6_MULTICAST_HOPS: where.hop_limit,
        }
        for option, value in options.items():
            self._socket.setsockopt(socket.IPPROTO_IPV6, option, value)
        self._socket.bind(("::", UDP_PORT))
        membership = socket.inet_pton(socket.AF_INET6, where.group) + struct.pack("@I", index)
        self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership)
        self.set_buffer(where.buffer_bytes)
        self._group = (where.group, UDP_PORT)
        self._addresses = {number: (address, UDP_PORT) for number, address in where.addresses.items()}

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> bytes | None:
        return _receive(self._socket, 0)

    def send(self, data: bytes, to: tuple[int, ...] | None) -> int:
        if to is None:
            return _send(self._socket, data, self._group)
        return sum([_send(self._socket, data, self._addresses[node]) for node in to])

    def set_buffer(self, size_bytes: int) -> None:
        _set_buffer(self._socket, size_bytes)


def _receive(sock: socket.socket, skip: int) -> bytes | None:
    while True:
        try:
            return sock.recv(_FRAME_MAX)[skip:]
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno not in (errno.ENETDOWN, errno.ECONNREFUSED):  # the link went down; or an ICMP error came
                raise


def _send(sock: socket.socket, data: bytes, to: tuple[str, int] | None) -> int:
    """A frame that the network does not take is lost there, like any other; all else is a bug."""
    try:
        if to is None:
            sock.send(data)
        else:
            sock.sendto(data, to)
    except OSError as error:
        lost = (errno.ENOBUFS, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EAGAIN)
        if error.errno not in lost:
            raise
        return 1
    return 0


def _set_buffer(sock: socket.socket, size_bytes: int) -> None:
    # The kernel doubles the value to account for its own bookkeeping.
    with contextlib.suppress(PermissionError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, size_bytes // 2)


class Loopback:
    """Where NOTEs go: the node's own loopback, where nobody listens but the capture."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # protocol 0: for sending only
        self._socket.bind(("lo", 0))
        self._head = _ETHERNET.pack(bytes(6), bytes(6), ETHERTYPE)

    def send(self, data: bytes) -> None:
        while True:
            try:
                self._socket.send(self._head + data)
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                select.select([], [self._socket], [], 0.001)
