"""What stands before a run begins: the network, the recorder, and a process for every node that does not know yet what
it is to be. It is made of a run's shape alone."""

from __future__ import annotations

import os
import re
import time

from harness.agent import processes
from harness.agent.branch import Branching
from harness.agent.guest import read
from harness.agent.notes import HarnessNotes
from harness.agent.recorder import Point, Recorder
from harness.exchange import Exchange
from harness.shape import Shape
from nodes.links import Loopback
from nodes.tally import Tally
from nodes.waiting import readable
from nodes.wire.note import NoteKind
from topologies.mininet_network import CHANNEL, Network
from topologies.program_addresses import give_addresses
from topologies.program_multicast import MulticastRouters

_BLOCK_MS = 500  # how old a block of a capture ring gets before it is written
_RING_BYTES = 2 * 1024 * 1024
_NODE_BYTES = 4 * 1024 * 1024  # what a node writes to of all that it is forked with
_SPARE_BYTES = 32 * 1024 * 1024  # with less, a guest throws code away, reads it again, and does little else for hours


class ShortOfMemoryError(RuntimeError):
    """The guest has too little for a network of this size."""


class Standing:
    """All of it, ready to begin."""

    def __init__(self, shape: Shape, files: Exchange) -> None:
        begin_ns = time.time_ns()
        self.shape = shape
        self._progress = os.open(files.progress, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        self.plan = shape.topology.plan()
        self.network = Network(self.plan, self._building)
        if shape.engine == "live" and len(os.sched_getaffinity(0)) > 1:
            from topologies.ordering import keep_order

            keep_order(self.network)
        self.helpers: list[processes.Helper] = []
        if shape.programs:
            give_addresses(self.network)
            if self.plan.routers:
                self.helpers.append(_route_multicasts(MulticastRouters(self.network)))
        self.branching = Branching(files)
        points = self._points(files)
        self._need(len(points) * _RING_BYTES + shape.topology.nodes * _NODE_BYTES)
        self.recorder = Recorder(points, _BLOCK_MS, _RING_BYTES, self.branching)
        self.notes = HarnessNotes(incarnation=1)
        self._probe()
        self.tally = Tally(shape.topology.nodes)
        self.processes = {node: self.process(node) for node in shape.topology.names}
        self.took_ns = time.time_ns() - begin_ns

    def process(self, node: str) -> processes.Process:
        """One for a node, which has to be told what it is to be."""
        return processes.start(self.network.node(node), self.tally, keeps=self.shape.programs)

    def tell(self, how_far: str) -> None:
        """For who waits: a run that tells nothing new for long is given up."""
        os.pwrite(self._progress, f"{how_far:>24}".encode(), 0)

    def _building(self, name: str) -> None:
        self.tell(f"building {name}")
        self._need()

    def _need(self, more_bytes: int = 0) -> None:
        """Of a guest's memory, beside what the network always needs."""
        if self.shape.engine != "virtual":
            return
        found = re.search(r"^MemTotal: *(\d+).*^MemAvailable: *(\d+)", read("/proc/meminfo"), re.M | re.S)
        assert found
        total, free = (int(kilobytes) * 1024 for kilobytes in found.groups())
        if free < more_bytes + _SPARE_BYTES:
            what = f"the guest's memory of {total >> 20} MB is too small for a network of this size"
            raise ShortOfMemoryError(f"{what} (more of it: --memory)")

    def _points(self, files: Exchange) -> list[Point]:
        here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        captures = files.run.captures
        points = [
            Point(name, "any", self.network.node(name).namespace, str(captures / f"{name}.pcap"))
            for name in (*self.plan.hosts, *self.plan.routers)
        ]
        if self.plan.channel is not None:
            points.append(Point(CHANNEL, CHANNEL, here, str(captures / "channel.pcap")))
        self.network.netlink.link("set", index=self.network.netlink.link_lookup(ifname="lo")[0], state="up")
        points.append(Point("harness", "lo", here, str(captures / "harness.pcap")))
        return points

    def _probe(self) -> None:
        """A numbered mark on every loopback that is captured: a capture that was not yet running shows as a hole."""
        for name in (*self.plan.hosts, *self.plan.routers):
            with self.network.node(name).entered():
                loopback = Loopback()
            self.notes.send(NoteKind.MARK, text=f"probe {name}", loopback=loopback)


def _route_multicasts(routers: MulticastRouters) -> processes.Helper:
    """Whoever answers the routers is a process, since the agent may be waiting for a node."""

    def work(ready: int, released: int) -> None:
        os.write(ready, b"r")
        while True:
            for descriptor in readable(routers.descriptors, None):
                routers.answer(descriptor)

    return processes.Helper("the multicast routing", work, ())
