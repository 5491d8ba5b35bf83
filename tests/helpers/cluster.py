"""Clusters of ST and TO in the in-memory world: built, watched after every step, judged at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from captures.evidence import Event, Evidence, Notes
from harness.explore.invariants.st import Logs, is_repaired
from harness.explore.invariants.to import Clusters
from harness.judges import Outcome, judge
from harness.world import Loss, World, no_loss
from nodes.machine import Machine, Setting
from nodes.st.machine import St
from nodes.st.options import StOptions, Timing
from nodes.to.machine import To
from nodes.to.options import ToOptions, ViewTiming
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.st import DataBlock

SLOT = 1_000
ST = ("ST-1", "ST-2", "ST-3", "ST-4", "ST-5")


class Broken(AssertionError):
    """An invariant does not hold."""


Entity = St | To


class Watched(World):
    """A world that ends with the first promise of the machines (harness/explore/invariants/) that is broken. Printed
    rules promise nothing."""

    def __init__(self, seed: int, watch: type[Logs], options: StOptions | ToOptions) -> None:
        super().__init__(seed)
        self.watching = watch(self, options)
        self._promises = is_repaired(options)

    def _after(self, number: int, outputs: list[Any]) -> None:
        super()._after(number, outputs)
        for complaint in self.watching.broken if self._promises else ():
            raise Broken(complaint)


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
    **setting: Any,
) -> World:
    """A cluster on one channel."""
    world = Watched(seed, Logs, options or StOptions()) if watched else World(seed)
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
        super().__init__(seed, Clusters, options)
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
