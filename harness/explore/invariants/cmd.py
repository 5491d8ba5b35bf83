"""What the rules of cmd that are not the paper's promise.

L1  a process drops a record of its own only if the vector time of a message which it delivers has reached it in the
    same life, one of that message only if its own vector time had; it takes for satisfied one that its vector time has
    reached so, or of which it was told that the rest of that life is lost (D-CM-9)
L2  of a copy that is not acknowledged the sender was told after it had sent it, or it is repeated
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from captures.evidence import Event
from harness.explore.invariants.watch import Watch
from harness.scenario.model import Scenario
from harness.world import World
from nodes.cmd.machine import Cmd
from nodes.cmd.notes import SILENT
from nodes.cmd.options import CmdOptions, Printed
from nodes.cmd.orders import SRecords
from nodes.cmd.reliable import HELLO
from nodes.cmd.rules import NUMBERING, Record
from nodes.machine import Machine
from nodes.wire import Pdu
from nodes.wire.cmd import CmdAck, CmdData, CmdHello, CmdWelcome
from nodes.wire.note import NoteKind

_life = NUMBERING.life_of


class Links(Watch):
    """L1 and L2."""

    NAMES = ("L1", "L2")

    @staticmethod
    def is_for(case: Scenario) -> bool:
        options = case.options
        assert isinstance(options, CmdOptions)
        return options.scheme == "s_records" and options.switches() == Printed()

    def __init__(self, world: World, options: CmdOptions) -> None:
        super().__init__(world, options)
        self._known: dict[Machine, Known] = {}

    def _of(self, machine: Machine) -> Known:
        return self._known.setdefault(machine, Known())

    def heard(self, number: int, pdu: Pdu, machine: Machine) -> None:
        self._of(machine).hear(pdu)

    def look(self, number: int, machine: Machine, noted: Sequence[Event]) -> None:
        assert isinstance(machine, Cmd) and isinstance(machine.order, SRecords)
        known = self._of(machine)
        known.reach(number, machine.order.t)
        tags, told, reached = set[Record](), set[tuple[int, int]](), dict(known.reached)
        for event in noted:
            if event.kind is NoteKind.ALARM and event.text == SILENT:
                known.silent.update(dict.fromkeys(event.peers, len(self.world.events)))
            if event.kind is NoteKind.DELIVERED and event.about != number:
                copy = known.copies.get((event.about, event.seq))
                if copy is None:
                    continue  # that nobody sent it a judge says
                tag: set[Record] = {(k, to, t) for k, to, t in copy.r}
                tags |= tag
                for record in sorted(tag):
                    if record[1] == number and not known.is_over(record):
                        self.broken.append(f"L1: n{number} delivers {event.about}:{event.seq:x} and waits for {record}")
                told |= set(enumerate(copy.v, 1))
                for k, t in enumerate(copy.v, 1):
                    if k != number:
                        known.reach(k, t)
        newest: dict[tuple[int, int], int] = {}  # of each pair: it takes the place of older ones
        for k, to, t in tags | machine.order.r:
            newest[k, to] = max(t, newest.get((k, to), -1))
        for record in (known.records | tags) - machine.order.r:
            k, _, t = record
            is_told = any(k == one and t <= count and _life(t) == _life(count) for one, count in told)
            knew = record in tags and reached.get((k, _life(t)), 0) >= t
            if newest.get(record[:2], -1) <= t and not is_told and not knew:
                self.broken.append(f"L1: n{number} drops {record}, told {told}, knew {reached}")
        known.records = machine.order.r
        self._look_at_links(number, machine, known)
        known.looked = len(self.world.events)

    def _look_at_links(self, number: int, machine: Cmd, known: Known) -> None:
        sub = machine._reliable
        for peer, link in sub._links.items():
            waiting: list[object] = [pending for key, pending in link.pending.items() if key != HELLO]
            for one in (*waiting, *link.held):
                if link.silent and known.silent.get(peer, -1) < known.first.setdefault(id(one), known.looked):
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
    lost: dict[int, int] = field(default_factory=dict)  # process -> up to where it is known to be lost
    records: frozenset[Record] = frozenset()
    looked: int = 0  # how many events there were at the last look
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
        life = k, _life(t)
        self.reached[life] = max(t, self.reached.get(life, 0))

    def is_over(self, record: Record) -> bool:
        k, _, t = record
        return max(self.reached.get((k, _life(t)), 0), self.lost.get(k, 0)) >= t
