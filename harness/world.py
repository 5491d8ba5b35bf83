"""An in-memory world for machines: thousands of adverse schedules a second, beside the emulated network, never instead.

Two kinds of network:

* `Channel`: the papers' 1C service. PDUs leave one FIFO, one per slot; every node, the sender included, gets them
  in that one order, and may miss any of them.
* `Mesh`: point to point, each copy with its own delay or lost; nothing keeps an order.

Everything random comes from one seed; a failure is repeated with it.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from captures.evidence import Event, Evidence, Notes
from nodes.machine import Farewell, Input, Log, Machine, Received, Send, Submit, Wake
from nodes.wire import Pdu, decode_untrusted, encode
from nodes.wire.fault import FaultNote
from nodes.wire.note import NoteKind, Submitted, digest_of

# Is this copy lost? (pdu, receiver, now) -> bool
Loss = Callable[[Pdu, int, int], bool]
# Delay of this copy in ns, or None if it is lost: (pdu, receiver, now) -> int | None
Delay = Callable[[Pdu, int, int], int | None]
# How long a PDU occupies the channel, in ns.
Length = Callable[[Pdu], int]
Clock = Callable[[int], int]  # true time -> what it shows
BATCH = 32  # frames that a node takes from its socket before it looks at the time


def no_loss(pdu: Pdu, receiver: int, now: int) -> bool:
    return False


class Witness:
    """Looks at what happens, as far as it wants to."""

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        """A machine took an input."""

    def noted(self, event: Event) -> None:
        """A node noted something."""

    def sent(self, number: int, send: Send) -> None:
        """A node put out a PDU."""

    def done(self, number: int) -> None:
        """All that a node's step brought is out."""

    def struck(self, fault: FaultNote) -> None:
        """The harness noted that a fault begins or ends."""


@dataclass(slots=True)
class _Node:
    machine: Machine | None
    clock: Clock  # the local one, of NOTEs
    timer: Clock  # by which the machine lives
    incarnation: int = 1
    notes: int = 0
    submissions: int = 0
    paused: list[Any] | None = None  # inputs that wait while the node is stopped (SIGSTOP)
    linked: bool = True
    armed: tuple[Machine, int] | None = None  # the wake-up that waits in the heap
    unsaid: list[Any] = field(default_factory=list)  # what it was about to put out when it was stopped


class World:
    """Machines, a network between them, and one clock that jumps."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.now = 1_000_000_000
        self.sent: list[tuple[int, Pdu]] = []  # every Send, with its time
        self._heap: list[tuple[int, int, Callable[[], object]]] = []
        self._order = 0
        self._nodes: dict[int, _Node] = {}
        self.events: list[Event] = []
        # Told of what a node has just put out in one go (PDUs or NOTEs), before it does anything else.
        self.watch: Callable[[int, Sequence[Any]], None] | None = None
        self._network: Callable[[int, Send], None] = lambda src, send: None
        self.witnesses: list[Witness] = []
        self.reachable: Callable[[int, int], bool] = lambda src, dst: True  # partitions

    # building

    def add(self, number: int, machine: Machine, clock: Clock = lambda now: now, timer: Clock | None = None) -> None:
        """A node with its local clock, and the one that its machine lives by, if that is another."""
        self._nodes[number] = _Node(machine, clock, timer or clock)
        self.at(self.now, lambda: self._after(number, []))

    def channel(self, slot_ns: int | Length, loss: Loss = no_loss, queue: int = 100_000) -> None:
        """Join all nodes by one channel with a FIFO of `queue` PDUs, which takes as long for each as is said."""
        free_at = 0
        waiting = 0

        def put(src: int, send: Send) -> None:
            nonlocal free_at, waiting
            if waiting >= queue:
                return
            waiting += 1
            free_at = max(free_at, self.now) + (slot_ns if isinstance(slot_ns, int) else slot_ns(send.pdu))
            self.at(free_at, lambda: arrive(src, send.pdu))

        def arrive(src: int, pdu: Pdu) -> None:
            nonlocal waiting
            waiting -= 1
            pdu = decode_untrusted(encode(pdu))  # one channel, the same bytes for everybody
            for number in sorted(self._nodes):
                if self.reachable(src, number) and not loss(pdu, number, self.now) and self._nodes[number].linked:
                    self._input(number, Received(pdu))

        self._network = put

    def mesh(self, delay: Delay) -> None:
        """Join all nodes pairwise; a multicast is a copy for everybody but the sender."""

        def put(src: int, send: Send) -> None:
            to = send.to if send.to is not None else tuple(n for n in sorted(self._nodes) if n != src)
            for number in to:
                wait = delay(send.pdu, number, self.now)
                if wait is not None and self.reachable(src, number):
                    self.at(self.now + wait, lambda number=number: self.receive(number, send.pdu))  # type: ignore[misc]

        self._network = put

    # what happens

    def connect(self, network: Callable[[int, Send], None]) -> None:
        """Join the nodes by a network of the caller's, which calls `arrive`: (source, what it sends) -> None."""
        self._network = network

    def at(self, time_ns: int, action: Callable[[], object]) -> None:
        self._order += 1
        heapq.heappush(self._heap, (max(time_ns, self.now), self._order, action))

    def submit(self, number: int, to: tuple[int, ...], data: bytes = b"", submission: int | None = None) -> None:
        """Hand a message to a node, by default as its next submission; one that is down never sees it."""
        node = self._nodes[number]
        if node.machine is not None:
            node.submissions = node.submissions + 1 if submission is None else submission
            self._input(number, Submit(node.submissions, to, data))

    def receive(self, number: int, pdu: Pdu) -> None:
        if self._nodes[number].linked:
            self._input(number, Received(decode_untrusted(encode(pdu))))  # the bytes are part of what is tested

    def arrive(self, number: int, pdu: Pdu) -> None:
        """A PDU that the network has carried as bytes."""
        self._input(number, Received(pdu))

    def kill(self, number: int) -> None:
        self.fault(FaultNote("crash", (number,)))
        self.stop(number)

    def leave(self, number: int) -> None:
        """It ends as it was asked to."""
        self.fault(FaultNote("leave", (number,)))
        self.dismiss(number)

    def restart(self, number: int, machine: Machine) -> None:
        """Put a new machine (made with the next incarnation) in the place of one that is gone."""
        self.fault(FaultNote("restart", (number,), ends=("crash", "leave")))
        self.start(number, machine)

    # the same without a word of the harness

    def stop(self, number: int) -> None:
        node = self._nodes[number]
        node.machine, node.paused, node.unsaid = None, None, []

    def dismiss(self, number: int) -> None:
        self._input(number, Farewell())
        self._nodes[number].machine = None

    def start(self, number: int, machine: Machine) -> None:
        node = self._nodes[number]
        node.machine, node.incarnation, node.notes = machine, node.incarnation + 1, 0
        self._after(number, [])

    def pause(self, number: int) -> None:
        self._nodes[number].paused = []

    def resume(self, number: int) -> None:
        """It goes on as a process does: it drains its socket, a batch at a time, and after each does what is due."""
        node = self._nodes[number]
        waiting, node.paused = node.paused or [], None
        if node.unsaid:
            unsaid, node.unsaid = node.unsaid, []
            self._after(number, unsaid)
        due = [event for event in waiting if not isinstance(event, Received)]
        came = [event for event in waiting if isinstance(event, Received)]
        while True:
            for event in (*came[:BATCH], *due, Wake()):
                self._input(number, event)
            came, due = came[BATCH:], []
            if not came:
                return

    def paused(self, number: int) -> bool:
        return self._nodes[number].paused is not None

    def runs(self, number: int) -> bool:
        return self._nodes[number].machine is not None

    def life(self, number: int) -> int:
        """Which start of a node's process this is."""
        return self._nodes[number].incarnation

    def clock_changed(self, number: int, values: tuple[int, ...]) -> None:
        """The clocks that the node was added with show something else now: offset and drift, for the NOTE."""
        self._nodes[number].armed = None  # its deadline is at another true time
        self.note(number, Log(NoteKind.CLOCK, values=values))
        self._input(number, Wake())

    def link(self, number: int, up: bool) -> None:
        self._nodes[number].linked = up

    # running

    def run(self, until_ns: int | None = None, max_events: int = 10_000_000) -> None:
        """Run until nothing is left to happen, or until the given true time."""
        for _ in range(max_events):
            if not self._heap or (until_ns is not None and self._heap[0][0] > until_ns):
                if until_ns is not None:
                    self.now = max(self.now, until_ns)
                return
            self.now, _, action = heapq.heappop(self._heap)
            action()
        raise AssertionError(f"still busy after {max_events} events, at {self.now} ns")

    def machine(self, number: int) -> Machine:
        machine = self._nodes[number].machine
        assert machine is not None
        return machine

    def settled(self) -> bool:
        return all(node.machine.settled() for node in self._nodes.values() if node.machine is not None)

    def mark(self, text: str, values: tuple[int, ...] = ()) -> None:
        """A mark of the harness: "heal", "end quiet" (all was settled: judges of liveness may decide), "end limit"."""
        self._harness(NoteKind.MARK, (), text, values)

    def fault(self, note: FaultNote, values: tuple[int, ...] = ()) -> None:
        """The harness notes that a fault begins or ends."""
        for witness in self.witnesses:
            witness.struck(note)
        self._harness(NoteKind.FAULT, note.peers, note.text, values)

    def history(self) -> Evidence:
        return Evidence(self.numbers(), Notes(self.events))

    def numbers(self) -> tuple[int, ...]:
        """Of all nodes, whether they run or not."""
        return tuple(sorted(self._nodes))

    def local(self, number: int) -> int:
        return self._nodes[number].clock(self.now)

    def _input(self, number: int, event: Any) -> None:
        node = self._nodes[number]
        if node.machine is None:
            return
        if node.paused is not None:
            node.paused.append(event)
            return
        outputs = node.machine.step(event, node.timer(self.now))
        if isinstance(event, Submit):
            said = Submitted(digest_of(event.data))
            outputs = [Log(NoteKind.SUBMITTED, number, event.number, peers=event.to, values=said), *outputs]
        for witness in self.witnesses:
            witness.stepped(number, event, node.machine, self.now)
        self._after(number, outputs)

    def _after(self, number: int, outputs: list[Any]) -> None:
        node = self._nodes[number]
        if self.watch is None:
            self._put_out(number, outputs)
        elif not self._put_out_watched(number, outputs):
            return
        for witness in self.witnesses:
            witness.done(number)
        machine = node.machine
        deadline = None if machine is None else machine.deadline
        if machine is not None and deadline is not None and node.armed != (machine, deadline):
            node.armed = (machine, deadline)
            self.at(self._true_time(node.timer, deadline), lambda: self._wake(number, machine, deadline))

    def _put_out(self, number: int, outputs: Iterable[Any]) -> None:
        node = self._nodes[number]
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append((self.now, output.pdu))
                for witness in self.witnesses:
                    witness.sent(number, output)
                if node.linked:
                    self._network(number, output)
            else:
                self.note(number, output)

    def _put_out_watched(self, number: int, outputs: Sequence[Any]) -> bool:
        """The same, while somebody watches. False: that has stopped the node in the middle."""
        assert self.watch is not None
        node, done = self._nodes[number], 0
        machine = node.machine
        for _, together in itertools.groupby(outputs, lambda one: isinstance(one, Send)):
            put = list(together)
            done += len(put)
            self._put_out(number, put)
            self.watch(number, put)
            if node.machine is not machine:
                return False
            if node.paused is not None:
                node.unsaid = list(outputs[done:])
                return False
        return True

    def _wake(self, number: int, machine: Machine, deadline: int) -> None:
        node = self._nodes[number]
        if node.machine is machine and machine.deadline == deadline:
            node.armed = None
            self._input(number, Wake())

    def _true_time(self, clock: Clock, local: int) -> int:
        """The first true time, from now on, at which a clock shows at least `local`."""
        shown = clock(self.now)
        if shown >= local:
            return self.now
        low, high = self.now, self.now + local - shown
        if clock(high) >= local > clock(high - 1):  # it runs as true time does
            return high
        high = low + 1
        while clock(high) < local:
            high = low + 2 * (high - low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if clock(middle) < local else (low, middle)
        return high

    def _harness(self, kind: NoteKind, peers: tuple[int, ...], text: str, values: tuple[int, ...] = ()) -> None:
        at = {"local_ns": self.now, "capture": "memory", "frame": len(self.events) + 1}
        self.events.append(Event(self.now, 0, kind, peers=peers, values=values, text=text, **at))  # type: ignore[arg-type]

    def note(self, number: int, log: Log) -> None:
        node = self._nodes[number]
        node.notes += 1
        event = Event(
            self.now,
            number,
            log.kind,
            log.about,
            log.seq,
            log.peers,
            log.values,
            log.text,
            node.incarnation,
            node.notes,
            node.clock(self.now),
            "memory",
            len(self.events) + 1,
        )
        self.events.append(event)
        for witness in self.witnesses:
            witness.noted(event)
