"""What the rules that no paper has promise of the machines themselves, watched in cases that explore draws.

R7  when a message of a later life can be delivered, what came before that life has expired (delta, D-DC-14)
R8  what is delivered is not older than what was delivered of its sender, nor given up by a message that was
    delivered: named in its tag, or before its horizon (delta, D-DC-13)
L1  a process drops a record of its own only if the vector time of a message which it delivers has reached it in the
    same life, one of that message only if its own vector time had; it takes for satisfied one that its vector time has
    reached so, or of which it was told that the rest of that life is lost (cmd, D-CM-9)
L2  of a copy that is not acknowledged the sender was told after it had sent it, or it is repeated (cmd)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.explore import chance
from harness.explore.draw import cases
from harness.explore.memory import Run
from harness.scenario.model import Scenario
from nodes.cmd.machine import Cmd
from nodes.cmd.notes import SILENT
from nodes.cmd.orders import SRecords
from nodes.cmd.reliable import HELLO
from nodes.cmd.rules import NUMBERING, Record
from nodes.delta.options import DeltaOptions
from nodes.delta.tags import unpack
from nodes.machine import Input, Machine, Received, Send
from nodes.wire import Pdu
from nodes.wire.cmd import CmdAck, CmdData, CmdHello, CmdWelcome
from nodes.wire.delta import DeltaData
from nodes.wire.fault import FaultNote
from nodes.wire.note import NoteKind

Complaints = Iterator[str]
_life = NUMBERING.life_of


def drawn(base: Scenario, number: int, count: int = 40) -> list[Scenario]:
    """So many cases of the space of a scenario."""
    assert base.explore is not None
    return list(chance.drawn(cases(base, base.explore), number, count))


def delta_broken(case: Scenario) -> Complaints:
    """R7 and R8, where clocks keep within ε."""
    options = case.options
    assert isinstance(options, DeltaOptions)
    run = Run(case).all()
    pdus = {(pdu.src, pdu.seq): pdu for _, pdu in run.world.sent if isinstance(pdu, DeltaData)}
    members = tuple(range(1, len(case.nodes) + 1))
    passed: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)  # node and life -> of each sender, what is over
    horizons: dict[tuple[int, int], int] = defaultdict(int)
    for event in run.world.events:
        if event.kind is not NoteKind.DELIVERED or event.about == event.node:
            continue
        pdu, me = pdus[event.about, event.seq], (event.node, event.incarnation)
        name = f"n{event.node}, life {event.incarnation}, delivers {event.about}:{event.seq:x} ({pdu.ts})"
        for other in pdus.values():
            earlier = other.src == pdu.src and event.node in other.dest and other.seq >> 32 < pdu.seq >> 32
            if earlier and other.ts + options.limit_ns >= event.local_ns:
                yield f"R7: {name} at {event.local_ns}, and {other.seq:x} ({other.ts}) of an earlier life can come"
        if pdu.ts <= max(passed[me].get(pdu.src, 0), horizons[me] - 1):
            yield f"R8: {name}, which is given up: {passed[me]}, {horizons[me]}"
        mine = unpack(pdu, members).get(event.node, {})
        for source, ts in {**mine, pdu.src: pdu.ts}.items():
            passed[me][source] = max(ts, passed[me].get(source, 0))
        horizons[me] = max(horizons[me], _expired(options, pdu.ts, mine))


def _expired(options: DeltaOptions, ts: int, mine: dict[int, int]) -> int:
    """Messages before it need not have been named in a tag: they had expired, or S3 has cut them off."""
    begun = ts - options.limit_ns + (options.held_ns if options.scheme == "hold" else 0)
    return max(begun, min(mine.values())) if options.scheme == "bounded" and len(mine) >= options.max_cb else begun


def cmd_broken(case: Scenario) -> Complaints:
    """L1 and L2."""
    run = Run(case)
    watch = Watch(run)
    run.all()
    yield from watch.broken


class Watch:
    """Looks at each process after each of its steps, when its NOTEs are made; in the place of the run's witness."""

    def __init__(self, run: Run) -> None:
        self.broken: list[str] = []
        self._world, self._novelty = run.world, run.novelty
        self._read: dict[int, int] = {}  # node -> how many events there were when it was looked at
        self._known: dict[Machine, Known] = {}
        after = run.world._after

        def looking(number: int, outputs: list[Any]) -> None:
            after(number, outputs)
            if run.world.runs(number):
                self._look(number, run.world.machine(number))
            self._read[number] = len(run.world.events)

        run.world.witness = self
        run.world._after = looking  # type: ignore[method-assign]

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        if isinstance(event, Received):
            self._of(machine).hear(event.pdu)
        self._novelty.stepped(number, event, machine, now_ns)

    def noted(self, number: int, kind: NoteKind, text: str, now_ns: int) -> None:
        self._novelty.noted(number, kind, text, now_ns)

    def sent(self, number: int, send: Send) -> None:
        self._novelty.sent(number, send)

    def struck(self, fault: FaultNote) -> None:
        self._novelty.struck(fault)

    def _of(self, machine: Machine) -> Known:
        return self._known.setdefault(machine, Known())

    def _look(self, number: int, machine: Machine) -> None:
        assert isinstance(machine, Cmd) and isinstance(machine.order, SRecords)
        known, since = self._of(machine), self._read.get(number, 0)
        known.reach(number, machine.order.t)
        tags, told, reached = set[Record](), set[tuple[int, int]](), dict(known.reached)
        for event in self._world.events[since:]:
            if event.node != number:
                continue
            if event.kind is NoteKind.ALARM and event.text == SILENT:
                known.silent.update(dict.fromkeys(event.peers, len(self._world.events)))
            if event.kind is NoteKind.DELIVERED and event.about != number:
                copy = known.copies[event.about, event.seq]
                tag: set[Record] = {(k, to, t) for k, to, t in copy.r}
                tags |= tag
                for record in sorted(tag):
                    if record[1] == number and not known.is_over(record):
                        self.broken.append(f"L1: n{number} delivers {event.about}:{event.seq:x} and waits for {record}")
                told |= set(enumerate(copy.v, 1))
                for k, t in enumerate(copy.v, 1):
                    if k != number:
                        known.reach(k, t)
        newest = {record[:2]: record[2] for record in machine.order.r}
        for record in (known.records | tags) - machine.order.r:
            k, _, t = record
            is_told = any(k == one and t <= count and _life(t) == _life(count) for one, count in told)
            knew = record in tags and reached.get((k, _life(t)), 0) >= t
            if newest.get(record[:2], -1) < t and not is_told and not knew:
                self.broken.append(f"L1: n{number} drops {record}, told {told}, knew {reached}")
        known.records = machine.order.r
        self._look_at_links(number, machine, known, since)

    def _look_at_links(self, number: int, machine: Cmd, known: Known, since: int) -> None:
        sub = machine._reliable
        for peer, link in sub._links.items():
            waiting: list[object] = [pending for key, pending in link.pending.items() if key != HELLO]
            for one in (*waiting, *link.held):
                told = known.silent.get(peer, -1) >= known.first.setdefault(id(one), since) if link.silent else True
                if not told:
                    self.broken.append(f"L2: n{number} was not told that n{peer} is silent")
            for key, pending in link.pending.items():
                if not link.silent and (pending.due_ns, peer, key) not in sub._due:
                    self.broken.append(f"L2: n{number} does not repeat {key} to n{peer}")
            if link.held and HELLO not in link.pending:
                self.broken.append(f"L2: n{number} holds copies for n{peer} back for ever")


@dataclass(slots=True)
class Known:
    """What one process can know, from what came to it."""

    copies: dict[tuple[int, int], CmdData] = field(default_factory=dict)  # by source and t
    reached: dict[tuple[int, int], int] = field(default_factory=dict)  # process and life -> how far V came
    counted: dict[int, int] = field(default_factory=dict)  # V
    lost: dict[int, int] = field(default_factory=dict)  # process -> up to where it is known to be lost
    records: frozenset[Record] = frozenset()
    silent: dict[int, int] = field(default_factory=dict)  # peer -> how many events there were when it was told so
    first: dict[int, int] = field(default_factory=dict)  # copy -> how many there were before it was there

    def hear(self, pdu: Pdu) -> None:
        if isinstance(pdu, CmdData):
            self.copies[pdu.src, pdu.t] = pdu
        if isinstance(pdu, CmdData | CmdAck | CmdHello | CmdWelcome):
            lost = NUMBERING.of(pdu.incarnation)[0] - 1
            if isinstance(pdu, CmdWelcome):
                lost = max(lost, pdu.mark)
            self.lost[pdu.src] = max(lost, self.lost.get(pdu.src, 0))

    def reach(self, k: int, t: int) -> None:
        if t > self.counted.get(k, 0):
            self.counted[k] = self.reached[k, NUMBERING.life_of(t)] = t

    def is_over(self, record: Record) -> bool:
        k, _, t = record
        return max(self.reached.get((k, _life(t)), 0), self.lost.get(k, 0)) >= t
