"""The reliable sub-layer of cmd alone: everything once, in any order, then silence; and restarts on either side."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from harness.world import World
from nodes.cmd.reliable import Arrived, Frame, Reliable, Restarted, Result, Silent, Welcomed
from nodes.machine import Input, Log, Output, Received, Send, Submit
from nodes.wire import Pdu
from nodes.wire.cmd import CmdAck, CmdData, CmdHello, CmdWelcome
from nodes.wire.note import NoteKind
from tests.helpers.seeds import EverySeed

MS = 1_000_000
RETRY = 20 * MS


@dataclass(slots=True)
class Plain:
    """A machine that is nothing but the sub-layer: every submission a copy, every copy that arrives delivered."""

    me: int
    peers: tuple[int, ...]
    incarnation: int = 1
    window: int = 64
    attempts: int = 8
    told: list[Result] = field(default_factory=list)
    number: int = 0

    def __post_init__(self) -> None:
        self.number = 1000 * (self.incarnation - 1)
        self.sub = Reliable(
            self.me,
            self.peers,
            self.incarnation,
            retry_ns=RETRY,
            retry_max_ns=16 * RETRY,
            attempts=self.attempts,
            window=self.window,
        )

    sub: Reliable = field(init=False)

    @property
    def deadline(self) -> int | None:
        return self.sub.deadline

    def step(self, event: Input, now_ns: int) -> list[Output]:
        outputs: list[Output] = []
        if isinstance(event, Submit):
            self.number += 1
            for peer in event.to:
                if not self.sub.room(peer):
                    return [Log(NoteKind.REFUSED)]
                outputs += self.sub.send(peer, lambda frame: self.copy(event.data, frame), now_ns)
            return outputs
        results: list[Result] = []
        if isinstance(event, Received):
            results += self.sub.received(event.pdu, now_ns, self.number) or []
        for result in [*results, *self.sub.due(now_ns)]:
            if isinstance(result, Send):
                outputs.append(result)
            else:
                self.told.append(result)
        return outputs

    def copy(self, data: bytes, frame: Frame) -> CmdData:
        return CmdData(
            src=self.me,
            incarnation=frame.incarnation,
            to_incarnation=frame.to_incarnation,
            link=frame.link,
            repeated=0,
            t=0,
            n=0,
            nrec=0,
            v=(),
            r=(),
            payload=data,
        )

    def got(self) -> list[bytes]:
        return [told.copy.payload for told in self.told if isinstance(told, Arrived)]

    def settled(self) -> bool:
        return self.sub.idle()

    def counters(self) -> Mapping[str, int]:
        return {}


Fate = Callable[[Pdu, int, int], int | None]


class Pair:
    """Two nodes; what the network does with a PDU is decided per PDU, counted by type and direction."""

    def __init__(self, fate: Fate | None = None, window: int = 64, attempts: int = 8) -> None:
        self.world = World()
        self.window, self.attempts = window, attempts
        self.nodes = {1: self.node(1), 2: self.node(2)}
        for me, machine in self.nodes.items():
            self.world.add(me, machine)
        self.fate: Fate = fate or (lambda pdu, to, now: MS)
        self.world.mesh(lambda pdu, to, now: self.fate(pdu, to, now))

    def node(self, me: int, incarnation: int = 1) -> Plain:
        return Plain(me, (3 - me,), incarnation, self.window, self.attempts)

    def send(self, source: int, *names: bytes) -> None:
        for name in names:
            self.world.submit(source, (3 - source,), name)

    def restart(self, me: int) -> None:
        self.nodes[me] = self.node(me, self.nodes[me].incarnation + 1)
        self.world.restart(me, self.nodes[me])

    def run(self, milliseconds: int | None = None) -> Pair:
        self.world.run(None if milliseconds is None else self.world.now + milliseconds * MS)
        return self

    def sent(self, kind: type[Pdu]) -> int:
        return sum(isinstance(pdu, kind) for _, pdu in self.world.sent)


def losing(kind: type[Pdu], *which: int) -> Fate:
    """Lose the PDUs of a kind whose numbers are given, counted from 1."""
    count = 0

    def fate(pdu: Pdu, to: int, now: int) -> int | None:
        nonlocal count
        if isinstance(pdu, kind):
            count += 1
            if count in which:
                return None
        return MS

    return fate


NAMES = tuple(f"m{number}".encode() for number in range(1, 6))


@pytest.mark.parametrize("lost", [(1,), (5,), (1, 5), (3,), (1, 2, 3, 4, 5), (1, 6, 7, 8)])
def test_lost_copies_come_again(lost: tuple[int, ...]) -> None:
    """The first, the last, both, one between, all, and one again and again."""
    pair = Pair(losing(CmdData, *lost))
    pair.send(1, *NAMES)
    pair.run()
    assert sorted(pair.nodes[2].got()) == sorted(NAMES)
    assert pair.nodes[1].settled()
    assert pair.sent(CmdData) == len(NAMES) + len(lost)


def test_a_lost_last_copy_is_repeated_after_the_patience() -> None:
    pair = Pair(losing(CmdData, 1))
    pair.send(1, b"m")
    start = pair.world.now
    pair.run()
    times = [at - start for at, pdu in pair.world.sent if isinstance(pdu, CmdData)]
    assert times == [0, RETRY]


@pytest.mark.parametrize("lost", [(1,), (1, 2, 3)])
def test_lost_acknowledgements_cost_repetitions_and_end(lost: tuple[int, ...]) -> None:
    pair = Pair(losing(CmdAck, *lost))
    pair.send(1, b"m")
    pair.run()
    assert pair.nodes[2].got() == [b"m"]
    assert pair.nodes[1].settled()
    assert pair.sent(CmdData) == pair.sent(CmdAck) == 1 + len(lost)
    assert pair.nodes[2].sub.duplicates == len(lost)


def test_a_later_acknowledgement_covers_a_lost_one() -> None:
    pair = Pair(losing(CmdAck, 1))
    pair.send(1, b"m1", b"m2")
    pair.run()
    assert pair.sent(CmdData) == 2
    assert pair.nodes[1].settled()


def test_duplicates_are_dropped_and_answered() -> None:
    pair = Pair()

    def twice(pdu: Pdu, to: int, now: int) -> int:
        if isinstance(pdu, CmdData):
            pair.world.at(now + 3 * MS, lambda: pair.world.receive(to, pdu))
        return MS

    pair.fate = twice
    pair.send(1, *NAMES)
    pair.run()
    assert pair.nodes[2].got() == list(NAMES)
    assert pair.sent(CmdAck) == 2 * len(NAMES)
    assert pair.sent(CmdData) == len(NAMES)


def test_nothing_waits_for_order() -> None:
    delays = iter([9 * MS, MS, 5 * MS])
    pair = Pair()
    pair.fate = lambda pdu, to, now: next(delays) if isinstance(pdu, CmdData) else MS
    pair.send(1, b"slow", b"fast", b"middle")
    pair.run()
    assert pair.nodes[2].got() == [b"fast", b"middle", b"slow"]


def test_patience_follows_the_round_trip() -> None:
    """On a path of 100 ms nothing is repeated once the first answer has come, and said which sending it answers."""
    pair = Pair(lambda pdu, to, now: 50 * MS)
    pair.send(1, b"m1")
    pair.run()
    first = pair.sent(CmdData)
    assert first > 1  # it could not know
    for name in (b"m2", b"m3", b"m4", b"m5", b"m6"):
        pair.send(1, name)
        pair.run()
    assert pair.sent(CmdData) - first == 5
    assert sorted(pair.nodes[2].got()) == [b"m1", b"m2", b"m3", b"m4", b"m5", b"m6"]


# Bounds


def test_a_peer_that_does_not_answer_is_reported_and_left_alone_until_it_is_heard() -> None:
    pair = Pair(lambda pdu, to, now: None, attempts=5)
    pair.send(1, b"m1", b"m2")
    pair.run()
    assert pair.nodes[1].told == [Silent(2, 2)]
    assert pair.nodes[1].deadline is None and not pair.nodes[1].settled()
    assert pair.sent(CmdData) <= 2 * (1 + 5)
    pair.fate = lambda pdu, to, now: MS
    pair.send(2, b"hello")
    pair.run()
    assert pair.nodes[1].got() == [b"hello"] and sorted(pair.nodes[2].got()) == [b"m1", b"m2"]
    assert pair.nodes[1].settled() and pair.nodes[2].settled()


def test_a_copy_counts_its_repetitions_up_to_what_it_can_say() -> None:
    pair = Pair(lambda pdu, to, now: None, attempts=300)
    pair.send(1, b"m")
    pair.run()
    said = [pdu.repeated for _, pdu in pair.world.sent if isinstance(pdu, CmdData)]
    assert said == [*range(255), *[255] * (301 - 255)]
    pair.fate = lambda pdu, to, now: MS
    pair.send(2, b"I am here")
    pair.run()
    assert pair.nodes[2].got() == [b"m"] and pair.nodes[1].settled()


def test_a_silent_peer_is_heard_by_its_answer_to_something_new() -> None:
    pair = Pair(lambda pdu, to, now: None, attempts=3)
    pair.send(1, b"m1")
    pair.run()
    pair.fate = lambda pdu, to, now: MS
    pair.send(1, b"m2")
    pair.run()
    assert sorted(pair.nodes[2].got()) == [b"m1", b"m2"]
    assert pair.nodes[1].settled()


def repeated(sub: Reliable, until_ns: int) -> list[Result]:
    """What the sub-layer alone does until then."""
    results: list[Result] = []
    while (deadline := sub.deadline) is not None and deadline <= until_ns:
        results += sub.due(deadline)
    return results


def test_who_is_asked_again_is_asked_as_often_as_at_first() -> None:
    """The second copy was about to be repeated when the first one's end made the link silent, and what is due before
    that, for a third node, hides that it is not any more."""
    plain = Plain(1, (2, 3), attempts=3)
    plain.step(Submit(1, (2,), b"m1"), 0)
    plain.step(Submit(2, (2,), b"m2"), 10 * MS)
    before = repeated(plain.sub, 285 * MS)
    plain.step(Submit(3, (3,), b"m3"), 285 * MS)
    assert Silent(2, 2) not in before and plain.sub.due(300 * MS) == [Silent(2, 2)]
    again = plain.sub.ask_again(2, 301 * MS) + repeated(plain.sub, 1000 * MS)
    sent = Counter(each.pdu.payload for each in again if isinstance(each, Send) and isinstance(each.pdu, CmdData))
    del sent[b"m3"]
    assert sent == {b"m1": 3, b"m2": 3}


def test_the_window_bounds_what_is_under_way_and_what_a_receiver_remembers() -> None:
    """The first copy is lost for long; later ones are acknowledged, but the window ends `window` after the first."""
    pair = Pair(window=8)
    pair.fate = lambda pdu, to, now: None if isinstance(pdu, CmdData) and pdu.link == 1 else MS
    for number in range(20):
        pair.send(1, f"m{number}".encode())
        pair.run(2)
    assert len(pair.nodes[2].got()) == 7
    assert not pair.nodes[1].sub.room(2)
    pair.fate = lambda pdu, to, now: MS
    pair.run()
    assert len(pair.nodes[2].got()) == 8
    assert pair.nodes[1].sub.room(2)
    pair.world.receive(2, pair.nodes[1].copy(b"far", Frame(1, 1, 99)))
    assert b"far" not in pair.nodes[2].got() and pair.nodes[2].sub.stale == 1


def test_neither_side_remembers_what_is_over() -> None:
    """However many copies there were; the second of each three is lost at first, so that later ones come before it."""
    pair, sizes = Pair(), []
    for _ in range(2):
        for number in range(300):
            pair.fate = lambda pdu, to, now, lost=number % 3 == 1: None if lost else MS  # type: ignore[misc]
            pair.send(1, b"x")
            pair.run(2)
        pair.fate = lambda pdu, to, now: MS
        pair.run()
        sizes.append([len(pickle.dumps(node.sub)) for node in pair.nodes.values()])
    assert len(pair.nodes[2].got()) == 600
    assert all(abs(later - earlier) < 50 for earlier, later in zip(*sizes, strict=True)), sizes


# Restarts


def settle(pair: Pair) -> None:
    pair.send(1, b"a1")
    pair.send(2, b"b1")
    pair.run()


@pytest.mark.parametrize("who", [1, 2])
def test_after_a_restart_both_directions_work_again(who: int) -> None:
    """The sender or the receiver; links begin again with copy 1, which is no duplicate."""
    pair = Pair()
    settle(pair)
    pair.restart(who)
    pair.run()
    pair.send(1, b"a2")
    pair.send(2, b"b2")
    pair.run()
    assert pair.nodes[2].got()[-1] == b"a2" and pair.nodes[1].got()[-1] == b"b2"
    assert pair.nodes[1].settled() and pair.nodes[2].settled()
    other = pair.nodes[3 - who]
    assert [told for told in other.told if not isinstance(told, Arrived)] == [Restarted(who, 2, ())]
    assert [told for told in pair.nodes[who].told if isinstance(told, Welcomed)] == [Welcomed(3 - who, 1)]


@pytest.mark.parametrize("kind", [CmdHello, CmdWelcome, CmdData, CmdAck])
@pytest.mark.parametrize("who", [1, 2])
def test_the_first_pdu_after_a_restart_is_lost(kind: type[Pdu], who: int) -> None:
    pair = Pair()
    settle(pair)
    pair.fate = losing(kind, 1)
    pair.restart(who)
    pair.send(who, b"first")  # before anybody answered
    pair.run()
    pair.send(3 - who, b"answer")
    pair.run()
    assert pair.nodes[3 - who].got()[-1] == b"first"
    assert pair.nodes[who].got() == [b"answer"]
    assert pair.nodes[1].settled() and pair.nodes[2].settled()


def test_both_are_restarted_at_once() -> None:
    for lost in (0, 1, 2):
        pair = Pair()
        settle(pair)
        pair.fate = losing(CmdHello, lost)
        pair.restart(1)
        pair.restart(2)
        pair.send(1, b"a2")
        pair.send(2, b"b2")
        pair.run()
        assert pair.nodes[1].got() == [b"b2"] and pair.nodes[2].got() == [b"a2"]
        assert pair.nodes[1].settled() and pair.nodes[2].settled()


def test_what_was_under_way_to_the_old_incarnation_is_reported_lost() -> None:
    pair = Pair()
    settle(pair)
    pair.fate = lambda pdu, to, now: None
    pair.send(1, b"lost")
    pair.run(1)
    pair.fate = lambda pdu, to, now: MS
    pair.restart(2)
    pair.run()
    (restarted,) = [told for told in pair.nodes[1].told if isinstance(told, Restarted)]
    assert [copy.payload for copy in restarted.lost] == [b"lost"]
    assert pair.nodes[2].got() == []
    assert pair.nodes[1].settled()


def test_copies_of_an_old_incarnation_are_refused() -> None:
    """Slow ones: from the old self of the peer, and for the old self of the receiver."""
    pair = Pair()
    settle(pair)
    pair.fate = lambda pdu, to, now: 100 * MS if isinstance(pdu, CmdData) else MS
    pair.send(1, b"for the old one")
    pair.send(2, b"from the old one")
    pair.run(1)
    pair.fate = lambda pdu, to, now: MS
    pair.restart(2)
    pair.send(2, b"new")
    pair.run()
    assert pair.nodes[2].got() == [] and pair.nodes[1].got() == [b"b1", b"new"]
    assert pair.nodes[1].sub.stale > 0 and pair.nodes[2].sub.stale > 0
    assert pair.nodes[1].settled() and pair.nodes[2].settled()


def test_a_restart_that_nobody_announced_is_learnt_from_the_first_copy() -> None:
    """Every HELLO is lost; node 1 learns of it when its copy is refused, or from a copy of the new one."""
    pair = Pair()
    settle(pair)
    hellos = 0

    def fate(pdu: Pdu, to: int, now: int) -> int | None:
        nonlocal hellos
        hellos += isinstance(pdu, CmdHello)
        return None if isinstance(pdu, CmdHello) and hellos < 3 else MS

    pair.fate = fate
    pair.restart(2)
    pair.send(1, b"a2")  # refused by the new one, whose HELLO is lost; then HELLO again
    pair.run()
    pair.send(1, b"a3")
    pair.run()
    assert pair.nodes[2].got() == [b"a3"]
    (restarted,) = [told for told in pair.nodes[1].told if isinstance(told, Restarted)]
    assert [copy.payload for copy in restarted.lost] == [b"a2"]


def test_copies_of_two_links_to_one_peer_are_due_at_one_instant() -> None:
    """The old link's is out of date, but something for a third node, due before both, hides it."""
    plain = Plain(1, (2, 3))
    plain.step(Submit(1, (2,), b"old"), 0)
    assert len(repeated(plain.sub, RETRY)) == 1  # the next time at three times RETRY
    plain.step(Submit(2, (3,), b"another"), 3 * RETRY // 2)
    plain.step(Received(CmdHello(src=2, incarnation=2)), 3 * RETRY // 2)
    plain.step(Submit(3, (2,), b"new"), 2 * RETRY)
    again = [each.pdu for each in repeated(plain.sub, 3 * RETRY) if isinstance(each, Send)]
    assert [pdu.payload for pdu in again if isinstance(pdu, CmdData)] == [b"another", b"new"]


# At random


def chaos(seed: int) -> None:
    draw = random.Random(seed)
    loss, again = draw.choice([0.0, 0.1, 0.4]), draw.choice([0.0, 0.3])
    pair = Pair(window=draw.choice([4, 64]), attempts=30)

    def fate(pdu: Pdu, to: int, now: int) -> int | None:
        if draw.random() < again:
            pair.world.at(now + draw.randint(MS, 60 * MS), lambda: pair.world.receive(to, pdu))
        return None if draw.random() < loss else draw.randint(MS, 30 * MS)

    pair.fate = fate
    restarts = draw.choice([0, 0, 1, 2])
    names: dict[int, list[bytes]] = {1: [], 2: []}
    for number in range(draw.randint(5, 25)):
        source = draw.choice((1, 2))
        if pair.nodes[source].sub.room(3 - source):
            names[3 - source].append(f"{seed}.{number}".encode())
            pair.send(source, names[3 - source][-1])
        pair.run(draw.randint(0, 20))
        if restarts and draw.random() < 0.2:
            restarts -= 1
            pair.restart(draw.choice((1, 2)))
    pair.run()
    for me, node in pair.nodes.items():
        assert node.settled() and node.deadline is None, f"n{me}"
        assert len(node.got()) == len(set(node.got())), f"n{me}"
        assert set(node.got()) <= set(names[me]), f"n{me}"
        if not restarts and all(other.incarnation == 1 for other in pair.nodes.values()):
            assert sorted(node.got()) == sorted(names[me]), f"n{me}"
    for source in (1, 2):
        pair.fate = lambda pdu, to, now: MS
        pair.send(source, b"at last")
        pair.run()
        assert pair.nodes[3 - source].got()[-1] == b"at last"


def test_chaos(every_seed: EverySeed) -> None:
    every_seed(range(1500), chaos)
