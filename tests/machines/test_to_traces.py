"""TO on the specification's vectors, on what goes wrong in clusters, and on schedules that break its printed rules."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from harness.world import Loss, no_loss
from nodes.machine import Received, Send, Setting, Submit
from nodes.st.round import Mode
from nodes.to.attempt import JoinRecord
from nodes.to.machine import To
from nodes.to.options import ToOptions, ToPrinted
from nodes.to.views import ViewMode, active, first_incarnation, merge, printed_merge, view_number
from nodes.wire import Pdu, encode
from nodes.wire.note import NoteKind
from nodes.wire.st import PHASE, RESP, RETX, DataBlock
from nodes.wire.to import ToData, ToRcv, ToRcvPack, ToRstAck, ToRstPak, ToStop, ToStopAck, ToStopPack, ViewBlock
from tests.helpers.cluster import SLOT, TD, Restless, data, failures, losing, titled
from tests.helpers.to_schedules import complaints
from tests.helpers.typed import golden

ONE = first_incarnation(1) << 1  # the code of an entity in its first life
FIRST = (ONE, ONE, ONE)


def restless(n: int, options: ToOptions | None = None, loss: Loss = no_loss, seed: int = 1) -> Restless:
    world = Restless(n, options or ToOptions(), seed)
    world.channel(SLOT, loss)
    return world


def chatter(world: Restless, begin: int, end: int, every: int = 9) -> None:
    """Everybody who is up says something now and then."""
    for k in range((end - begin) // (every * SLOT)):
        world.at(begin + k * every * SLOT, lambda k=k: world.say(1 + k % world.n))  # type: ignore[misc]


def titles(world: Restless) -> Counter[str]:
    return Counter(pdu.TYPE.title for _, pdu in world.sent)


def events(world: Restless, kind: NoteKind, node: int) -> list[str]:
    return [e.text for e in world.history().notes if e.kind is kind and e.node == node]


def views(world: Restless, node: int) -> list[tuple[int, ...]]:
    return [e.peers for e in world.history().notes if e.kind is NoteKind.VIEW and e.node == node]


def late_half(world: Restless, node: int, count: int) -> Callable[[Pdu], bool]:
    """Which data PDUs of the node come after its first `count`?"""
    return lambda pdu: isinstance(pdu, DataBlock) and pdu.src == node and pdu.tseq > count


# The vectors.


def test_what_is_kept_of_a_stopped_entity() -> None:
    """TV-TO-1: E1 and E3 have 6 PDUs of E4, E2 has 4; nobody keeps more than 4. It costs 2 PDUs per live entity."""
    options = ToOptions(period_ns=60 * SLOT)
    world = restless(4, options)
    world.channel(SLOT, lambda pdu, receiver, now: receiver == 2 and late_half(world, 4, 4)(pdu))
    for k in range(6):
        world.at(world.now + k * SLOT, lambda: world.say(4))
    world.at(world.now + 8 * SLOT, lambda: world.kill(4))
    world.run(until_ns=world.now + 9 * SLOT)
    assert [m.transfer.log.treq[3] for m in world.alive()] == [7, 5, 7]
    assert world.run_until_calm(8 * world.stop_time())
    assert [m.transfer.log.treq[3] for m in world.alive()] == [5, 5, 5]
    assert [m.counters().get("deleted", 0) for m in world.alive()] == [2, 0, 2]
    stops = titles(world)
    assert stops["STOP"] + stops["STOP_PACK"] == 3 and stops["STOP_ACK"] == 3
    assert failures(world, TD) == []


def test_merging_news() -> None:
    """TV-TO-2; and the OR of the paper, which forgets that a stopped entity came back (D-TO-3)."""
    active_1, stopped_1, active_2, stopped_2 = 2, 3, 4, 5
    for rule in (merge, printed_merge):
        assert rule((active_1,), (stopped_1,)) == rule((stopped_1,), (active_1,)) == (stopped_1,)
        assert rule((active_2,), (stopped_2,)) == (stopped_2,)
    assert merge((active_2,), (stopped_1,)) == (active_2,)
    assert printed_merge((active_2,), (stopped_1,)) == (stopped_2,)
    assert active((active_1, stopped_1, active_2)) == [1, 3]
    assert view_number((ONE, ONE)) == 1 and view_number((ONE + 1, ONE)) == 2
    assert view_number((0, ONE + 2)) == 3  # founded without the first


def return_unheard_by_e2(options: ToOptions) -> Restless:
    world = restless(3, options, lambda pdu, receiver, now: isinstance(pdu, ToRcv) and receiver == 2)
    stop = world.stop_time()
    chatter(world, world.now, world.now + 4 * stop)
    world.at(world.now + 5 * SLOT, lambda: world.kill(3))
    world.at(world.now + 2 * stop, lambda: world.start_again(3))
    world.run(until_ns=world.now + 4 * stop)
    return world


def test_an_entity_that_never_hears_the_return() -> None:
    """TV-TO-3: it learns of it from those who do."""
    world = return_unheard_by_e2(ToOptions())
    assert world.run_until_calm(8 * world.stop_time())
    assert views(world, 3)[-1] == (1, 2, 3)
    assert failures(world, TD) == []


def test_a_muted_entity_leaves_and_comes_back() -> None:
    """TV-TO-4: alone it delivers nothing, says so, and rejoins by itself as the next incarnation."""
    world = restless(3)
    stop = world.stop_time()
    chatter(world, world.now, world.now + 6 * stop)
    world.at(world.now + 40 * SLOT, lambda: world.link(3, False))
    world.at(world.now + 3 * stop, lambda: world.link(3, True))
    world.run(until_ns=world.now + 3 * stop - SLOT)
    assert events(world, NoteKind.ALARM, 3) == ["no quorum"]
    assert views(world, 3) == [] and views(world, 1) == [(1, 2)]
    world.run(until_ns=world.now + 3 * stop)
    assert world.run_until_calm(8 * stop)
    assert world.alive()[2].standing.incarnation == first_incarnation(1) + 1
    assert views(world, 3)[-1] == views(world, 1)[-1] == (1, 2, 3)
    assert failures(world, TD) == []


def entity_1() -> To:
    return To(Setting(me=1, members=(1, 2, 3), seed=4, slot_ns=SLOT), ToOptions())


def vm(one: To) -> ViewMode:
    return one.standing.vm


def mode(one: To) -> Mode:
    return one.core.phase.mode


def line(one: To) -> tuple[int, ...] | None:
    assert one.recovery.round is not None
    return one.recovery.round.c


COMMON: dict[str, Any] = {"cluster": 1, "n": 3, "v": FIRST, "committed": FIRST}
E3_STOPPED = (ONE, ONE, ONE + 1)


def in_round(one: To) -> None:
    """E1 has 27, 37, 40 as in the trace of D-TO-9, and is in round 1 with the snapshot of E2."""
    one.step(Submit(1, (1, 2, 3), b""), 0)
    one.transfer.sl.tseq, one.transfer.log.treq[:] = 27, [27, 37, 40]
    one.step(Received(ToRstPak(**COMMON, src=2, flags=0, epoch=1, tseq=37, a_t=(27, 37, 40), a_p=(1, 1, 1))), 1)
    assert mode(one) is Mode.PAKWAIT


def stops(row: type[ToStop | ToStopPack | ToStopAck], **fields: Any) -> Received:
    common = {**COMMON, "v": E3_STOPPED, "src": 2, "flags": 0, "epoch": 0, "tseq": 37}
    return Received(row(**{**common, "ack": (27, 37, 39), "round": 0, "c": (0, 0, 0), **fields}))


def test_one_line_in_a_round_that_a_stop_interrupts() -> None:
    """TV-TO-5: E1 takes the line from the snapshot of E3 before it dies, or from those who have had it."""
    one = entity_1()
    in_round(one)
    one.step(Received(ToRstPak(**COMMON, src=3, flags=0, epoch=1, tseq=39, a_t=(27, 35, 39), a_p=(1, 1, 1))), 2)
    assert mode(one) is Mode.ACKWAIT and line(one) == (27, 35, 39)
    one = entity_1()
    in_round(one)
    one.step(stops(ToStop, round=1, c=(27, 35, 39)), 3)
    assert vm(one) is ViewMode.STOPPING and line(one) is None  # the snapshot of E3 will never come
    one.step(stops(ToStopAck, round=1, c=(27, 35, 39)), 4)
    assert vm(one) is ViewMode.NORMAL and line(one) == (27, 35, 39)
    one = entity_1()
    in_round(one)
    one.step(stops(ToStop), 3)
    one.step(stops(ToStopAck), 4)
    assert line(one) == (27, 37, 40)  # over those who live, if nobody had fixed it


def test_nobody_fixes_a_line_in_a_stop_round_even_with_all_snapshots() -> None:
    """E4's is the last to come, and it comes while E1 and the others agree that E3 has stopped."""
    four = (ONE,) * 4
    common: dict[str, Any] = {"cluster": 1, "n": 4, "v": four, "committed": four}
    for stops_first in (False, True):
        one = To(Setting(me=1, members=(1, 2, 3, 4), seed=4, slot_ns=SLOT), ToOptions())
        one.step(Submit(1, (1, 2, 3, 4), b""), 0)
        one.transfer.sl.tseq, one.transfer.log.treq[:] = 27, [27, 37, 40, 9]
        snapshot: dict[str, Any] = {"flags": 0, "epoch": 1, "a_t": (27, 35, 39, 9), "a_p": (1, 1, 1, 1)}
        for src, tseq in ((2, 37), (3, 39)):
            one.step(Received(ToRstPak(**common, **snapshot, src=src, tseq=tseq)), 1)
        if stops_first:
            said = {"v": (ONE, ONE, ONE + 1, ONE), "src": 2, "flags": 0, "epoch": 0, "tseq": 37, "round": 0}
            one.step(Received(ToStop(**{**common, **said}, ack=(27, 37, 39, 9), c=(0, 0, 0, 0))), 2)
            assert vm(one) is ViewMode.STOPPING
        one.step(Received(ToRstPak(**common, **snapshot, src=4, tseq=9)), 3)
        assert one.recovery.round is not None and one.recovery.round.snapshots.keys() == {1, 2, 3, 4}
        assert line(one) == (None if stops_first else (27, 35, 39, 9))


def test_the_flow_follows_the_smallest_buffer_of_those_who_have_not_stopped() -> None:
    """§3.2 of paper 000, in a view: E3 has stopped and its buffer counts no more, E2 has room for twelve."""
    for free, under_way in ((12, 4), (300, 9)):
        one = entity_1()
        one.standing.know(E3_STOPPED)
        one.standing.commit(E3_STOPPED, "stop")
        said: dict[str, Any] = {**COMMON, "v": E3_STOPPED, "committed": E3_STOPPED, "flags": 0, "epoch": 0}
        one.step(Received(ToData(**said, src=2, tseq=1, buf=free, dst=(), ack=(1, 1, 1), pseq=(1,), payload=b"")), 1)
        for number in range(1, 20):
            one.step(Submit(number, (1, 2, 3), b""), 1)
        assert one.counters()["data"] == under_way


def test_what_is_older_than_a_stop_tells_of_no_join() -> None:
    """E4 was coming back, and all gave that up when it and E3 stopped. E1 knows of E3's end from who has ended the
    round; then a STOP comes once more in which E3 is still a member, as it is in the join that E1 had promised."""
    one = To(Setting(me=1, members=(1, 2, 3, 4, 5), seed=4, slot_ns=SLOT), ToOptions())
    one.step(Submit(1, (1, 2, 3, 4, 5), b""), 0)
    begun, coming = (ONE, ONE, ONE, ONE + 1, ONE), (ONE, ONE, ONE, ONE + 2, ONE)
    stopped = (ONE, ONE, ONE + 1, ONE + 3, ONE)
    one.standing.commit(begun, "stop")
    one.standing.know(coming)
    one.standing.promise(JoinRecord(coming, (2, 1, 1, 1, 1), (2, 1, 1, 1, 1)))
    said: dict[str, Any] = {"cluster": 1, "n": 5, "v": stopped, "flags": 0, "epoch": 0, "tseq": 1, "ack": (1,) * 5}
    stop: dict[str, Any] = {**said, "committed": begun, "round": 0, "c": (0,) * 5}
    ended: dict[str, Any] = {**said, "committed": stopped, "buf": 9, "dst": (), "pseq": (1,), "payload": b""}
    for now, src in enumerate((2, 5), 1):
        one.step(Received(ToStop(**stop, src=src)), now)
    one.step(Received(ToData(**ended, src=5)), 3)
    assert vm(one) is ViewMode.STOPPING and one.standing.members == {1, 2, 5}
    one.step(Received(ToStop(**stop, src=2)), 4)
    assert vm(one) is ViewMode.STOPPING and one.standing.members == {1, 2, 5}
    one.step(Received(ToStopAck(**stop, src=2)), 5)
    one.step(Received(ToStopAck(**stop, src=5)), 6)
    assert vm(one) is ViewMode.NORMAL and one.standing.committed == stopped


LET_IN = (ONE, ONE, 2 * ONE)  # E3 with the first incarnation of its second process


def rcv_packs(epoch: int, v: tuple[int, ...]) -> list[Received]:
    """Of E1 and E2, for whom E3 has stopped."""
    said: dict[str, Any] = {**COMMON, "v": v, "committed": E3_STOPPED, "flags": 0, "epoch": epoch, "tseq": 1}
    return [Received(ToRcvPack(**said, src=src, ack=(1, 1, 1), nxt=1, nxtp=1)) for src in (1, 2)]


def test_who_is_not_in_the_join_says_no_point() -> None:
    """E1 is in a recovery round, and enters the join after it; E2's RCV_PACK of an earlier one comes late."""
    one = entity_1()
    one.step(Submit(1, (1, 2, 3), b""), 0)
    one.standing.commit(E3_STOPPED, "stop")
    said: dict[str, Any] = {**COMMON, "v": E3_STOPPED, "committed": E3_STOPPED, "epoch": 1, "tseq": 1}
    one.step(Received(ToRstPak(**said, src=2, flags=0, a_t=(1, 1, 1), a_p=(1, 1, 1))), 1)
    one.standing.know(LET_IN)
    late = rcv_packs(0, E3_STOPPED)[1]
    assert not [out for out in one.step(late, 2) if isinstance(out, Send) and isinstance(out.pdu, ToRcvPack)]
    assert mode(one) is not Mode.DATA and vm(one) is ViewMode.NORMAL


@pytest.mark.parametrize(
    ("row", "flags", "epoch", "rounds"),
    [
        (ToRstPak, 0, 2, 1),  # its sender is in the second round
        (ToRstAck, 0, 2, 1),
        (ToRstAck, PHASE, 2, 1),
        (ToRstAck, RESP, 2, 1),
        (ToRstAck, RESP | PHASE, 1, 1),  # it answers somebody who is late in the first
        (ToData, 0, 1, 1),
        (ToData, RETX, 2, None),  # in the second round, or for somebody who is late in it
    ],
)
def test_how_many_rounds_there_were_when_a_joiner_is_let_in(
    row: Any, flags: int, epoch: int, rounds: int | None
) -> None:
    """E3 has heard everybody's RCV_PACK, but not who committed the join: another PDU shows that first."""
    one = To(Setting(me=3, members=(1, 2, 3), seed=4, incarnation=2, slot_ns=SLOT), ToOptions())
    one.step(Submit(1, (1, 2, 3), b""), 0)
    for now, pack in enumerate(rcv_packs(1, LET_IN), 1):
        one.step(pack, now)
    assert vm(one) is ViewMode.JOINING and one.standing.promised is not None
    said: dict[str, Any] = {**COMMON, "v": LET_IN, "committed": LET_IN, "src": 1, "tseq": 1, "flags": flags}
    if row is ToData:
        said |= {"buf": 9, "dst": (), "ack": (1, 1, 1), "pseq": (1,), "payload": b""}
    else:
        said |= {"a_t": (1, 1, 1), "a_p": (1, 1, 1)}
    if row is ToRstAck:
        said |= {"d": (1,), "c": (1, 1, 1), "lo": (1, 1, 1), "words": 0, "held": ()}
    one.step(Received(row(**said, epoch=epoch)), 9)
    assert vm(one) is (ViewMode.JOINING if rounds is None else ViewMode.NORMAL)
    assert one.core.phase.epoch == (rounds or 0)


def test_report_about_a_joiner_that_died() -> None:
    """TV-TO-6: of an incarnation that was never committed there is nothing, and nothing is deleted."""
    one = entity_1()
    one.step(Submit(1, (1, 2, 3), b""), 0)
    one.transfer.log.treq[1] = 9
    one.standing.commit((ONE, ONE + 1, ONE), "stop")
    one.standing.know((ONE, ONE + 3, ONE))
    assert one.stops.report() == (1, 1, 1)
    one.standing.know((ONE, ONE + 1, ONE))
    assert one.stops.report() == (1, 9, 1)


# What goes wrong in clusters: (n, faults), everything well in the end.


def quick_restart(w: Restless, t: int, stop: int) -> None:
    w.at(t, lambda: w.kill(2))
    w.at(t + 5 * SLOT, lambda: w.start_again(2))


def short_freeze(w: Restless, t: int, stop: int) -> None:
    w.at(t, lambda: w.pause(2))
    w.at(t + stop - 3 * SLOT, lambda: w.resume(2))


def long_freeze(w: Restless, t: int, stop: int) -> None:
    w.at(t, lambda: w.pause(1))
    w.at(t + 3 * stop, lambda: w.resume(1))


def cut_about_t_stop(w: Restless, t: int, stop: int) -> None:
    w.at(t, lambda: w.link(2, False))
    w.at(t + stop + 2 * SLOT, lambda: w.link(2, True))


def flapping_link(w: Restless, t: int, stop: int) -> None:
    for k in range(6):
        w.at(t + k * stop // 2, lambda k=k: w.link(2, k % 2 == 1))  # type: ignore[misc]


def one_by_one(w: Restless, t: int, stop: int) -> None:
    for node in w.everybody:
        w.at(t + node * 3 * stop, lambda node=node: w.kill(node))  # type: ignore[misc]
        w.at(t + node * 3 * stop + stop // 3, lambda node=node: w.start_again(node))  # type: ignore[misc]


def all_at_once(w: Restless, t: int, stop: int) -> None:
    for node in w.everybody:
        w.at(t, lambda node=node: w.kill(node))  # type: ignore[misc]
        w.at(t + node * SLOT, lambda node=node: w.start_again(node))  # type: ignore[misc]


def partition(*groups: set[int]) -> Callable[[Restless, int, int], None]:
    def happen(w: Restless, t: int, stop: int) -> None:
        together: Callable[[int, int], bool] = lambda a, b: any(a in g and b in g for g in groups)  # noqa: E731
        w.at(t, lambda: setattr(w, "reachable", together))
        w.at(t + 3 * stop, lambda: setattr(w, "reachable", lambda a, b: True))

    return happen


def one_way(w: Restless, t: int, stop: int) -> None:
    """Nobody reaches E2, which reaches everybody."""
    w.at(t, lambda: setattr(w, "reachable", lambda a, b: b != 2 or a == 2))
    w.at(t + 4 * stop, lambda: setattr(w, "reachable", lambda a, b: True))


def mutual_suspicion(w: Restless, t: int, stop: int) -> None:
    w.at(t, lambda: setattr(w, "reachable", lambda a, b: {a, b} != {1, 2}))
    w.at(t + 3 * stop, lambda: setattr(w, "reachable", lambda a, b: True))


def second_stop_in_the_first(w: Restless, t: int, stop: int) -> None:
    w.at(t, lambda: w.kill(4))
    w.at(t + stop // 2, lambda: w.kill(5))


def joiner_dies(w: Restless, t: int, stop: int) -> None:
    w.at(t, lambda: w.kill(3))
    w.at(t + 2 * stop, lambda: w.start_again(3))
    w.at(t + 2 * stop + 3 * SLOT, lambda: w.kill(3))
    w.at(t + 5 * stop, lambda: w.start_again(3))


def two_joiners(w: Restless, t: int, stop: int) -> None:
    for node in (1, 3):
        w.at(t, lambda node=node: w.kill(node))  # type: ignore[misc]
        w.at(t + 2 * stop + node * SLOT, lambda node=node: w.start_again(node))  # type: ignore[misc]


SCENES = [
    (3, quick_restart),
    (3, short_freeze),
    (3, long_freeze),
    (5, long_freeze),
    (3, cut_about_t_stop),
    (3, flapping_link),
    (3, one_by_one),
    (4, one_by_one),
    (3, all_at_once),
    (5, all_at_once),
    (4, partition({1, 2}, {3, 4})),
    (5, partition({1, 2}, {3, 4, 5})),
    (5, partition({1, 2, 3}, {3, 4, 5})),
    (3, one_way),
    (5, one_way),
    (4, mutual_suspicion),
    (3, mutual_suspicion),
    (5, second_stop_in_the_first),
    (4, joiner_dies),
    (5, two_joiners),
]


@pytest.mark.parametrize(("n", "scene"), SCENES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SCENES)])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_scenes_end_well(n: int, scene: Callable[[Restless, int, int], None], share: float) -> None:
    world = restless(n)
    world.channel(SLOT, lambda pdu, receiver, now: world.random.random() < share)
    stop, begin = world.stop_time(), world.now
    chatter(world, begin, begin + 6 * stop, every=23)
    scene(world, begin + 50 * SLOT, stop)
    world.run(until_ns=begin + (4 * n if scene is one_by_one else 7) * stop)
    assert world.run_until_calm(40 * stop), [(m.core.me, m.standing.vm, m.core.phase.mode) for m in world.alive()]
    assert failures(world, TD) == []
    last = {(views(world, m.core.me) or [world.everybody])[-1] for m in world.alive()}
    assert last == {tuple(m.core.me for m in world.alive())}  # all who are up are in


def test_frozen_for_less_than_t_stop_is_no_stop() -> None:
    """Who was frozen itself suspects nobody when it wakes."""
    world = restless(3)
    short_freeze(world, world.now + 40 * SLOT, world.stop_time() - world.stop_time() // 6)
    world.run(until_ns=world.now + 3 * world.stop_time())
    assert titles(world)["STOP"] == 0 and world.calm()
    assert world.alive()[1].counters()["awoke"] == 1


@pytest.mark.parametrize("n", [3, 5, 9, 16])
def test_a_stop_costs_two_pdus_per_live_entity_and_repeats_no_data(n: int) -> None:
    world = restless(n)
    stop, begin = world.stop_time(), world.now
    chatter(world, begin, begin + 2 * stop, every=3 * n)
    world.at(begin + stop // 2, lambda: world.kill(n))
    world.run(until_ns=begin + 3 * stop)
    assert world.run_until_calm(8 * stop)
    counts = titles(world)
    assert counts["STOP"] + counts["STOP_PACK"] == counts["STOP_ACK"] == n - 1
    assert not any(isinstance(pdu, DataBlock) and pdu.flags & RETX for _, pdu in world.sent)
    assert failures(world, TD) == []


@pytest.mark.parametrize("n", [3, 5, 9])
def test_a_join_costs_two_pdus_per_entity_and_the_call(n: int) -> None:
    world = restless(n)
    stop = world.stop_time()
    world.at(world.now + SLOT, lambda: world.kill(n))
    world.at(world.now + 2 * stop, lambda: world.start_again(n))
    world.run(until_ns=world.now + 3 * stop)
    counts = titles(world)
    assert (counts["RCV"], counts["RCV_PACK"], counts["RCV_ACK"]) == (1, n, n)
    assert world.calm()


@pytest.mark.parametrize("n", [3, 5, 9, 16])
def test_a_farewell_costs_one_pdu_more_than_a_stop_and_no_waiting(n: int) -> None:
    world = restless(n)
    stop, begin = world.stop_time(), world.now
    left = begin + stop // 2
    chatter(world, begin, begin + 2 * stop, every=3 * n)
    world.at(left, lambda: world.leave(n))
    world.run(until_ns=begin + 3 * stop)
    assert world.run_until_calm(8 * stop)
    counts = titles(world)
    assert (counts["STOP"], counts["STOP_PACK"], counts["STOP_ACK"]) == (1, n - 1, n - 1)
    assert not any(isinstance(pdu, DataBlock) and pdu.flags & RETX for _, pdu in world.sent)
    changes = [e for e in world.history().notes if e.kind is NoteKind.VIEW]
    assert len(changes) == n - 1 and max(e.time_ns for e in changes) - left < 4 * n * SLOT
    assert failures(world, TD) == []


def test_a_farewell_that_nobody_hears_is_found_out_like_a_crash() -> None:
    world = restless(3, loss=lambda pdu, receiver, now: titled("STOP", 3)(pdu))
    world.at(world.now + SLOT, lambda: world.leave(3))
    world.run(until_ns=world.now + 2 * world.stop_time())
    assert views(world, 1) == views(world, 2) == [(1, 2)]
    assert failures(world, TD) == []


@pytest.mark.parametrize("recovery", ["suspended", "live"])
def test_who_leaves_in_the_middle_of_something_leaves_a_cluster_that_goes_on(recovery: Any) -> None:
    """In a recovery round, in a stop round, in a join, and as a joiner."""
    for at in range(0, 120, 4):
        world = restless(5, ToOptions(recovery=recovery), losing((data(1, b"lost"), 2)))
        stop, begin = world.stop_time(), world.now
        world.at(begin, lambda world=world: world.kill(5))  # type: ignore[misc]
        world.at(begin + 2 * stop, lambda world=world: world.start_again(5))  # type: ignore[misc]
        for when, word in ((-5, b"lost"), (0, b"x"), (5, b"y")):
            world.at(begin + 2 * stop + when * SLOT, lambda world=world, word=word: world.say(1, word))  # type: ignore[misc]
        world.at(begin + 2 * stop + (at - 20) * SLOT, lambda world=world: world.leave(4))  # type: ignore[misc]
        world.run(until_ns=begin + 4 * stop)
        assert world.run_until_calm(8 * stop) and failures(world, TD) == [], f"{at - 20} slots after the return"
        assert active(world.alive()[0].standing.committed) == [1, 2, 3, 5]


@pytest.mark.parametrize("back", [4, 3])
def test_a_founder_that_dies_is_left_out_if_a_quorum_remains(back: int) -> None:
    """All five crash, and some come back; one of these dies before the cluster that they found is there. Three of four
    found it without him, at once; two of three never become a view."""
    world = restless(5)
    stop, begin = world.stop_time(), world.now
    for node in world.everybody:
        world.at(begin, lambda node=node: world.kill(node))  # type: ignore[misc]
    for node in range(1, back + 1):
        world.at(begin + node * SLOT, lambda node=node: world.start_again(node))  # type: ignore[misc]
    while not titles(world)["RCV_PACK"]:
        world.run(until_ns=world.now + SLOT)
    world.kill(back)
    world.run(until_ns=world.now + 2 * stop)
    others = tuple(range(1, back))
    assert [views(world, node) for node in others] == ([[others]] * 3 if back == 4 else [[], []])
    assert [len(events(world, NoteKind.LEFT, node)) for node in others] == ([0] * 3 if back == 4 else [1, 1])
    world.start_again(back)
    assert world.run_until_calm(20 * stop)
    assert views(world, 1)[-1] == tuple(range(1, back + 1))
    assert failures(world, TD) == []


def test_a_joiner_that_hears_of_a_stop_before_its_admission_takes_part_in_the_stop_round() -> None:
    """E2 and E3 have let E5 in when E4 leaves; E1 and E5 still lack an RCV_ACK. E5 hears of the stop from E1, and from
    E2 that it is a member: the others wait for its word."""
    for at in range(7, 11):
        world = restless(5, loss=losing((titled("RCV_ACK", 2), 1), (titled("RCV_ACK", 2), 5)))
        stop, begin = world.stop_time(), world.now
        world.at(begin, lambda world=world: world.kill(5))  # type: ignore[misc]
        world.at(begin + 2 * stop, lambda world=world: world.start_again(5))  # type: ignore[misc]
        world.at(begin + 2 * stop + at * SLOT, lambda world=world: world.leave(4))  # type: ignore[misc]
        world.run(until_ns=begin + 4 * stop)
        assert world.calm() and failures(world, TD) == [], f"{at} slots after the return"
        assert views(world, 5) == [(1, 2, 3, 4, 5), (1, 2, 3, 5)]


def test_a_return_that_is_heard_in_a_round_is_remembered() -> None:
    """Where rounds follow each other, as in large clusters under loss, the caller would hardly ever be heard."""
    world = restless(3)
    stop, begin = world.stop_time(), world.now

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        if isinstance(pdu, ToRcv):
            return receiver != 3 and world.alive()[receiver - 1].core.phase.mode is Mode.DATA
        return receiver == 2 and isinstance(pdu, DataBlock) and bool(pdu.dst) and not pdu.flags & RETX

    world.channel(SLOT, loss)
    world.at(begin, lambda: world.kill(3))
    world.at(begin + 2 * stop, lambda: world.start_again(3))
    for k in range(200):
        world.at(begin + (2 * stop + 10 * k * SLOT), lambda: world.say(1))
    world.run(until_ns=begin + 3 * stop)
    assert views(world, 1)[-1] == views(world, 2)[-1] == views(world, 3)[-1] == (1, 2, 3)


def sixteen_lose_one(options: ToOptions, seed: int) -> Restless:
    """E16 dies and comes back three T_stop later, at 30% loss, on a channel where long PDUs take longer."""
    n, loss = 16, random.Random(seed)
    world = Restless(n, options, seed)
    per_byte = SLOT / (50 + 8 * n + 64)
    world.channel(lambda pdu: round((14 + len(encode(pdu))) * per_byte), lambda pdu, to, now: loss.random() < 0.3)
    stop, begin = world.stop_time(), world.now
    chatter(world, begin, begin + 6 * stop, every=5 * n)
    world.at(begin + stop // 2, lambda: world.kill(n))
    world.run(until_ns=begin + 7 * stop // 2)
    return world


@pytest.mark.parametrize("seed", [0, 3])
def test_a_large_cluster_under_heavy_loss_does_not_choke_its_channel(seed: int) -> None:
    """A RST_ACK of 16 entities takes more than twice as long as a short message. Answers every 8 PDU times, which do
    for five, fill the channel's queue."""
    world = sixteen_lose_one(ToOptions(silence=20), seed)
    assert all(m.standing.members == frozenset(range(1, 16)) for m in world.alive())
    world.start_again(16)
    world.run(until_ns=world.now + 2 * world.stop_time())
    assert all(len(m.standing.members) == 16 for m in world.alive())
    assert world.run_until_calm(4 * world.stop_time())
    assert failures(world, TD) == []
    choked = sixteen_lose_one(ToOptions(silence=20, answer_ns=8 * SLOT), seed)
    assert all(len(m.standing.members) == 16 for m in choked.alive())


def test_requests_survive_leaving() -> None:
    """What was not sent in one life is sent in the next; what was sent in a life that ended is not sent again."""
    world = restless(3)
    stop = world.stop_time()
    world.at(world.now + 30 * SLOT, lambda: world.link(3, False))
    world.at(world.now + 2 * stop, lambda: world.say(3, b"later"))
    world.at(world.now + 3 * stop, lambda: world.link(3, True))
    world.run(until_ns=world.now + 5 * stop)
    assert world.run_until_calm(8 * stop)
    (sent,) = [p for _, p in world.sent if isinstance(p, ToData) and p.payload == b"later"]
    assert sent.v[2] >> 1 == first_incarnation(1) + 1
    assert failures(world, TD) == []


# The printed rules.


def test_printed_star_blocks_who_has_more() -> None:
    """D-TO-1: what only E1 has of the stopped heads its log for ever."""

    def run(options: ToOptions) -> Restless:
        world = restless(3, options)
        world.channel(SLOT, lambda pdu, receiver, now: isinstance(pdu, ToData) and pdu.src == 3 and receiver == 2)
        world.at(world.now + SLOT, lambda: world.say(3))
        world.at(world.now + 3 * SLOT, lambda: world.kill(3))
        world.at(world.now + 5 * SLOT, lambda: world.say(1))
        return world

    world = run(ToOptions())
    assert world.run_until_calm(10 * world.stop_time()) and failures(world, TD) == []
    world = run(ToOptions(printed=ToPrinted(star=True)))
    assert not world.run_until_calm(10 * world.stop_time())
    assert len(world.alive()[0].transfer.log.rrl) == 2


def test_printed_merge_stops_the_living() -> None:
    """D-TO-3, TV-TO-3: E2 still has the bit, and sets it again at the others."""
    world = return_unheard_by_e2(ToOptions(printed=ToPrinted(merge=True)))
    world.run(until_ns=world.now + 8 * world.stop_time())
    assert views(world, 3) == [] and "holds me for stopped" in events(world, NoteKind.LEFT, 3)[0]


def late_words(options: ToOptions) -> list[str]:
    """D-TO-2: E3 is held for stopped, but not deaf for ever: E1 and E2 hear one more PDU while they agree."""
    world = restless(3, options)
    begin, stop = world.now, world.stop_time()
    mute, heard = begin + 40 * SLOT, begin + 40 * SLOT + stop + 20 * SLOT
    spoken = heard + 5 * SLOT

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        if pdu.src == 3 and receiver != 3:
            idle = not getattr(pdu, "payload", b"")
            return mute <= now < heard or (receiver == 2 and idle and spoken < now < heard + 90 * SLOT)
        if receiver == 3 and pdu.src != 3:
            return heard - 50 * SLOT <= now < heard + 120 * SLOT
        return isinstance(pdu, ToStopAck) and pdu.src != receiver and now < heard + 100 * SLOT

    world.channel(SLOT, loss)
    world.at(spoken, lambda: world.say(3, b"p"))
    world.run(until_ns=heard + 2 * stop)
    assert world.run_until_calm(8 * stop)
    return failures(world, TD)


def test_printed_freeze_accepts_what_was_reported_missing() -> None:
    assert late_words(ToOptions()) == []
    wrong = late_words(ToOptions(printed=ToPrinted(freeze=True)))
    assert [line[:4] for line in wrong] == ["TD-1", "TD-3"]


def busy_join(seed: int, options: ToOptions) -> list[str]:
    """The members talk and lose much while the last one comes back."""
    chance = random.Random(seed)
    n = 3 + seed % 2
    world = Restless(n, options, seed)
    world.channel(SLOT, lambda pdu, to, now: chance.random() < (0.3 if isinstance(pdu, ViewBlock) else 0.08))
    begin, stop = world.now, world.stop_time()
    world.at(begin, lambda: world.kill(n))
    world.at(begin + 2 * stop, lambda: world.start_again(n))
    for _ in range(60):
        src = chance.randrange(1, n)
        world.at(begin + 2 * stop + chance.randrange(-10, 100) * SLOT, lambda src=src: world.say(src))  # type: ignore[misc]
    world.run(until_ns=begin + 4 * stop)
    assert world.run_until_calm(20 * stop)
    return failures(world, TD)


def test_printed_flush_delivers_what_others_have_not() -> None:
    """D-TO-14."""
    broken = 0
    for seed in (3, 67, 87, 111):
        assert busy_join(seed, ToOptions()) == []
        broken += any(line.startswith("TD-1") for line in busy_join(seed, ToOptions(printed=ToPrinted(flush=True))))
    assert broken == 4


def test_printed_quorum_splits() -> None:
    """D-TO-4: a muted entity goes on alone."""

    def run(options: ToOptions) -> list[str]:
        world = restless(3, options)
        stop = world.stop_time()
        chatter(world, world.now, world.now + 6 * stop)
        world.at(world.now + 40 * SLOT, lambda: setattr(world, "reachable", lambda a, b: (a == 3) == (b == 3)))
        world.at(world.now + 4 * stop, lambda: setattr(world, "reachable", lambda a, b: True))
        world.run(until_ns=world.now + 7 * stop)
        calm = world.run_until_calm(8 * stop)
        return failures(world, TD, quiet=calm)

    assert run(ToOptions()) == []
    assert any(line.startswith("TD-1") for line in run(ToOptions(printed=ToPrinted(quorum=True))))


@pytest.mark.parametrize("switch", ["star", "quorum"])
def test_random_schedules_catch_it_too(switch: str) -> None:
    """Some schedule on which the repaired rule holds breaks the printed one."""
    options = ToOptions(silence=12, printed=ToPrinted(**{switch: True}))
    for seed in range(200):
        if complaints(seed, options):
            assert complaints(seed, ToOptions(silence=12)) == []
            return
    raise AssertionError(f"no schedule of 200 shows what is wrong with {switch}")


# Bad input and the wire.


def test_bad_input_is_refused() -> None:
    one = entity_1()
    refused = [o.text for o in one.step(Submit(1, (2,), b"x"), 0) if not isinstance(o, Send) and o.text != ""]
    assert refused == ["TO is for everybody"]
    good = ToRcvPack(**COMMON, src=2, flags=0, epoch=0, tseq=1, ack=(1, 1, 1), nxt=1, nxtp=1)
    one.step(Received(good), 1)
    wrong = ToData(
        **{**COMMON, "cluster": 2},
        src=2,
        flags=0,
        epoch=0,
        tseq=1,
        buf=1,
        dst=(1, 2, 3),
        ack=(1, 1, 1),
        pseq=(1,),
        payload=b"",
    )
    one.step(Received(wrong), 2)
    assert one.counters()["refused_foreign_cluster"] == 1
    assert one.settled()


def test_golden_bytes() -> None:
    common: dict[str, Any] = {"src": 2, "cluster": 1, "n": 2, "flags": 0, "epoch": 3, "tseq": 9}
    common |= {"v": (131072, 131073), "committed": (131072, 131072)}
    head, views_ = "0001 02 00 00000003 00000009", "00020000 00020001 00020000 00020000"
    golden(
        ToData(**common, buf=5, dst=(1, 2), ack=(4, 9), pseq=(7,), payload=b"z"),
        "7475 23 01 0002 003b",
        f"{head} 0005 00000003 00000004 00000009 00000007 {views_} 7a",
    )
    golden(
        ToStop(**common, ack=(4, 9), round=4, c=(3, 8)),
        "7475 23 05 0002 003c",
        f"{head} {views_} 00000004 00000009 00000004 00000003 00000008",
    )
    golden(ToRcv(**common), "7475 23 08 0002 0028", f"{head} {views_}")
    golden(
        ToRcvPack(**common, ack=(4, 9), nxt=9, nxtp=7),
        "7475 23 09 0002 0038",
        f"{head} {views_} 00000004 00000009 00000009 00000007",
    )


def test_titles_of_the_fault_matcher() -> None:
    assert titled("STOP_ACK", 2)(
        ToStopAck(**COMMON, src=2, flags=0, epoch=0, tseq=1, ack=(1, 1, 1), round=0, c=(1, 1, 1))
    )
