"""Faults of chosen PDUs: "drop the 2nd RST_PAK of n3 on its way to n1".

The kernel cannot match a PDU's own fields, so frames towards a node with such a fault are redirected, before the
port's netem, into a device on which one process listens; it lets them pass, drops, delays or doubles them, and puts
them back on the same port, marked so that they are not redirected again. In virtual time this detour costs nothing;
the other nodes' ports are left alone.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.agent.frames import ETH_P_ALL, FRAME_MAX, PACKET_OUTGOING, pdu_of_frame
from harness.agent.notes import HarnessNotes
from harness.agent.processes import Helper, told
from harness.agent.traffic import MARK
from harness.chosen import Rule, taking
from nodes.waiting import readable

_SO_MARK = 36


def start_injector(devices: Mapping[str, str], rules: Sequence[Rule], prepare: Callable[[], None]) -> Helper:
    """Fork the injector's process; `prepare` is the first thing that it does."""

    def work(ready: int, released: int) -> None:
        prepare()
        _Injector(devices, rules).run(ready, released)

    return Helper("the injector of PDU faults", work, [rule.fault for rule in rules])


@dataclass(frozen=True, slots=True)
class Revision:
    """What an injector does from now on."""

    devices: Mapping[str, str]  # more of them
    rules: Sequence[Rule]  # all of them
    reseeded: bool


class _Injector:
    def __init__(self, devices: Mapping[str, str], found: Sequence[Rule]) -> None:
        self._found = found
        self._listen: dict[int, tuple[socket.socket, str]] = {}
        self._out: dict[str, socket.socket] = {}
        self._at(devices)
        self._held: list[tuple[int, int, str, bytes]] = []  # due, order, port, frame
        self._order = 0
        self._notes = HarnessNotes(incarnation=2)

    def _at(self, devices: Mapping[str, str]) -> None:
        for port, device in devices.items():
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETH_P_ALL))
            sock.bind((device, ETH_P_ALL))
            self._listen[sock.fileno()] = (sock, port)
            out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            out.setsockopt(socket.SOL_SOCKET, _SO_MARK, MARK)
            out.bind((port, 0))
            self._out[port] = out

    def run(self, ready: int, released: int) -> None:
        os.write(ready, b"r")
        while True:
            now = time.time_ns()
            while self._held and self._held[0][0] <= now:
                _, _, port, frame = heapq.heappop(self._held)
                self._put(port, frame)
            wait_ns = self._held[0][0] - now if self._held else None
            for descriptor in readable([*self._listen, released], wait_ns):
                if descriptor == released:
                    self._obey(told(released))
                    continue
                sock, port = self._listen[descriptor]
                self._drain(sock, port)

    def _obey(self, word: Any) -> None:
        """A rule is released; or there are other rules, at some more ports. One that was there goes on as it was."""
        if isinstance(word, int):
            self._found[word].starts_ns = time.time_ns()
            return
        revision: Revision = word
        self._at(revision.devices)
        before = list(self._found)
        self._found = revision.rules
        for rule in self._found:
            for old in before:
                if (old.fault, old.port) == (rule.fault, rule.port):
                    before.remove(old)
                    rule.seen, rule.starts_ns = old.seen, old.starts_ns
                    if not revision.reseeded:
                        rule.draws = old.draws
                    break

    def _drain(self, sock: socket.socket, port: str) -> None:
        while True:
            try:
                frame, origin = sock.recvfrom(FRAME_MAX)
            except BlockingIOError:
                return
            if origin[2] == PACKET_OUTGOING:
                self._judge(frame, port)

    def _judge(self, frame: bytes, port: str) -> None:
        pdu = pdu_of_frame(frame)
        now = time.time_ns()
        rule = None if pdu is None else taking([one for one in self._found if one.port == port], pdu, now)
        if rule is None:
            self._put(port, frame)
            return
        self._notes.fault(rule.note, values=(rule.seen,))
        for copy, late_ns in enumerate(rule.fault.copies_ns()):
            if copy or late_ns:  # a second copy comes behind all that is there now
                self._hold(now + late_ns, port, frame)
            else:
                self._put(port, frame)

    def _put(self, port: str, frame: bytes) -> None:
        with contextlib.suppress(OSError):  # a port that is down: the frame is lost there, as it would be without us
            self._out[port].send(frame)

    def _hold(self, until_ns: int, port: str, frame: bytes) -> None:
        self._order += 1
        heapq.heappush(self._held, (until_ns, self._order, port, frame))
