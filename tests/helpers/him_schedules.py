"""Random schedules of HIM: loss, reordering, duplicates, crashes, restarts, pauses, cuts; judged like a capture."""

from __future__ import annotations

import random
from dataclasses import dataclass

from nodes.him.options import HimOptions
from nodes.wire.him import HimData
from nodes.wire.note import NoteKind
from tests.helpers.group import MS, Group


@dataclass(frozen=True)
class Schedule:
    """Everything is drawn from the kind and the seed."""

    kind: str  # "proof", "silence", "orphan", "printed"
    seed: int

    def group(self) -> tuple[Group, random.Random, bool]:
        chance = random.Random(f"{self.kind} {self.seed}")
        n = chance.choice((2, 3) if self.kind == "proof" and self.seed % 2 else (4, 5, 6, 7))
        proof = self.kind == "proof" and n > 3
        rto_ns = 10 * MS
        chosen = HimOptions(
            rules="printed" if self.kind == "printed" else "repaired",
            printed_end=self.kind == "orphan, as printed",
            confirm="tree" if proof else "evidence",
            adj=chance.choice(("ring", "ring", "random", "near_far")) if self.kind != "silence" else "ring",
            neighbours=chance.choice((1, 1, 2)),
            hasten=chance.random() < 0.8,
            fanout=chance.choice((1, 2, 4)),
            rto_initial_ns=rto_ns,
            rto_min_ns=2 * MS,
            rto_max_ns=100 * MS,
        )
        trouble = chance.random() < 0.6
        loss = chance.uniform(0, 0.25) if self.kind == "proof" else 0.0 if trouble else chance.uniform(0, 0.03)
        group = Group(
            n,
            chosen,
            one_way_ns=MS // 2,
            jitter_ns=chance.choice((0, MS // 2, 2 * MS)),
            loss=loss,
            duplicate=chance.choice((0.0, 0.0, 0.1)),
            seed=self.seed,
            hops=lambda a, b: abs(a - b) // 2,
        )
        return group, chance, trouble

    def run(self) -> Group:
        group, chance, trouble = self.group()
        world, begin = group.world, group.world.now
        if self.kind.startswith("orphan"):
            self._orphan(group, chance, begin)
            world.run(max_events=200_000)
            return group
        for _ in range(chance.randint(2, 12)):
            number = chance.choice(group.members)
            data = chance.randbytes(4)
            world.at(begin + chance.randrange(200 * MS), lambda number=number, data=data: group.submit(number, data))  # type: ignore[misc]
        if trouble:
            self._trouble(group, chance, begin + chance.randrange(150 * MS))
        world.run(max_events=200_000)
        return group

    def _orphan(self, group: Group, chance: random.Random, begin: int) -> None:
        """Somebody sends, some do not get it, and he dies, at once or later, for ever or not."""
        world, sender = group.world, chance.choice(group.members)
        without = set(chance.sample(group.members, chance.randint(1, len(group.members) - 2)))
        loss = chance.choice((0.0, 0.0, 0.1))
        group.dropped = lambda pdu, receiver, now: (
            (isinstance(pdu, HimData) and receiver in without) or world.random.random() < loss
        )
        world.at(begin + 20 * MS, lambda: group.submit(sender, chance.randbytes(4)))
        dies = begin + 20 * MS + chance.randrange(chance.choice((2, 20, 200)) * MS)
        world.at(dies, lambda: world.kill(sender))
        if chance.random() < 0.4:
            back = dies + chance.randrange(300 * MS)
            world.at(back, lambda: world.restart(sender, group.made(sender, incarnation=2)))

    def _trouble(self, group: Group, chance: random.Random, at_ns: int) -> None:
        world, victim = group.world, chance.choice(group.members)
        what, lasts_ns = chance.choice(("crash", "restart", "pause", "link")), chance.randrange(1, 200 * MS)
        if what in ("crash", "restart"):
            world.at(at_ns, lambda: world.kill(victim))
        if what == "restart":
            world.at(at_ns + lasts_ns, lambda: world.restart(victim, group.made(victim, incarnation=2)))
        if what == "pause":
            world.at(at_ns, lambda: group.pause(victim))
            world.at(at_ns + lasts_ns, lambda: world.resume(victim))
        if what == "link":
            world.at(at_ns, lambda: group.cut_off(victim))
            world.at(at_ns + lasts_ns, lambda: world.link(victim, True))


def objections(schedule: Schedule, *properties: str) -> dict[str, str]:
    group = schedule.run()
    found = group.violations(*properties)
    if not group.world.settled():
        found["settled"] = "somebody still waits"
    sent = {(e.node, e.seq) for e in group.notes(NoteKind.SENT) if group.world._nodes[e.node].incarnation == 1}
    told = {(e.about, e.seq) for e in group.notes(NoteKind.RESULT)}
    alive = {key for key in sent if group.world._nodes[key[0]].machine is not None}
    if alive - told:
        found["told"] = f"no RESULT of {sorted(alive - told)}"
    return found
