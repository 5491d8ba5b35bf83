"""cmd when nodes are restarted, which paper 004 leaves out: what the old life had under way is lost and reported, order
holds among all that is delivered, nobody waits for what cannot come, and afterwards everything works."""

from __future__ import annotations

import random

import pytest

from captures.evidence import Event
from harness.world import World
from nodes.cmd.machine import Cmd
from nodes.cmd.options import CmdOptions
from nodes.cmd.orders import Queued, SRecords
from nodes.cmd.rules import NUMBERING
from nodes.machine import Setting
from nodes.wire import Pdu
from nodes.wire.cmd import CmdData, CmdWelcome
from nodes.wire.note import NoteKind
from tests.helpers.seeds import EverySeed
from tests.helpers.verdicts import objections

MS = 1_000_000
MEMBERS = (1, 2, 3)
OPTIONS = CmdOptions(retry_ns=20 * MS, attempts=60)


def entity(me: int, members: tuple[int, ...] = MEMBERS, incarnation: int = 1) -> Cmd:
    return Cmd(Setting(me=me, members=members, seed=me, incarnation=incarnation), OPTIONS)


def world(members: tuple[int, ...] = MEMBERS) -> World:
    made = World()
    for me in members:
        made.add(me, entity(me, members))
    made.mesh(lambda pdu, to, now: MS)
    return made


def events(made: World, kind: NoteKind, node: int) -> list[Event]:
    return [event for event in made.history().notes if event.kind is kind and event.node == node]


def test_nobody_waits_for_what_the_old_life_did_not_get_through() -> None:
    """P1 sends m1 to P3 (lost) and m2 to P2, and dies. P2 sends m3 to P3: m1, which it should follow, cannot come."""
    made = world()
    made.mesh(lambda pdu, to, now: None if (isinstance(pdu, CmdData) and (pdu.src, to) == (1, 3)) else MS)
    made.submit(1, (3,), b"m1")
    made.submit(1, (2,), b"m2")
    made.run(made.now + 5 * MS)
    made.submit(2, (3,), b"m3")
    made.run(made.now + 5 * MS)
    assert events(made, NoteKind.DELIVERED, 3) == []
    made.kill(1)
    made.restart(1, entity(1, incarnation=2))
    made.mesh(lambda pdu, to, now: MS)
    made.run()
    assert [event.about for event in events(made, NoteKind.DELIVERED, 3)] == [2]
    assert made.settled()
    assert [event.text for event in events(made, NoteKind.ALARM, 3)] == ["peer was restarted"]


def test_the_new_life_does_not_wait_for_what_the_old_one_had() -> None:
    """P3 had m1 and m2 and was restarted; the next message of P1 says that m2 comes before it."""
    made = world()
    made.submit(1, (3,), b"m1")
    made.submit(1, (3,), b"m2")
    made.run()
    made.kill(3)
    made.restart(3, entity(3, incarnation=2))
    made.run()
    made.submit(1, (3,), b"m3")
    made.submit(3, (1,), b"m4")
    made.run()
    assert [event.incarnation for event in events(made, NoteKind.DELIVERED, 3)] == [1, 1, 2]
    assert events(made, NoteKind.DELIVERED, 1)[-1].seq in NUMBERING.of(2)  # numbers of the new life are above the old
    assert made.settled()


def test_the_new_life_waits_for_what_was_sent_to_it() -> None:
    """m1 to the new P3 is slow; m3, after it by way of P2, waits, also when it comes before WELCOME."""
    made = world()
    made.kill(3)
    made.restart(3, entity(3, incarnation=2))

    def slow(pdu: Pdu, to: int, now: int) -> int:
        late = isinstance(pdu, CmdWelcome) or (isinstance(pdu, CmdData) and pdu.payload == b"m1")
        return 15 * MS if late else MS

    made.mesh(slow)
    made.run(made.now + 2 * MS)
    made.submit(1, (3,), b"m1")
    made.submit(1, (2,), b"m2")
    made.run(made.now + 2 * MS)
    made.submit(2, (3,), b"m3")
    made.run()
    assert [event.about for event in events(made, NoteKind.DELIVERED, 3)] == [1, 2]


@pytest.mark.parametrize("teller", [2, 3])
def test_what_the_old_life_sent_comes_first_also_with_who_heard_of_the_new_one(teller: int) -> None:
    """m1 of P1 to P4 is slow, P2 knows of it, and P1 comes back. Its new life speaks to P2, or to P3, which then hears
    of m1 from P2. What that one sends to P4 comes after m1 (D-CM-9)."""
    made = world((1, 2, 3, 4))
    made.mesh(lambda pdu, to, now: (50 if (pdu.src, to) == (1, 4) else 1) * MS)
    made.submit(1, (4,), b"m1")
    made.submit(1, (2,), b"m2")
    made.run(made.now + 5 * MS)
    made.kill(1)
    made.restart(1, entity(1, (1, 2, 3, 4), incarnation=2))
    made.submit(1, (teller,), b"m3")
    made.run(made.now + 5 * MS)
    if teller == 3:
        made.submit(2, (3,), b"m4")
        made.run(made.now + 5 * MS)
    assert len(events(made, NoteKind.DELIVERED, teller)) == 2
    made.submit(teller, (4,), b"m5")
    made.run()
    assert [event.about for event in events(made, NoteKind.DELIVERED, 4)] == [1, teller]


class Hasty(SRecords):
    """As soon as something is known to be lost, nobody waits: neither for what came before it and is in the Queue."""

    def _is_over(self, k: int, t: int, queued: Queued) -> bool:
        return self._knows(k, t) or self._lost[k] >= t


def restarts(seed: int, order: type[SRecords] = SRecords) -> None:
    draw = random.Random(seed)
    n = draw.randint(2, 4)
    members = tuple(range(1, n + 1))
    made = World()

    def life(me: int, incarnation: int) -> Cmd:
        machine = entity(me, members, incarnation)
        machine.order = order(me, members, incarnation, OPTIONS)
        return machine

    for me in members:
        made.add(me, life(me, 1))
    loss, again = draw.choice([0.0, 0.1, 0.3]), draw.choice([0.0, 0.2])
    longest = draw.choice([5, 60])

    def delay(pdu: Pdu, to: int, now: int) -> int | None:
        if draw.random() < again:
            made.at(now + draw.randint(MS, 100 * MS), lambda: made.receive(to, pdu))
        return None if draw.random() < loss else draw.randint(MS, longest * MS)

    made.mesh(delay)
    lives = dict.fromkeys(members, 1)

    def submit() -> None:
        made.submit(draw.choice(members), tuple(draw.sample(members, draw.randint(1, n))), b"")

    def restart() -> None:
        me = draw.choice(members)
        lives[me] += 1
        made.kill(me)
        made.restart(me, life(me, lives[me]))

    at = made.now
    for _ in range(draw.randint(10, 30)):
        at += draw.randint(0, 10 * MS)
        made.at(at, submit if draw.random() < 0.9 else restart)
    made.run(max_events=50_000)
    assert made.settled()
    against = objections(made.history(), "CD-1", "NC", "ND")
    assert not against, against
    before = {me: len(events(made, NoteKind.DELIVERED, me)) for me in members}
    for me in members:
        made.submit(me, members, b"at last")
    made.run(max_events=50_000)
    assert {me: len(events(made, NoteKind.DELIVERED, me)) - before[me] for me in members} == dict.fromkeys(members, n)
    assert made.settled()


@pytest.mark.parametrize("first", range(0, 1200, 300))
def test_restarts_at_random(first: int, every_seed: EverySeed) -> None:
    every_seed(range(first, first + 300), restarts)


def test_haste_after_a_restart_is_caught() -> None:
    with pytest.raises(AssertionError, match="CD-1"):
        for seed in range(1200):
            restarts(seed, Hasty)
