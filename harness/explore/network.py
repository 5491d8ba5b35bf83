"""The network of a plan in memory: what of the emulated one a node can notice, and nothing else.

On the port towards a node stand, in the order in which they stand there on the emulated network: partition, injector,
the delay of a pair, the port's own netem. Queues are unbounded, and nothing takes time that no impairment, rate or
reader asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from harness.chosen import Rule, taking
from harness.explore.capture import Capture
from harness.explore.frame import Carried, Fate
from harness.explore.netem import Netem
from harness.explore.ways import CHANNEL, Step, way
from harness.scenario.faults import Fault
from harness.world import World
from nodes.machine import Send
from nodes.wire import decode_untrusted, encode
from topologies.impaired import Impaired
from topologies.impairments import Impairment
from topologies.placement import Placement
from topologies.plan import Plan
from topologies.seeds import seed_for

_ETHERNET_BYTES, _IPV6_BYTES = 14, 14 + 40 + 8  # before a PDU


Arrive = Callable[[int, Carried], None]


class Network:
    """Joins the nodes of a world. Who makes one sets `arrive`, which is given what reaches a node."""

    def __init__(self, plan: Plan, world: World, run_seed: int, rules: Iterable[Rule]) -> None:
        self.plan, self._world, self._seed = plan, world, run_seed
        self.capture: Capture | None = None
        self.arrive: Arrive = lambda receiver, frame: None
        self._sending = False
        self._head_bytes = _IPV6_BYTES if plan.ipv6 else _ETHERNET_BYTES
        self._numbers = tuple(range(1, len(plan.hosts) + 1))
        self._ways: dict[tuple[int, tuple[int, ...] | None], list[Step]] = {}
        self._netems: dict[str, Netem | None] = {}
        self._pairs: dict[tuple[str, int], Netem | None] = {}  # port, source
        self._changes = 0
        self._changed: set[Placement] = set()
        self.impaired = Impaired(plan, self._put)
        self._rules: dict[int, list[Rule]] = {}  # towards
        for rule in rules:
            self._rules.setdefault(rule.towards, []).append(rule)
        self._severed: frozenset[tuple[int, int]] = frozenset()
        self._down: set[str] = set()  # interfaces
        self._sources = {end.mac: int(host[1:]) for host in plan.hosts for end in plan.interfaces(host)}
        self.offer: Arrive | None = None  # told of what comes to the port towards a node
        self.fates: list[Fate] | None = None  # of all PDUs, if somebody asks
        if plan.channel is not None:
            queue = Impairment(delay_ns=plan.channel.delay_ns, rate_bps=plan.channel.rate_bps)
            self._netems[CHANNEL] = Netem(queue, seed_for(run_seed, CHANNEL))
        world.connect(self.send)

    # controls, as those of the emulated network

    def release(self, fault: Fault) -> None:
        """The rules of a fault that waited for a moment count from now on."""
        for rules in self._rules.values():
            for rule in rules:
                if rule.fault is fault:
                    rule.starts_ns = self._world.now

    def partition(self, severed: Iterable[tuple[str, str]]) -> None:
        """From now on nothing gets through from the first to the second of each pair; all else does."""
        self._severed = frozenset((int(a[1:]), int(b[1:])) for a, b in severed)

    def link(self, name: str, up: bool) -> None:
        """A cable is pulled, or plugged in."""
        link = self.plan.link(name)
        for end in (link.a, link.b):
            (self._down.discard if up else self._down.add)(end.interface)
            self._empty(None if up else self._netems.get(end.interface))

    def _put(self, place: Placement, impairment: Impairment | None) -> None:
        self._changes += 1
        turn = () if place not in self._changed else (str(self._changes),)
        self._changed.add(place)
        netem = None if impairment is None else Netem(impairment, seed_for(self._seed, "netem", place.name, *turn))
        if place.source_mac is not None:
            pair = place.interface, self._sources[place.source_mac]
            self._empty(self._pairs.get(pair))
            self._pairs[pair] = netem
        else:
            self._empty(self._netems.get(place.interface))
            self._netems[place.interface] = netem

    def _empty(self, netem: Netem | None) -> None:
        if netem is not None:
            netem.empty()

    # carrying

    def send(self, src: int, send: Send) -> None:
        """What a node sends, from its interface on."""
        data = encode(send.pdu)
        frame = Carried(src, decode_untrusted(data), self._head_bytes + len(data), send.to is None)
        for receiver in self.copies(send):
            if self.capture is not None:
                self.capture.see(self._world.now, src, "out", frame)
            self._sending = True
            for step in self._way(src, None if receiver is None else (receiver,)):
                self._leave(step, frame)
            self._sending = False

    def copies(self, send: Send) -> Sequence[int | None]:
        """One for each frame that leaves the sender: for everybody, or to whom."""
        return (None,) if send.to is None or self.plan.channel is not None else send.to

    def _way(self, src: int, to: tuple[int, ...] | None) -> list[Step]:
        steps = self._ways.get((src, to))
        if steps is None:
            everybody = self._numbers if self.plan.channel is not None else [n for n in self._numbers if n != src]
            steps = self._ways[src, to] = way(self.plan, src, everybody if to is None else to)
        return steps

    def _leave(self, step: Step, frame: Carried) -> None:
        """A frame comes to an interface through which it is to leave."""
        if step.interface in self._down:
            return
        if not step.receiver:
            self._through(self._netems.get(step.interface), step, frame)
        elif (frame.src, step.receiver) not in self._severed:
            self._chosen(step, frame)

    def _chosen(self, step: Step, frame: Carried) -> None:
        """The injector."""
        now = self._world.now
        if self.offer is not None:
            self.offer(step.receiver, frame)
        rules = self._rules.get(step.receiver)
        rule = None if rules is None else taking(rules, frame.pdu, now)
        if rule is None and self.fates is None:
            self._port(step, frame)
            return
        fate = Fate(frame.pdu, step.receiver, now)
        if self.fates is not None:
            self.fates.append(fate)
        if rule is not None:
            self._world.fault(rule.note, (rule.seen,))
        for late_ns in (0,) if rule is None else rule.fault.copies_ns():
            copy = frame if self.fates is None else fate.copy(frame, late_ns)
            if late_ns == 0:
                self._port(step, copy)
            else:
                self._world.at(now + late_ns, partial(self._held, step, copy))

    def _held(self, step: Step, frame: Carried) -> None:
        if (frame.src, step.receiver) not in self._severed:
            self._port(step, frame)

    def _port(self, step: Step, frame: Carried) -> None:
        """What is impaired on the way to a node: by the delay of a pair, then by the port's own."""
        pair = self._pairs.get((step.interface, frame.src)) if self._pairs else None
        port = self._netems.get(step.interface)
        if pair is None:
            self._through(port, step, frame)
        else:
            self._pass(pair, step, frame, lambda: self._through(port, step, frame))

    def _port_of(self, node: int) -> str:
        return self.plan.port_towards(f"n{node}").interface

    def _through(self, netem: Netem | None, step: Step, frame: Carried) -> None:
        if step.interface in self._down:
            return
        if netem is None:
            self._left(step, frame)
        else:
            self._pass(netem, step, frame, lambda: self._left(step, frame))

    def _pass(self, netem: Netem, step: Step, frame: Carried, then: Callable[[], None]) -> None:
        now = self._world.now
        departures = netem.departures(now, frame.size_bytes)
        if frame.later_ns is not None:
            more = netem.by_chance([at_ns - now for at_ns in departures])
            frame.later_ns[:] = [before + one for before in frame.later_ns for one in more]
        for at_ns in departures:
            if at_ns == now:
                then()
            else:
                self._world.at(at_ns, partial(_unless_emptied, netem, netem.emptied, then))

    def _left(self, step: Step, frame: Carried) -> None:
        if step.interface == CHANNEL and self._port_of(frame.src) in self._down:
            return  # it comes back to the switch there
        if step.receiver and self._sending:  # nobody takes anything in before its sender has put out all it has to
            self._world.at(self._world.now, lambda: self.arrive(step.receiver, frame))
        elif step.receiver:
            self.arrive(step.receiver, frame)
        for following in step.after:
            self._leave(following, frame)


def _unless_emptied(netem: Netem, before: int, then: Callable[[], None]) -> None:
    """A packet leaves, if it still waits there."""
    if netem.emptied == before:
        then()
