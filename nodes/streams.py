"""How PDUs travel over TCP: a connection of its own for every PDU and receiver, on which one PDU comes back; then it
is closed by the one who opened it. To a node this is a link like the others (nodes/links.py).

A PDU for a node that waits for an answer goes back on the oldest of its connections that wait; any other opens one.

TCP is shown at its best: an acknowledgement waits for the answer and goes with it, as far as the kernel lets it.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.links import Attachment
from nodes.wire import HEADER, UDP_PORT

_BACKLOG = 1024
_READ_MAX = 65_536
_LENGTH_AT = 6  # of a PDU's header


@dataclass(slots=True)
class _Stream:
    """One connection: bytes that have come, and those that must still go."""

    socket: socket.socket
    node: int
    opened: bool  # by us
    came: bytes = b""
    rest: bytes = b""

    def take(self) -> bytes | None:
        """The next whole PDU."""
        if len(self.came) < HEADER.size:
            return None
        length = max(HEADER.size, int.from_bytes(self.came[_LENGTH_AT : _LENGTH_AT + 2], "big"))
        if len(self.came) < length:
            return None
        pdu, self.came = self.came[:length], self.came[length:]
        return pdu


class Streams:
    """All connections of a node, behind one descriptor to wait for."""

    def __init__(self, where: Attachment) -> None:
        self.socket = select.epoll()
        self._addresses = dict(where.addresses)
        self._nodes = {address: node for node, address in where.addresses.items()}
        self._streams: dict[int, _Stream] = {}
        self._owed: dict[int, deque[_Stream]] = defaultdict(deque)  # node -> connections that wait for our answer
        self._listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.set_buffer(where.buffer_bytes)
        self._listener.bind(("::", UDP_PORT))
        self._listener.listen(_BACKLOG)
        self.socket.register(self._listener.fileno(), select.EPOLLIN)

    def receive(self) -> list[bytes]:
        """The PDUs that have come in whole."""
        found: list[bytes] = []
        for descriptor, events in self.socket.poll(0):
            if descriptor == self._listener.fileno():
                self._accept()
            elif descriptor in self._streams:
                stream = self._streams[descriptor]
                if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                    found += self._read(stream)
                elif stream.rest:
                    self._write(stream)
        return found

    def receive_one(self) -> list[bytes]:
        """A stream has no frames that could be lost one by one: a slow reader reads what there is."""
        return self.receive()

    def send(self, pdus: Sequence[tuple[bytes, tuple[int, ...] | None]]) -> int:
        """Send each to everybody (None) or to each of some nodes; how many could not even be tried."""
        failed = 0
        for data, to in pdus:
            for node in self._addresses if to is None else to:
                stream = self._owed[node].popleft() if self._owed[node] else self._open(node)
                if stream is None:
                    failed += 1
                    continue
                stream.rest += data
                if not stream.opened:
                    self._write(stream)
        return failed

    def set_buffer(self, size_bytes: int) -> None:
        """The kernel sizes the buffers of streams by itself, from this on."""
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size_bytes // 2)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                sock, address = self._listener.accept()
                sock.setblocking(False)
                node = self._nodes.get(address[0])
                if node is None:
                    sock.close()
                    continue
                self._watch(_Stream(sock, node, opened=False), select.EPOLLIN)

    def _open(self, node: int) -> _Stream | None:
        sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            code = sock.connect_ex((self._addresses[node], UDP_PORT))
        except OSError as error:
            code = error.errno or errno.EIO
        if code not in (0, errno.EINPROGRESS):
            sock.close()
            return None
        return self._watch(_Stream(sock, node, opened=True), select.EPOLLIN | select.EPOLLOUT)

    def _watch(self, stream: _Stream, events: int) -> _Stream:
        stream.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        self._streams[stream.socket.fileno()] = stream
        self.socket.register(stream.socket.fileno(), events)
        return stream

    def _write(self, stream: _Stream) -> None:
        try:
            stream.rest = stream.rest[stream.socket.send(stream.rest) :]
        except BlockingIOError:
            pass
        except OSError:
            self._close(stream)
            return
        wanted = select.EPOLLIN | (select.EPOLLOUT if stream.rest else 0)
        self.socket.modify(stream.socket.fileno(), wanted)

    def _read(self, stream: _Stream) -> list[bytes]:
        try:
            data = stream.socket.recv(_READ_MAX)
        except BlockingIOError:
            return []
        except OSError:  # refused, reset, given up by the kernel
            data = b""
        if not data:
            self._close(stream)
            return []
        stream.came += data
        found = []
        while (pdu := stream.take()) is not None:
            found.append(pdu)
            if stream.opened:
                self._close(stream)  # this was the answer
                break
            self._owed[stream.node].append(stream)
        return found

    def _close(self, stream: _Stream) -> None:
        descriptor = stream.socket.fileno()
        del self._streams[descriptor]
        self.socket.unregister(descriptor)
        stream.socket.close()
        with contextlib.suppress(ValueError):
            self._owed[stream.node].remove(stream)
