"""Random schedules of TO: crashes, farewells, restarts, frozen nodes, cut links, partitions, loss."""

from __future__ import annotations

import random
from typing import Any

from nodes.to.options import ToOptions
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.st import DataBlock, SnapshotBlock
from nodes.wire.to import ViewBlock
from tests.helpers.cluster import SLOT, TD, Broken, Restless, failures

SUSPENDED, LIVE = ToOptions(), ToOptions(recovery="live")


class Trouble:
    """The faults of one schedule: what happens when, and which copies are lost."""

    def __init__(self, world: Restless, chance: random.Random) -> None:
        self.world, self.chance = world, chance
        self.data = chance.choice((0.0, 0.01, 0.03, 0.08))
        self.control = chance.choice((0.0, 0.1, 0.3))
        self.groups: list[set[int]] | None = None
        self.deaf: set[tuple[int, int]] = set()  # (source, receiver): one way only
        world.reachable = self.reachable

    def loss(self, pdu: Pdu, receiver: int, now: int) -> bool:
        share = self.data if isinstance(pdu, DataBlock | SnapshotBlock) else max(self.data, self.control)
        return self.chance.random() < share

    def reachable(self, src: int, dst: int) -> bool:
        if (src, dst) in self.deaf:
            return False
        return self.groups is None or any(src in group and dst in group for group in self.groups)

    def crash(self, at: int, node: int, back: int | None) -> None:
        world = self.world
        world.at(at, lambda: world.kill(node) if world._nodes[node].machine is not None else None)
        if back is not None:
            world.at(at + back, lambda: world.start_again(node))

    def leave(self, at: int, node: int, back: int) -> None:
        world = self.world
        there = world._nodes[node]
        world.at(at, lambda: world.leave(node) if there.machine is not None and there.paused is None else None)
        world.at(at + back, lambda: world.start_again(node))

    def freeze(self, at: int, node: int, length: int) -> None:
        world = self.world
        world.at(at, lambda: world.pause(node) if world._nodes[node].paused is None else None)
        world.at(at + length, lambda: world.resume(node) if world._nodes[node].paused is not None else None)

    def cut(self, at: int, node: int, length: int) -> None:
        world = self.world
        world.at(at, lambda: world.link(node, False))
        world.at(at + length, lambda: world.link(node, True))

    def split(self, at: int, groups: list[set[int]], length: int) -> None:
        self.world.at(at, lambda: setattr(self, "groups", groups))
        self.world.at(at + length, lambda: setattr(self, "groups", None))

    def deafen(self, at: int, pairs: set[tuple[int, int]], length: int) -> None:
        self.world.at(at, lambda: self.deaf.update(pairs))
        self.world.at(at + length, lambda: self.deaf.difference_update(pairs))


def schedule(
    seed: int, options: ToOptions | None = None, kinds: str = "cfgklpd", n: int | None = None
) -> tuple[Restless, bool]:
    """One random run, until all is calm; kinds: crash, freeze, go, cut (k), partition, deaf. Whether it became calm."""
    chance = random.Random(seed)
    n = n or 3 + seed % 3
    world = Restless(n, options or ToOptions(silence=chance.choice((12, 20))), seed)
    trouble = Trouble(world, chance)
    world.channel(SLOT, trouble.loss)
    stop, begin = world.stop_time(), world.now
    length = chance.choice((1, 2)) * stop
    for _ in range(chance.randrange(4, 10 * n)):
        src = chance.randrange(1, n + 1)
        world.at(begin + chance.randrange(2 * length), lambda src=src: world.say(src))  # type: ignore[misc]
    for _ in range(chance.randrange(0, 4)):
        at, kind, node = begin + chance.randrange(length), chance.choice(kinds), chance.randrange(1, n + 1)
        span = chance.randrange(1, chance.choice((20, 3 * stop // SLOT))) * SLOT
        if kind == "c":
            trouble.crash(at, node, span)
        elif kind == "f":
            trouble.freeze(at, node, span)
        elif kind == "g":
            trouble.leave(at, node, span)
        elif kind == "k":
            trouble.cut(at, node, span)
        elif kind == "p":
            group = set(chance.sample(range(1, n + 1), chance.randrange(1, n)))
            trouble.split(at, [group, set(range(1, n + 1)) - group], span)
        elif kind == "d":
            others = chance.sample([j for j in range(1, n + 1) if j != node], chance.randrange(1, n))
            way = chance.random() < 0.5
            trouble.deafen(at, {(j, node) if way else (node, j) for j in others}, span)
        elif kind == "l" and chance.random() < 0.3:  # dies for good, a minority of the cluster only
            trouble.crash(at, n, None)
    world.run(until_ns=begin + 2 * length)
    return world, world.run_until_calm(60 * stop)


def busy_returns(seed: int, options: ToOptions) -> list[str]:
    """What is wrong where members send all the time, lose 8% of data and 30% of view control, and up to a minority
    comes back at about the same time; one of them may die in the join, and somebody else may be frozen."""
    chance = random.Random(seed)
    n = 3 + seed % 4
    world = Restless(n, options, seed)
    world.channel(SLOT, lambda pdu, to, now: chance.random() < (0.3 if isinstance(pdu, ViewBlock) else 0.08))
    trouble, stop, begin = Trouble(world, chance), world.stop_time(), world.now
    joiners = chance.sample(range(1, n + 1), chance.randrange(1, (n + 1) // 2))
    returns = begin + 2 * stop
    for node in joiners:
        trouble.crash(begin, node, returns - begin + chance.randrange(60) * SLOT)
    if chance.random() < 0.3:
        trouble.crash(returns + chance.randrange(60, 150) * SLOT, joiners[0], stop)
    if chance.random() < 0.3:
        trouble.freeze(returns + chance.randrange(100) * SLOT, chance.randrange(1, n + 1), chance.randrange(stop))
    for _ in range(80):
        src = chance.randrange(1, n + 1)
        world.at(returns + chance.randrange(-10, 200) * SLOT, lambda src=src: world.say(src))  # type: ignore[misc]
    return judged(world, returns + 2 * stop)


def lost_majority(seed: int, options: ToOptions) -> list[str]:
    """What is wrong where half of the cluster or more crashes, leaves or is cut off, comes back, and all go on."""
    chance = random.Random(seed)
    n = 3 + seed % 4
    world = Restless(n, options, seed)
    trouble, stop, begin = Trouble(world, chance), world.stop_time(), world.now
    world.channel(SLOT, trouble.loss)
    for node in chance.sample(range(1, n + 1), chance.randrange((n + 1) // 2, n + 1)):
        at, span = begin + chance.randrange(stop), chance.randrange(1, 2 * stop)
        befall = chance.choice((trouble.crash, trouble.crash, trouble.leave, trouble.cut))
        befall(at, node, span)
    for _ in range(20 * n):
        src = chance.randrange(1, n + 1)
        world.at(begin + chance.randrange(12 * stop), lambda src=src: world.say(src))  # type: ignore[misc]
    return judged(world, begin + 12 * stop)


def judged(world: Restless, until_ns: int) -> list[str]:
    """What is wrong when it has become calm, some time after."""
    try:
        world.run(until_ns=until_ns)
        calm = world.run_until_calm(60 * world.stop_time())
    except (Broken, AssertionError) as error:
        return [f"{type(error).__name__}: {error}"]
    return ([] if calm else ["never calm"]) + failures(world, TD, quiet=calm)


def complaints(seed: int, options: ToOptions | None = None, **how: Any) -> list[str]:
    """What is wrong with the run of that seed."""
    try:
        world, calm = schedule(seed, options, **how)
    except (Broken, AssertionError) as error:
        return [f"{type(error).__name__}: {error}"]
    states = [f"n{m.core.me} {m.standing.vm.value} {m.core.phase.mode.value}" for m in world.alive()]
    wrong = [] if calm else ["never calm: " + "; ".join(states)]
    wrong += [e.text for e in world.history().notes if e.kind is NoteKind.ALARM and "REQ*" in e.text]
    return wrong + failures(world, TD, quiet=calm)
