"""How PDUs reach the network: raw Ethernet on the single channel, or UDP over IPv6. And NOTEs, to the loopback."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodes.messages import Slots
from nodes.wire import ETHERTYPE, UDP_PORT

_BROADCAST = b"\xff" * 6
_ETHERNET = struct.Struct("!6s6sH")
_PACKET_IGNORE_OUTGOING = 23
_SOL_PACKET = 263
_SO_RCVBUFFORCE = 33
_FRAME_MAX = 65_536
_SLOTS = 32
# What a network may answer when it does not take a frame: the frame is lost there, like any other.
_LOST = {
    errno.ENOBUFS,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
    errno.EADDRNOTAVAIL,
    errno.EAGAIN,
    errno.ECONNREFUSED,
    errno.EMSGSIZE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Where a node is on the network."""

    transport: str  # "channel", "udp" or "tcp"
    interface: str
    mac: str
    addresses: Mapping[int, str]  # of every node
    for_programs: Sequence[tuple[str, str]]  # every node and its addresses, IPv4 first, for programs of other people
    group: str
    buffer_bytes: int = 4 * 1024 * 1024
    hop_limit: int = 32


class Link:
    """A socket to the network, and what stands in front of a PDU there."""

    def __init__(
        self,
        sock: socket.socket,
        head: bytes,
        buffer_bytes: int,
        everybody: bytes | None = None,
        addresses: Mapping[int, bytes] | None = None,
    ) -> None:
        """With socket addresses of everybody together and of each node, if frames are addressed so."""
        self.socket = sock
        self._head = head
        self._everybody = everybody
        self._addresses = addresses or {}
        self._in = Slots(_SLOTS, _FRAME_MAX)
        self._out = Slots(_SLOTS, _FRAME_MAX)
        self.set_buffer(buffer_bytes)

    def receive(self) -> list[bytes]:
        """The PDU bytes of the frames that wait (some of them, if there are very many)."""
        skip = len(self._head)
        try:
            return [frame[skip:] for frame in self._in.receive(self.socket.fileno())]
        except OSError as error:
            if error.errno not in _LOST:  # no carrier, or an ICMP error came back
                raise
            return []

    def receive_one(self) -> list[bytes]:
        """The next one at most."""
        with contextlib.suppress(BlockingIOError):
            return [self.socket.recv(_FRAME_MAX)[len(self._head) :]]
        return []

    def send(self, pdus: Sequence[tuple[bytes, tuple[int, ...] | None]]) -> int:
        """Send PDUs, each to everybody (None) or to each of some nodes; how many frames the network did not take."""
        frames: list[bytes] = []
        names: list[bytes] = []
        for data, to in pdus:
            copies = [self._everybody] if to is None or not self._addresses else [self._addresses[node] for node in to]
            for name in copies:
                frames.append(self._head + data)
                if name is not None:
                    names.append(name)
        return _send_all(self._out, self.socket.fileno(), frames, names or None)

    def set_buffer(self, size_bytes: int) -> None:
        """The kernel's receive buffer: what does not fit in it is lost. (The kernel doubles the value it is given.)"""
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, size_bytes // 2)


def attach(where: Attachment) -> Link:
    """Open the link; in the node's namespace."""
    return _ethernet(where) if where.transport == "channel" else _udp(where)


def _ethernet(where: Attachment) -> Link:
    """Frames of our EtherType, always broadcast: there is one channel, and all hear everything, the sender included."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    # The local copy of a sent frame is not what the channel carries; its reflection is.
    sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    sock.bind((where.interface, ETHERTYPE))
    head = _ETHERNET.pack(_BROADCAST, bytes.fromhex(where.mac.replace(":", "")), ETHERTYPE)
    return Link(sock, head, where.buffer_bytes)


def _udp(where: Attachment) -> Link:
    """IPv6 datagrams: multicast to the group for everybody, unicast for some."""
    index = socket.if_nametoindex(where.interface)
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    options = {
        socket.IPV6_MULTICAST_IF: index,
        socket.IPV6_MULTICAST_LOOP: 0,  # a machine handles its own copy itself
        socket.IPV6_MULTICAST_HOPS: where.hop_limit,
    }
    for option, value in options.items():
        sock.setsockopt(socket.IPPROTO_IPV6, option, value)
    sock.bind(("::", UDP_PORT))
    membership = socket.inet_pton(socket.AF_INET6, where.group) + struct.pack("@I", index)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership)
    addresses = {number: _socket_address(address) for number, address in where.addresses.items()}
    return Link(sock, b"", where.buffer_bytes, _socket_address(where.group), addresses)


def _socket_address(address: str) -> bytes:
    """struct sockaddr_in6."""
    return (
        struct.pack("@H", socket.AF_INET6)
        + struct.pack("!HI", UDP_PORT, 0)
        + socket.inet_pton(socket.AF_INET6, address)
        + struct.pack("@I", 0)
    )


def _send_all(slots: Slots, descriptor: int, frames: Sequence[bytes], names: Sequence[bytes] | None) -> int:
    lost = done = 0
    while done < len(frames):
        end = done + slots.count
        try:
            done += slots.send(descriptor, frames[done:end], None if names is None else names[done:end])
        except OSError as error:
            if error.errno not in _LOST:
                raise
            lost += 1
            done += 1
    return lost


class Loopback:
    """Where NOTEs go: the node's own loopback, where nobody listens but the capture."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # protocol 0: for sending only
        self._socket.bind(("lo", 0))
        self._head = _ETHERNET.pack(bytes(6), bytes(6), ETHERTYPE)
        self._slots = Slots(_SLOTS, _FRAME_MAX)

    def send(self, notes: Sequence[bytes]) -> None:
        """Send all of them; the loopback loses nothing."""
        if _send_all(self._slots, self._socket.fileno(), [self._head + note for note in notes], None):
            raise RuntimeError("the loopback did not take a NOTE")
