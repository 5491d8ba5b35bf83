"""Clusters of ST and TO in the in-memory world: built, watched after every step, judged at the end.

What is watched are the invariants of the machines, by number:

    I1 nobody is believed to have what it does not have      I2 what an entity has and knows only grows
    I3 what is pre-acknowledged has been accepted by all     I4 one round, one line
    I5 what is delivered is delivered, and once              I6 the snapshot of a round never changes
    I7 what a round sorts is sorted equally by all           I8 after the last message the channel falls silent
    I9 an attempt at a join that is void has no points
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from captures.evidence import Event, Evidence, Notes
from harness.judges import Outcome, judge
from harness.world import Loss, World, no_loss
from nodes.machine import Log, Machine, Setting
from nodes.st.machine import St
from nodes.st.options import StOptions, Timing
from nodes.st.round import Mode
from nodes.to.machine import To
from nodes.to.options import ToOptions, ViewTiming
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.st import DataBlock, RoundBlock, SnapshotBlock, StRstPak
from nodes.wire.to import ToData, ToRstPak

SLOT = 1_000
ST = ("ST-1", "ST-2", "ST-3", "ST-4", "ST-5")


class Broken(AssertionError):
    """An invariant does not hold."""


Entity = St | To
Message = tuple[int, int]  # source, number


class Watched(World):
    """A world that looks into the machines after their steps, at every `every`-th one."""

    def __init__(self, seed: int = 0, every: int = 7) -> None:
        super().__init__(seed)
        self.every = every
        self._steps = 0
        self._known: dict[int, tuple[object, list[list[int]]]] = {}
        self._lines: dict[object, tuple[int, ...]] = {}
        self._delivered: dict[int, set[Message]] = {}
        self._epochs: dict[int, int] = {}
        self._sorted: dict[object, dict[int, list[Message]]] = {}

    def start(self, number: int, machine: Machine) -> None:
        self._delivered.pop(number, None)
        super().start(number, machine)

    def note(self, number: int, log: Log) -> None:
        super().note(number, log)
        if log.kind is NoteKind.DELIVERED:
            mine = self._delivered.setdefault(number, set())
            if (log.about, log.seq) in mine:
                raise Broken(f"I5: n{number} delivered {log.about}:{log.seq} again")
            mine.add((log.about, log.seq))

    def _after(self, number: int, outputs: list[Any]) -> None:
        super()._after(number, outputs)
        self._steps += 1
        machine = self._nodes[number].machine
        if isinstance(machine, To) and machine.attempt.void and machine.attempt.packs:
            raise Broken(f"I9: n{number} keeps the points of {sorted(machine.attempt.packs)}")
        if isinstance(machine, Entity):
            if self._epochs.get(number) != machine.core.phase.epoch:
                self._epochs[number] = machine.core.phase.epoch
                self.compare_sorted(number, machine)
            if self._steps % self.every == 0:
                self.look(number, machine)

    def compare_sorted(self, number: int, machine: Entity) -> None:
        """I7, at one who has just ended a round: his log is what the round sorted."""
        view = view_of(machine)
        if view is None:
            return
        known = self._sorted.setdefault((machine.core.phase.epoch, view.code), {})
        mine = known[number] = [(p.src, p.tseq) for p in machine.transfer.log.all()]
        for k, theirs in known.items():
            common = set(mine) & set(theirs)
            one, other = ([message for message in log if message in common] for log in (mine, theirs))
            if one != other:
                raise Broken(f"I7: round {machine.core.phase.epoch}: n{number} sorted {one}, n{k} {other}")

    def look(self, number: int, machine: Entity) -> None:
        """I1 to I5 at one machine, against those that are in the same view."""
        log, view = machine.transfer.log, view_of(machine)
        if view is None:
            return
        machines = {n: m for n in view.members if isinstance(m := self._nodes[n].machine, Entity)}
        others = {n: m.transfer.log for n, m in machines.items() if (theirs := view_of(m)) and theirs.code == view.code}
        for k, other in others.items():
            for j in view.sources:
                believed, has = log.al.columns[k - 1][j - 1], other.treq[j - 1]
                if believed > has and (not view.code or self._messages(j, view.code[j - 1], range(has, believed))):
                    raise Broken(f"I1: n{number} believes n{k} has {log.al.columns[k - 1]}, it has {other.treq}")
        phase, current = machine.core.phase, machine.recovery.round
        now = [log.treq[:], log.preq[:], *map(list, log.al.columns), *map(list, log.pal.columns)]
        since = (phase.epoch, phase.mode is Mode.RECOV, view)  # go-back discards what lies behind the line, then
        then, before = self._known.get(number, (since, now))
        if then == since and any(map(_fell, before, now)):
            raise Broken(f"I2: n{number} fell from {before} to {now}")
        self._known[number] = (since, now)
        for p in log.prl:
            for k, other in others.items():
                if other.treq[p.src - 1] <= p.tseq:
                    raise Broken(f"I3: n{number} pre-acknowledged {p.src}:{p.tseq}, n{k} has not accepted it")
        delivered = self._delivered.get(number, set())
        for p in log.all():
            if (p.src, machine.transfer._membership.id(p)) in delivered:
                raise Broken(f"I5: n{number} has delivered {p.src}:{p.tseq} and holds it again")
        if current is not None and current.c is not None:
            agreed = self._lines.setdefault((current.number, view.code), current.c)
            if agreed != current.c:
                raise Broken(f"I4: round {current.number}: {agreed} and, at n{number}, {current.c}")

    def _messages(self, src: int, code: int, tseqs: range) -> bool:
        """Are there messages among these numbers? Members of TO may pass over what are ACK PDUs only."""
        numbered = (p for _, p in self.sent if isinstance(p, ToData) and p.src == src and p.dst)
        return any(p.tseq in tseqs and p.v[src - 1] == code for p in numbered)


@dataclass(frozen=True, slots=True)
class Seen:
    """The view of one machine: what its knowledge is about."""

    code: tuple[int, ...]  # equal where views are
    members: frozenset[int]
    sources: frozenset[int]  # whose numbers mean the same to all in this view


def view_of(machine: Entity) -> Seen | None:
    """In ST everybody, always; nothing for an entity of TO that is not a member."""
    if isinstance(machine, St):
        everybody = frozenset(machine.core.setting.members)
        return Seen((), everybody, everybody)
    here = machine.standing
    if not here.is_inside() or here.committed[machine.core.index] != here.code:
        return None
    # Of a stopped one, what I reported is final, whatever others have.
    return Seen(here.committed, here.members, frozenset(j for j in here.members if not here.v[j - 1] & 1))


def _fell(before: Iterable[int], now: Iterable[int]) -> bool:
    return any(map(int.__gt__, before, now))


def snapshots_are_frozen(world: World) -> None:
    """I6, over everything sent."""
    first: dict[tuple[int, int], SnapshotBlock] = {}
    for _, pdu in world.sent:
        if isinstance(pdu, RoundBlock | StRstPak | ToRstPak):
            known = first.setdefault((pdu.src, pdu.epoch), pdu)
            if (known.a_t, known.a_p) != (pdu.a_t, pdu.a_p):
                raise Broken(f"I6: n{pdu.src} changed its snapshot of round {pdu.epoch}: {known} and {pdu}")


def add_st(world: World, n: int, options: StOptions | None = None, **setting: Any) -> None:
    """Entities 1..n, joined to nothing yet."""
    chosen = options or StOptions()
    members = tuple(range(1, n + 1))
    for me in members:
        seed = world.random.randrange(1 << 30)
        world.add(me, St(Setting(me=me, members=members, seed=seed, **{"slot_ns": SLOT, **setting}), chosen))


def st_world(
    n: int,
    options: StOptions | None = None,
    *,
    seed: int = 0,
    loss: Loss = no_loss,
    watched: bool = True,
    every: int = 7,
    **setting: Any,
) -> World:
    """A cluster on one channel."""
    world = Watched(seed, every) if watched else World(seed)
    add_st(world, n, options, **setting)
    world.channel(SLOT, loss)
    return world


def losing(*cases: tuple[Callable[[Pdu], bool], int]) -> Loss:
    """Lose the first PDU that fits at that receiver, for each (which, receiver) once."""
    waiting = list(cases)

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        for case in waiting:
            if case[1] == receiver and case[0](pdu):
                waiting.remove(case)
                return True
        return False

    return loss


def data(src: int, payload: bytes) -> Callable[[Pdu], bool]:
    """Which PDU is the first copy of this message?"""
    return lambda pdu: isinstance(pdu, DataBlock) and pdu.src == src and getattr(pdu, "payload", b"") == payload


def titled(title: str, src: int) -> Callable[[Pdu], bool]:
    """Which PDU is one of this type and source?"""
    return lambda pdu: pdu.TYPE.title == title and pdu.src == src


def ended(history: Evidence) -> Evidence:
    """The history with the mark that the run ended because all was quiet."""
    at = history.notes[-1].time_ns if history.notes else 0
    end = Event(at, 0, NoteKind.MARK, text="end quiet", number=1, capture="memory", frame=len(history.notes) + 1)
    return replace(history, notes=Notes((*history.notes, end)))


def failures(world: World, properties: tuple[str, ...] = ST, *, quiet: bool = True) -> list[str]:
    """What the judges say against the run: "ST-3: ..."; an undecided property counts."""
    history = ended(world.history()) if quiet else world.history()
    verdicts = judge(history, properties)
    return [f"{v.property}: {v.sentence}" for v in verdicts if v.outcome is not Outcome.PASS]


def delivered(world: World, node: int, names: Callable[[int, int], str] | None = None) -> str:
    """ARL of a node: "1:1 2:1 1:2"."""
    name = names or (lambda about, seq: f"{about}:{seq}")
    events = world.history().notes
    return " ".join(name(e.about, e.seq) for e in events if e.node == node and e.kind is NoteKind.DELIVERED)


def payloads(world: World) -> Callable[[int, int], str]:
    """Names of messages by what they carry."""
    carried = {(p.src, p.tseq): getattr(p, "payload", b"").decode() for _, p in world.sent if isinstance(p, DataBlock)}
    return lambda about, seq: carried[about, seq & 0xFFFFFFFF]


def entity(world: World, node: int) -> Entity:
    """The machine of a node, to look at."""
    machine: Machine = world.machine(node)
    assert isinstance(machine, Entity)
    return machine


# TO: entities that stop and come back.

TD = ("TD-1", "TD-2", "TD-3", "TD-4", "TD-5", "TD-6")


class Restless(Watched):
    """A world whose nodes crash, are restarted, freeze and lose their links. The judges see these faults."""

    def __init__(self, n: int, options: ToOptions, seed: int = 0, **setting: Any) -> None:
        super().__init__(seed)
        self.n, self._options = n, options
        self._setting = {"slot_ns": SLOT, **setting}
        self._starts = dict.fromkeys(range(1, n + 1), 0)
        for me in range(1, n + 1):
            self.add(me, self._make(me))

    def _make(self, me: int) -> To:
        self._starts[me] += 1
        members, seed = tuple(range(1, self.n + 1)), self.random.randrange(1 << 30)
        start = self._starts[me]
        return To(Setting(me=me, members=members, seed=seed, incarnation=start, **self._setting), self._options)

    @property
    def everybody(self) -> tuple[int, ...]:
        return tuple(range(1, self.n + 1))

    def alive(self) -> list[To]:
        return [m for node in self._nodes.values() if isinstance(m := node.machine, To)]

    def start_again(self, node: int) -> None:
        if self._nodes[node].machine is None:
            self.restart(node, self._make(node))

    def stop_time(self) -> int:
        return ViewTiming.of(self._options, Timing.of(self._options.transfer(), self.n, SLOT), self.n, SLOT).stop

    def calm(self) -> bool:
        """All who are up are members of one view, and nothing is owed to anybody."""
        alive = self.alive()
        return all(m.settled() for m in alive) and len({m.standing.committed for m in alive}) <= 1

    def run_until_calm(self, limit_ns: int) -> bool:
        end = self.now + limit_ns
        while self.now < end:
            self.run(until_ns=min(end, self.now + self.stop_time() // 4), max_events=400_000)
            if self.calm():
                return True
        return False

    def say(self, src: int, data: bytes = b"x") -> None:
        self.submit(src, self.everybody, data)
