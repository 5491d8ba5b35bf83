"""What the rules of to that are not the paper's promise.

T1  two entities that have come back, each in the other's first view, have the same first view: of those who found a
    cluster without one that founded it with them all follow it, or none
T2  all who end a stop round have the same members then, in the same lives: they have kept the same joins
T3  nothing that came before an entity's incarnation is accepted or delivered in it
T4  an entity says one point for each join, and with live recovery for each round that the join outlasts
T5  all who commit a join commit the same: from the same points, after the same round
T6  an attempt at a join that is void has no points
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from captures.evidence import Event
from harness.explore.invariants.st import Logs, Seen
from harness.explore.invariants.watch import Life
from harness.world import World
from nodes.machine import Machine, Send
from nodes.to.attempt import JoinRecord, Vector
from nodes.to.machine import To
from nodes.to.options import ToOptions
from nodes.to.stop import StopRecord
from nodes.to.views import View, ViewMode, active, first_incarnation, view_number
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.to import JoinBlock, ToData


class Clusters(Logs):
    """T1 to T6, and what ST promises of the logs."""

    NAMES = (*Logs.NAMES, "T1", "T2", "T3", "T4", "T5", "T6")

    def __init__(self, world: World, options: ToOptions) -> None:
        super().__init__(world, options)
        self._first: dict[Life, View] = {}
        self._ended: dict[View, View] = {}  # what a stop round was about -> who are members after it
        self._last: dict[Machine, StopRecord | None] = {}
        self._came: dict[Life, set[tuple[int, int]]] = defaultdict(set)
        self._points: dict[tuple[int, View, View, int], int] = {}  # of whom, in which join -> NXT
        self._joins: dict[View, tuple[Vector, Vector, int]] = {}  # to which view -> points in it, rounds before
        self._is_live = options.recovery == "live"

    def view_of(self, machine: Machine) -> Seen | None:
        """Nothing for one who is not a member."""
        assert isinstance(machine, To)
        here = machine.standing
        if not here.is_inside() or here.committed[machine.core.index] != here.code:
            return None
        # Of a stopped one what each has reported is final, whatever others have.
        return Seen(here.committed, here.members, frozenset(j for j in here.members if not here.v[j - 1] & 1))

    def life_of(self, number: int) -> int:
        machine = self.world.machine(number)
        assert isinstance(machine, To)
        return machine.standing.incarnation

    def passed_over(self, source: int, code: int, numbers: range) -> bool:
        """Members may pass over what are ACK PDUs only."""
        said = (pdu for _, pdu in self.world.sent if isinstance(pdu, ToData) and pdu.src == source and pdu.dst)
        return not any(pdu.tseq in numbers and pdu.v[source - 1] == code for pdu in said)

    def sent(self, number: int, send: Send) -> None:
        super().sent(number, send)
        pdu = send.pdu
        if isinstance(pdu, JoinBlock):
            join = number, pdu.v, pdu.committed, pdu.epoch if self._is_live else 0
            if (point := self._points.setdefault(join, pdu.nxt)) != pdu.nxt:
                self.broken.append(f"T4: n{number} says {pdu.nxt} and {point} in the join to {pdu.v}")

    def heard(self, number: int, pdu: Pdu, machine: Machine) -> None:
        assert isinstance(machine, To)
        if isinstance(pdu, ToData):
            self._came[number, machine.standing.incarnation].add((pdu.src, machine.transfer._membership.id(pdu)))

    def look(self, number: int, machine: Machine, noted: Sequence[Event]) -> None:
        assert isinstance(machine, To)
        super().look(number, machine, noted)
        if machine.attempt.void and machine.attempt.packs:
            self.broken.append(f"T6: n{number} keeps the points of {sorted(machine.attempt.packs)}")
        if machine not in self._last:
            self._follow(number, machine)
        life = number, machine.standing.incarnation
        for event in noted:
            if (
                event.kind in (NoteKind.ACCEPTED, NoteKind.DELIVERED)
                and (event.about, event.seq) not in self._came[life]
            ):
                self.broken.append(f"T3: n{number} has {event.about}:{event.seq:x} from an earlier life")
            if event.kind is NoteKind.VIEW:
                self._changed(life, machine, event.seq, event.text)
        self._last[machine] = machine.stops._last

    def _follow(self, number: int, machine: To) -> None:
        """T5, whenever it commits a join."""
        here, commit = machine.standing, machine._joins._commit

        def committing(record: JoinRecord, epoch: int) -> None:
            rounds = epoch if here.vm is ViewMode.JOINING else machine.core.phase.epoch
            commit(record, epoch)
            who = active(record.v)
            view = tuple([code if j in who else 0 for j, code in enumerate(record.v, 1)])
            join = tuple([record.nxt[j - 1] for j in who]), tuple([record.nxtp[j - 1] for j in who]), rounds
            if (known := self._joins.setdefault(view, join)) != join:
                self.broken.append(f"T5: n{number} commits the join to {record.v} with {join}, others {known}")

        machine._joins._commit = committing  # type: ignore[method-assign]

    def _changed(self, life: Life, machine: To, number: int, why: str) -> None:
        record, committed = machine.stops._last, machine.standing.committed
        if view_number(committed) != number:
            return  # it has gone on to another view in the same step
        members = tuple([0 if code & 1 else code for code in committed])
        if why == "stop" and record is not None and record is not self._last.get(machine):
            agreed = self._ended.setdefault(record.v, members)
            if agreed != members:
                self.broken.append(f"T2: n{life[0]} ends the stop round of {record.v} with {members}, others {agreed}")
        has_come_back = life[1] != first_incarnation(1)
        if why == "join" and has_come_back and life not in self._first:
            for other, theirs in self._first.items():
                if theirs != committed and _is_in(life, theirs) and _is_in(other, committed):
                    self.broken.append(f"T1: n{life[0]} is let in with {committed}, n{other[0]} with {theirs}")
            self._first[life] = committed


def _is_in(life: Life, view: View) -> bool:
    entity, incarnation = life
    return view[entity - 1] == incarnation << 1
