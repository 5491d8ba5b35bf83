"""What entities of ST and TO promise of what they hold, and of what they know of each other.

I1  nobody is believed to have what it does not have
I2  what an entity has and knows only grows; in go-back it gives up what lies behind the line
I3  what is pre-acknowledged has been accepted by all
I4  one round, one line
I5  what is delivered is delivered, and once; until then a log holds it once (D-ST-13)
I6  the snapshot of a round never changes
I7  what a round sorts is sorted equally by all
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, Protocol, cast

from captures.evidence import Event
from harness.explore.invariants.watch import Watch
from harness.scenario.model import Scenario
from harness.world import World
from nodes.machine import Machine, Send
from nodes.st.core import Core
from nodes.st.recovery import Recovery
from nodes.st.round import Mode
from nodes.st.transfer import Transfer
from nodes.wire.note import NoteKind

Message = tuple[int, int]  # source, number
EVERY = 7  # steps: to look at all logs costs as much as these


def is_repaired(options: Any) -> bool:
    """Is no rule as it is printed? Those promise nothing."""
    return not any(astuple(options.switches()))


class Entity(Protocol):
    """What the machines of ST and TO are made of."""

    core: Core
    transfer: Transfer
    recovery: Recovery


@dataclass(frozen=True, slots=True)
class Seen:
    """The view of one machine: what its knowledge is about."""

    code: tuple[int, ...]  # equal where views are
    members: frozenset[int]
    sources: frozenset[int]  # whose numbers mean the same to all in this view


class Logs(Watch):
    """I1 to I7."""

    NAMES: ClassVar[Sequence[str]] = ("I1", "I2", "I3", "I4", "I5", "I6", "I7")

    @staticmethod
    def is_for(case: Scenario) -> bool:
        return is_repaired(case.options)

    def __init__(self, world: World, options: Any) -> None:
        super().__init__(world, options)
        self._steps = 0
        self._known: dict[Machine, tuple[object, list[list[int]]]] = {}
        self._delivered: dict[Machine, set[Message]] = {}
        self._epochs: dict[Machine, int] = {}
        self._lines: dict[object, tuple[int, ...]] = {}
        self._snapshots: dict[object, tuple[Sequence[int], Sequence[int]]] = {}
        self._sorted: dict[object, dict[int, list[Message]]] = {}

    def view_of(self, machine: Machine) -> Seen | None:
        """In ST everybody, always."""
        everybody = frozenset(cast(Entity, machine).core.setting.members)
        return Seen((), everybody, everybody)

    def life_of(self, number: int) -> int:
        """Rounds are counted in a life."""
        return self.world.life(number)

    def passed_over(self, source: int, code: int, numbers: range) -> bool:
        """May one who has not got these count them as received?"""
        return False

    def sent(self, number: int, send: Send) -> None:
        pdu, rows = send.pdu, cast(Entity, self.world.machine(number)).core.rows
        if isinstance(pdu, (rows.pak, rows.ack)):
            said = pdu.a_t, pdu.a_p
            if (first := self._snapshots.setdefault((number, self.life_of(number), pdu.epoch), said)) != said:
                self.broken.append(f"I6: n{number} says {said} and {first} in round {pdu.epoch}")

    def look(self, number: int, machine: Machine, noted: Sequence[Event]) -> None:
        entity, mine = cast(Entity, machine), self._delivered.setdefault(machine, set())
        for event in noted:
            if event.kind is NoteKind.DELIVERED:
                if (event.about, event.seq) in mine:
                    self.broken.append(f"I5: n{number} delivers {event.about}:{event.seq:x} again")
                mine.add((event.about, event.seq))
        if (view := self.view_of(machine)) is None:
            return
        if self._epochs.get(machine) != entity.core.phase.epoch:
            self._epochs[machine] = entity.core.phase.epoch
            self._compare(number, entity, view)
        self._steps += 1
        if self._steps % EVERY == 0:
            self._look_at_logs(number, machine, view)

    def _compare(self, number: int, entity: Entity, view: Seen) -> None:
        """I7, at one who has just ended a round: its log is what the round sorted."""
        epoch = entity.core.phase.epoch
        known = self._sorted.setdefault((epoch, view.code), {})
        mine = known[number] = [(p.src, p.tseq) for p in entity.transfer.log.all()]
        for other, theirs in known.items():
            common = set(mine) & set(theirs)
            one, two = ([message for message in log if message in common] for log in (mine, theirs))
            if one != two:
                self.broken.append(f"I7: round {epoch}: n{number} sorts {one}, n{other} {two}")

    def _look_at_logs(self, number: int, machine: Machine, view: Seen) -> None:
        """I1 to I5, against those who are in the same view."""
        entity = cast(Entity, machine)
        log, phase, current = entity.transfer.log, entity.core.phase, entity.recovery.round
        others = dict(self._others(view))
        for k, other in others.items():
            believed = log.al.columns[k - 1]
            for j in view.sources:
                said, has = believed[j - 1], other.transfer.log.treq[j - 1]
                if said > has and not (view.code and self.passed_over(j, view.code[j - 1], range(has, said))):
                    self.broken.append(f"I1: n{number} believes that n{k} has {j}:{said - 1}, it has {has - 1}")
        now = [log.treq[:], log.preq[:], *map(list, log.al.columns), *map(list, log.pal.columns)]
        since = phase.epoch, phase.mode is Mode.RECOV, view  # go-back discards what lies behind the line, then
        then, before = self._known.get(machine, (since, now))
        if then == since and any(map(_fell, before, now)):
            self.broken.append(f"I2: n{number} falls from {before} to {now}")
        self._known[machine] = since, now
        for p in log.prl:
            for k, other in others.items():
                if other.transfer.log.treq[p.src - 1] <= p.tseq:
                    self.broken.append(f"I3: n{number} pre-acknowledges {p.src}:{p.tseq}, n{k} has not accepted it")
        held = Counter([(p.src, entity.transfer._membership.id(p)) for p in log.all()])
        for source, message in [one for one, times in held.items() if times > 1 or one in self._delivered[machine]]:
            self.broken.append(f"I5: n{number} holds {source}:{message:x} twice, or has delivered it")
        if current is not None and current.c is not None:
            agreed = self._lines.setdefault((current.number, view.code), current.c)
            if agreed != current.c:
                self.broken.append(f"I4: round {current.number}: {agreed}, and {current.c} at n{number}")

    def _others(self, view: Seen) -> Iterable[tuple[int, Entity]]:
        """Those who are in this view, and see it as well."""
        for number in view.members:
            if self.world.runs(number):
                machine = self.world.machine(number)
                theirs = self.view_of(machine)
                if theirs is not None and theirs.code == view.code:
                    yield number, cast(Entity, machine)


def _fell(before: Iterable[int], now: Iterable[int]) -> bool:
    return any(map(int.__gt__, before, now))
