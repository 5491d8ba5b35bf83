"""Outsiders at work: a process on each host that is no member and has faults of kind forge.

It is attached to the network like a node, joins the group, and so hears what is sent to everybody; it keeps the
latest PDU that each of its faults asks for, and sends what they say when they say it. The address under its packets
is its own; what stands in them is whatever the scenario wants.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.agent.notes import HarnessNotes
from harness.agent.processes import Helper, told
from harness.scenario.faults import Fault
from harness.scenario.faults.forge import Forge
from harness.scenario.forgeries import Fields, changed, made, sized
from nodes.links import Attachment, Link, attach
from nodes.waiting import readable
from nodes.wire import Pdu, WireError, decode_untrusted, encode
from topologies.mininet_network import NamespaceNode


@dataclass(slots=True)
class _Forgery:
    """One fault, and what it has heard."""

    fault: Forge
    about: str  # for the NOTE
    heard: Pdu | None = None
    times: list[int] = field(default_factory=list)  # true, those still to come

    def begin(self, at_ns: int) -> None:
        """All of it is sent from this (true) time on."""
        self.times = [at_ns + turn * self.fault.every_ns for turn in range(self.fault.count)]

    def datagram(self, protocol: str) -> bytes | None:
        """What goes out now; nothing if nothing was heard yet."""
        fault = self.fault
        if fault.raw is not None:
            return sized(fault.raw, fault.size)
        pdu = made(fault.pdu, protocol) if fault.pdu is not None else self.heard
        if pdu is None:
            return None
        return sized(encode(changed(pdu, fault.set_ or Fields())), fault.size)


def forgeries(faults: Sequence[Fault], host: str, t0_ns: int) -> list[_Forgery]:
    """What a host has to do."""
    work = [
        _Forgery(one, f"from {host} {one.what()}".strip())
        for one in faults
        if isinstance(one, Forge) and one.from_ == host
    ]
    for one in work:
        if one.fault.when is None:
            one.begin(t0_ns + one.fault.at_ns)
    return work


def start_forger(
    node: NamespaceNode, attachment: Attachment, work: Sequence[_Forgery], protocol: str, incarnation: int
) -> Helper:
    """Fork a host's process; it is attached when this returns."""

    def begin(ready: int, released: int) -> None:
        notes = HarnessNotes(incarnation)  # to the builder's loopback: nothing of ours is on the host's
        with node.entered():
            _Forger(attach(attachment), notes, work, protocol, int(node.name[1:])).run(ready, released)

    return Helper(f"the outsider at {node.name}", begin, [one.fault for one in work])


class _Forger:
    def __init__(self, link: Link, notes: HarnessNotes, work: Sequence[_Forgery], protocol: str, me: int) -> None:
        self._link, self._notes, self._work, self._protocol, self._me = link, notes, work, protocol, me

    def run(self, ready: int, released: int) -> None:
        os.write(ready, b"r")
        while True:
            now = time.time_ns()
            for one in self._work:
                while one.times and one.times[0] <= now:
                    del one.times[0]
                    self._send(one)
            due = min((one.times[0] for one in self._work if one.times), default=None)
            listen = [self._link.socket.fileno(), released]
            for descriptor in readable(listen, None if due is None else due - time.time_ns()):
                if descriptor == released:
                    self._work[told(released)].begin(time.time_ns())
                else:
                    self._hear()

    def _hear(self) -> None:
        for data in self._link.receive():
            try:
                pdu = decode_untrusted(data)
            except WireError:
                continue
            for one in self._work:
                if one.fault.heard is not None and one.fault.heard.matches(pdu):
                    one.heard = pdu

    def _send(self, one: _Forgery) -> None:
        data = one.datagram(self._protocol)
        about = one.about if data is not None else f"{one.about}: nothing heard yet"
        self._notes.fault(one.fault.begins((f"n{self._me}",), about), values=(len(data or b""),))
        if data is not None:
            to = None if one.fault.to is None else tuple(int(name[1:]) for name in one.fault.to)
            self._link.send([(data, to)])
