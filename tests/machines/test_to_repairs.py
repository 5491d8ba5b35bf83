"""What random schedules found to be missing in TO: each repair taken out again, on a schedule that shows it.

A schedule is a seed of to_schedules.complaints, without farewells, or of busy_returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.explore.judging import judged as judged_case
from harness.scenario.load import load
from nodes.to.attempt import JoinRecord
from nodes.to.join import Joins
from nodes.to.joiner import Joiner
from nodes.to.live import Manner
from nodes.to.machine import To
from nodes.to.membership import Membership
from nodes.to.options import ToOptions
from nodes.to.standing import Standing
from nodes.to.stop import Stops
from nodes.to.views import View, ViewMode
from nodes.to.waiting import Waiting
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.st import SnapshotBlock
from nodes.wire.to import JoinBlock, StopBlock, ToData, ToPdu, ToRcv, ToRcvAck, ToRcvPack
from tests import ROOT
from tests.helpers.cluster import SLOT, TD, Broken, Restless, failures
from tests.helpers.to_schedules import LIVE, busy_returns, complaints, judged, schedule

admit, begin_again, flush, look_again = Joins._admit, Joiner._begin_again, Joins._flush, Waiting.look_again
collect = Joins._collect


def false_witness(self: Joiner, known: View) -> None:
    """A joiner shows the view it joins as committed: another joiner takes that for its own admission."""
    begin_again(self, known)
    here, me = self._standing, self._core.index
    here._set(known, tuple([0 if k == me else code for k, code in enumerate(known)]))


def forgotten_join(self: Joins) -> None:
    """Who enters the next join forgets the one that others may have committed."""
    self._standing.release()
    admit(self)


def no_learning(self: Stops, x: ToPdu) -> None:
    """A stop that others have committed is not learnt."""


def moving_report(self: Membership) -> frozenset[int]:
    """A recovery round completes what was reported of a stopped entity."""
    return self.members


def kept_past(self: Joins, record: JoinRecord, came: list[int]) -> None:
    """What is left of the stopped stays in the members' logs: the joiner never has it."""
    nobody_stopped = tuple([code & ~1 for code in record.v])
    flush(self, JoinRecord(nobody_stopped, record.nxt, record.nxtp), [])


def overtaking(self: To, pdu: ToPdu) -> None:
    """A PDU tells of a stop, which ends a recovery round, and is taken before those that waited for that end."""
    if self.standing.vm is ViewMode.LEFT or not self._admits(pdu):
        return
    self._learn(pdu)
    handlers = self._as_joiner if self.standing.vm is ViewMode.JOINING else self._as_member
    handlers[type(pdu)](pdu)


def out_of_turn(self: Waiting, *, agreed: bool = False) -> None:
    """What waited for a join that came to nothing is taken behind what came later and did not wait."""
    look_again(self, agreed=True)


REPAIRS: list[tuple[type, str, Callable[..., Any], int, ToOptions | None]] = [
    (Joiner, "_begin_again", false_witness, 16, None),
    (Stops, "learn", no_learning, 845, None),
    (Membership, "sources", moving_report, 24599, None),
    (Joins, "_flush", kept_past, 38600, None),
    (To, "_dispatch", overtaking, 6587, None),
    (Waiting, "look_again", out_of_turn, 395, LIVE),
]


@pytest.mark.parametrize(
    ("part", "rule", "broken", "seed", "options"), REPAIRS, ids=[case[2].__name__ for case in REPAIRS]
)
def test_without_the_repair(
    monkeypatch: pytest.MonkeyPatch,
    part: type,
    rule: str,
    broken: Callable[..., Any],
    seed: int,
    options: ToOptions | None,
) -> None:
    assert complaints(seed, options, kinds="cfklpd") == []
    monkeypatch.setattr(part, rule, broken)
    assert complaints(seed, options, kinds="cfklpd") != []


def left_behind() -> list[str]:
    """Who was let in and then had to leave, since the others had forgotten it."""
    world, calm = schedule(239, kinds="cfklpd")
    assert calm
    return [e.text for e in world.history().notes if e.kind is NoteKind.LEFT and "gone on without me" in e.text]


def test_who_enters_the_next_join_keeps_what_it_promised_in_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not left_behind()
    monkeypatch.setattr(Joins, "_admit", forgotten_join)
    assert left_behind()


def any_epoch(self: Joins, x: JoinBlock) -> None:
    """Points of another epoch count, and show nothing about what waits."""
    if x.src == self._core.me:
        return
    self._attempt.packs[x.src] = x
    if isinstance(x, ToRcvAck):
        self._attempt.acks[x.src] = x
    if self._standing.vm is not ViewMode.JOINING and x.src in self._standing.members:
        self._transfer.log.skip_acks(x.src, x.nxt, x.nxtp)
    self._advance()


def whatever_is_said(self: Membership, pdu: Any) -> bool:
    """What is sent again is read as if it were sent now."""
    return bool(pdu.committed[self._core.index] == self._standing.code)


# What live recovery adds, each rule taken out again, on a seed of to_schedules.busy_returns.
LIVE_RULES: list[tuple[type, str, Callable[..., Any], int]] = [
    (Manner, "_sent_in_a_join", lambda self, p: False, 152),  # data may come before the RCV_PACK that says their place
    (Joins, "_collect", any_epoch, 103),
    (Joins, "round_begins", lambda self: None, 173),  # a round does not void the attempt
    (Membership, "concerns_me", whatever_is_said, 137),  # what is sent again acknowledges the joiner's earlier life
]


@pytest.mark.parametrize(("part", "rule", "broken", "seed"), LIVE_RULES, ids=[case[1] for case in LIVE_RULES])
def test_live_without_the_rule(
    monkeypatch: pytest.MonkeyPatch, part: type, rule: str, broken: Callable[..., Any], seed: int
) -> None:
    assert busy_returns(seed, LIVE) == []
    monkeypatch.setattr(part, rule, broken)
    assert busy_returns(seed, LIVE) != []


def two_return(gap: int) -> list[str]:
    """What is wrong where E5 comes back so many slots after E4, the others go on sending, and nothing is lost."""
    world = Restless(5, LIVE)
    world.channel(SLOT)
    stop, returns = world.stop_time(), world.now + 2 * world.stop_time()
    for node in (4, 5):
        world.at(world.now, lambda node=node: world.kill(node))  # type: ignore[misc]
    world.at(returns, lambda: world.start_again(4))
    world.at(returns + gap * SLOT, lambda: world.start_again(5))
    for k in range(40):
        world.at(returns + 2 * k * SLOT, lambda k=k: world.say(1 + k % 3))  # type: ignore[misc]
    wrong = judged(world, returns + 2 * stop)
    return wrong + [e.text for e in world.history().notes if e.kind is NoteKind.LEFT]


def test_who_goes_from_one_join_into_the_next_keeps_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the members wait for what lies between the two points, each for it to be agreed upon, until E4 leaves."""
    assert [gap for gap in range(1, 20) if two_return(gap)] == []
    monkeypatch.setattr(Manner, "keeps_point", lambda self: False)
    assert two_return(5) != []


def test_a_stop_round_gives_a_join_up_everywhere_or_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else who hears the joiner in the round keeps the join, who has ended the round does not: two views for ever."""
    case = load(ROOT / "harness/scenarios/to/joined-alone.toml")
    assert not judged_case(case).broken
    monkeypatch.setattr(Standing, "may_learn_from", lambda self, x: True)
    monkeypatch.setattr(Standing, "holds_me", lambda self, x: True)
    assert judged_case(case).broken >= {"TD-1", "TD-4", "TD-5"}


def test_who_came_back_before_the_cluster_stood_is_stopped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one founder lets the new life in where the others hold the earlier one for stopped: nobody goes on."""
    case = load(ROOT / "harness/scenarios/to/restart-while-founding.toml")
    assert not judged_case(case).broken
    monkeypatch.setattr(Standing, "see_out", lambda self: None)
    assert judged_case(case).broken == {"TD-5"}


def test_who_founds_without_an_entity_does_not_follow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has founded with them what one of them follows, when the other founds without it: two views, for ever."""
    case = load(ROOT / "harness/explore/corpus/to/founder-given-up.toml")
    assert not judged_case(case).broken
    monkeypatch.setattr(Joiner, "has_gone_on_without", lambda self, x: False)
    monkeypatch.setattr(Standing, "may_learn_from", lambda self, x: True)
    assert judged_case(case).broken == {"TD-4", "TD-5", "T1"}


def test_what_is_sent_again_acknowledges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was sent in a stop round, before the joiner was let in: of its earlier life."""
    case = load(ROOT / "harness/explore/corpus/to/said-before-a-join.toml")
    assert not judged_case(case).broken
    monkeypatch.setattr(Membership, "concerns_me", whatever_is_said)
    assert judged_case(case).broken == {"TD-5"}


def kept_in_vain(self: Joins, x: JoinBlock) -> None:
    """A point stays although taking it has shown a loss, and so begun a round."""
    counts = self._manner.counts(x)
    collect(self, x)
    if self._attempt.void and counts:
        self._attempt.packs[x.src] = x


def test_a_void_attempt_has_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """T6, on a seed of busy_returns."""
    assert busy_returns(50, LIVE) == []
    monkeypatch.setattr(Joins, "_collect", kept_in_vain)
    assert "T6" in " ".join(busy_returns(50, LIVE))


def overtaken_in_a_join() -> list[str]:
    """E3 has the RCV_PACK of E1 and lacks the STOP of E2, so a message of E1 waits there that the others take; E2 has
    never heard of the join, so its next message does not wait."""
    world = Restless(5, ToOptions())
    stop, asunder = world.stop_time(), world.now + 2 * world.stop_time()
    together = asunder + 3 * stop

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        if not asunder <= now < together or pdu.src == receiver:
            return False
        if isinstance(pdu, ToRcv):
            return receiver != 1
        if isinstance(pdu, JoinBlock):
            return (pdu.src, receiver) != (1, 3)
        if isinstance(pdu, StopBlock):
            return receiver in (3, 5)
        return (pdu.src, receiver) == (5, 2)

    world.channel(SLOT, loss)
    world.at(world.now, lambda: world.kill(4))
    world.run(until_ns=asunder + stop // 2)
    suspicion = world.alive()[1].timers.heard[4] + stop
    together = suspicion + 20 * SLOT
    world.at(suspicion - 12 * SLOT, lambda: world.start_again(4))
    world.at(suspicion + 4 * SLOT, lambda: world.say(1, b"waits at E3"))
    world.at(suspicion + 8 * SLOT, lambda: world.say(2, b"does not"))
    world.run(until_ns=suspicion + 2 * stop)
    assert world.run_until_calm(20 * stop)
    return failures(world, TD)


def test_nothing_is_overtaken_in_a_join_that_comes_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert overtaken_in_a_join() == []
    monkeypatch.setattr(Waiting, "look_again", out_of_turn)
    assert overtaken_in_a_join() != []


def taken_into_a_round() -> Restless:
    """E3 has promised the join of E4 when it stops E2, and hears of E4's recovery round before it hears from E1 or E5
    that they have committed the join."""
    world = Restless(5, LIVE)
    stop, back = world.stop_time(), world.now + 3 * world.stop_time()
    late, promised, in_round = list[int](), list[int](), list[int]()

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        if (pdu.src, receiver) == (2, 2) and isinstance(pdu, ToRcvAck) and not late:
            late.append(now + stop - 20 * SLOT)  # when E3 may promise: just before it misses E2
            world.at(now, lambda: world.kill(2))
        if (pdu.src, receiver) == (1, 4) and isinstance(pdu, ToData):
            return pdu.payload == b"E4 lacks it"
        if receiver != 3 or pdu.src == 3 or now < back:
            return False
        e3 = world.machine(3)
        assert isinstance(e3, To)
        here = e3.standing
        if here.vm is ViewMode.STOPPING:
            in_round.extend([now] if pdu.src == 4 and isinstance(pdu, SnapshotBlock) else [])
            return pdu.src != 4 and (not in_round or isinstance(pdu, SnapshotBlock))
        if here.promised is not None:
            if not promised:
                promised.append(now)
                world.at(now + 4 * SLOT, lambda: world.say(1, b"E4 lacks it"))
                world.at(now + 6 * SLOT, lambda: world.say(1))
            return True
        not_yet = pdu.src == 1 and (not late or now < late[0])
        return isinstance(pdu, JoinBlock) and (not_yet or (pdu.src == 5 and isinstance(pdu, ToRcvAck)))

    world.channel(SLOT, loss)
    world.at(world.now, lambda: world.kill(4))
    world.at(back, lambda: world.start_again(4))
    world.run(until_ns=back + 2 * stop)
    assert in_round
    return world


def test_who_is_no_member_takes_nobody_into_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    world = taken_into_a_round()
    assert [one.standing.members for one in world.alive()] == [frozenset({1, 3, 4, 5})] * 4
    monkeypatch.setattr(To, "_on_round", lambda self, x: self.recovery.on_pdu(x))
    with pytest.raises(Broken, match="T2: "):
        taken_into_a_round()


def committed_by_one_who_has_stopped() -> ViewMode:
    """Where E1, which joins, stands when E2 goes on. E2 alone commits the join that all others have given up with it;
    the next one, without E2, cannot be committed, since E3 lacks a point."""
    world = Restless(5, ToOptions())
    stop, back = world.stop_time(), world.now + 3 * world.stop_time()

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        if (pdu.src, receiver) == (2, 2) and isinstance(pdu, ToRcvPack) and not world.paused(2):
            world.pause(2)
        return (pdu.src, receiver) == (5, 3) and isinstance(pdu, JoinBlock) and bool(pdu.v[1] & 1)

    world.channel(SLOT, loss)
    world.at(world.now, lambda: world.kill(1))
    world.at(back, lambda: world.start_again(1))
    world.run(until_ns=back + 2 * stop)
    e1 = world.machine(1)
    assert isinstance(e1, To) and e1.standing.promised is not None and e1.standing.v[1] & 1
    world.resume(2)
    world.run(until_ns=world.now + 5 * SLOT)
    views = [event.peers for event in world.events if event.kind is NoteKind.VIEW and event.node == 2]
    assert views[-1] == (1, 2, 3, 4, 5)
    return e1.standing.vm


def test_who_has_stopped_tells_of_no_join(monkeypatch: pytest.MonkeyPatch) -> None:
    assert committed_by_one_who_has_stopped() is ViewMode.JOINING
    monkeypatch.setattr(Standing, "may_learn_from", lambda self, x: True)
    assert committed_by_one_who_has_stopped() is ViewMode.NORMAL
