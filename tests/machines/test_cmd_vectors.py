"""cmd: the scripted runs of paper 004, with every vector and record; and a run for each printed rule that fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from harness.world import World
from nodes.cmd.machine import Cmd
from nodes.cmd.options import CmdOptions, Printed, SchemeName
from nodes.cmd.orders import SRecords
from nodes.cmd.rules import on_snapshots, one_after_the_other, rule_1, rule_2, rule_3
from nodes.machine import Log, Received, Setting, Submit
from nodes.wire import Pdu
from nodes.wire.cmd import CmdAck, CmdData, CmdMatrix
from nodes.wire.note import NoteKind
from tests.helpers.verdicts import out_of_order

MS = 1_000_000
SLOW = 100 * MS

Records = set[tuple[int, ...]]


class Script:
    """Three processes; messages one after the other, 10 ms apart unless told otherwise; 1 ms on every path but some."""

    def __init__(self, options: CmdOptions | None = None, slow: Mapping[bytes, tuple[int, ...]] | None = None) -> None:
        self.world = World()
        self.slow = slow or {}
        for me in (1, 2, 3):
            machine = Cmd(Setting(me=me, members=(1, 2, 3), seed=0), options or CmdOptions(retry_ns=300 * MS))
            self.world.add(me, machine)
        self.world.mesh(lambda pdu, to, now: self._delay(pdu, to))

    def _delay(self, pdu: Pdu, to: int) -> int:
        if isinstance(pdu, CmdData | CmdMatrix) and to in self.slow.get(pdu.payload, ()):
            return SLOW
        return MS

    def send(self, source: int, to: tuple[int, ...], name: bytes) -> None:
        self.world.submit(source, to, name)
        self.world.run(self.world.now + 10 * MS)

    def run(self) -> Script:
        self.world.run()
        return self

    def order(self, node: int) -> SRecords:
        machine = self.world.machine(node)
        assert isinstance(machine, Cmd) and isinstance(machine.order, SRecords)
        return machine.order

    def copy(self, name: bytes, to: int | None = None) -> CmdData:
        """What went over the wire; `to` tells the copies of a multicast apart, in the order of destinations."""
        copies = [pdu for _, pdu in self.world.sent if isinstance(pdu, CmdData) and pdu.payload == name]
        return copies[to or 0]

    def name(self, about: int, seq: int) -> str:
        for _, pdu in self.world.sent:
            if isinstance(pdu, CmdData | CmdMatrix) and (pdu.src, pdu.t) == (about, seq):
                return pdu.payload.decode()
        raise AssertionError((about, seq))

    def log(self, node: int) -> list[str]:
        return [
            self.name(event.about, event.seq)
            for event in self.world.history().notes
            if event.node == node and event.kind is NoteKind.DELIVERED
        ]

    def inverted(self) -> list[str]:
        """The two messages that a judge names, in the order of their delivery."""
        return [self.name(event.about, event.seq) for event in out_of_order(self.world.history())]


def options(scheme: SchemeName = "s_records", **printed: bool) -> CmdOptions:
    return CmdOptions(scheme=scheme, retry_ns=300 * MS, printed=Printed(**printed))


SCHEMES: tuple[SchemeName, ...] = ("s_records", "unpruned", "matrix")


# TV-CM-1, TV-CM-4: the triangle


def triangle(chosen: CmdOptions) -> Script:
    script = Script(chosen, {b"m1": (3,)})
    script.send(1, (3,), b"m1")
    script.send(1, (2,), b"m2")
    script.send(2, (3,), b"m3")
    return script


def test_triangle() -> None:
    script = triangle(options())
    m1, m2, m3 = (script.copy(name) for name in (b"m1", b"m2", b"m3"))
    assert (m1.v, m1.r) == ((1, 0, 0), ())
    assert (m2.v, m2.r) == ((2, 0, 0), ((1, 3, 1),))
    assert (m3.v, m3.r) == ((2, 2, 0), ((1, 3, 1),))
    assert script.log(3) == [] and not script.world.machine(3).settled()
    script.run()
    assert script.log(3) == ["m1", "m3"]
    assert script.order(3).vector() == (2, 2, 2) and script.world.settled()


def test_m3_waits_in_the_queue_exactly_until_m1_comes() -> None:
    events = triangle(options()).run().world.history().notes
    m3 = next(event for event in events if event.node == 3 and event.kind is NoteKind.DELIVERED and event.about == 2)
    assert m3.values[1:] == (SLOW - 2 * 10 * MS - MS, 1, 1)  # there at 21 ms, delivered at 100 ms; one record, for me


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_orders_the_triangle(scheme: SchemeName) -> None:
    script = triangle(options(scheme)).run()
    assert script.log(3) == ["m1", "m3"] and script.world.settled()


def test_rule_3_with_the_raised_clock_forgets_what_it_was_just_told() -> None:
    """D-CM-1, CEX1."""
    script = triangle(options(clock=True)).run()
    assert script.copy(b"m3").r == ()
    assert script.log(3) == ["m3", "m1"]
    assert script.inverted() == ["m3", "m1"]


def test_a_queue_that_is_looked_at_in_branch_i_only_is_never_emptied() -> None:
    """D-CM-3, CEX4: m1 has no record for P3, so nobody looks whether m3 can go now."""
    script = triangle(options(queue=True)).run()
    assert script.log(3) == ["m1"]
    assert not script.world.settled()


# TV-CM-2: a record that both sides know


def common_record(chosen: CmdOptions) -> Script:
    script = Script(chosen, {b"m1": (3,)})
    script.send(1, (3,), b"m1")
    script.send(1, (2,), b"m2")
    script.send(1, (2,), b"m4")
    return script


def test_a_record_that_both_sides_have_is_kept() -> None:
    script = common_record(options())
    assert (script.copy(b"m4").v, set(script.copy(b"m4").r)) == ((3, 0, 0), {(1, 3, 1), (1, 2, 2)})
    assert script.order(2).r == {(1, 3, 1)}  # <1,2,2> is delivered and goes
    script.send(2, (3,), b"m5")
    assert script.run().log(3) == ["m1", "m5"]


def test_one_rule_after_the_other_loses_it() -> None:
    """D-CM-2, CEX2."""
    script = common_record(options(sequence=True))
    assert script.order(2).r == frozenset()
    script.send(2, (3,), b"m5")
    assert script.run().inverted() == ["m5", "m1"]


# TV-CM-3: multicast


def question_and_answer(chosen: CmdOptions) -> Script:
    script = Script(chosen, {b"q": (3,)})
    script.send(1, (2, 3), b"q")
    script.send(2, (3,), b"a")
    return script


def test_a_copy_names_the_other_copies() -> None:
    script = question_and_answer(options())
    assert script.copy(b"q", 0).r == ((1, 3, 1),) and script.copy(b"q", 1).r == ((1, 2, 1),)
    assert script.copy(b"q", 0).t == script.copy(b"q", 1).t == 1  # one event, one time
    assert script.copy(b"a").r == ((1, 3, 1),)
    assert script.run().log(3) == ["q", "a"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_orders_question_and_answer(scheme: SchemeName) -> None:
    assert question_and_answer(options(scheme)).run().log(3) == ["q", "a"]


def test_by_the_same_method_the_answer_overtakes_the_question() -> None:
    """D-CM-4, CEX3."""
    assert question_and_answer(options(multicast=True)).run().inverted() == ["a", "q"]


# TV-CM-5, TV-CM-6: pruning and supersession


def test_pruning() -> None:
    script = Script(options())
    script.send(1, (3,), b"m1")
    script.send(1, (2,), b"m2")
    assert script.order(2).r == {(1, 3, 1)}
    script.send(3, (2,), b"m6")
    assert (script.copy(b"m6").v, script.copy(b"m6").r) == ((1, 0, 2), ())
    assert script.order(2).r == frozenset() and script.order(2).vector() == (2, 2, 2)


@pytest.mark.parametrize(("repeat", "records"), [(False, {(1, 3, 2)}), (True, {(1, 3, 1), (1, 3, 2)})])
def test_supersession(repeat: bool, records: Records) -> None:
    """D-CM-6: the newer message to P3 carries the older record itself."""
    script = Script(options(repeat=repeat), {b"m1": (3,), b"m2": (3,)})
    script.send(1, (3,), b"m1")
    script.send(1, (3,), b"m2")
    script.send(1, (2,), b"m3")
    assert set(script.copy(b"m3").r) == records
    assert script.copy(b"m2").r == ((1, 3, 1),)
    assert script.run().log(3) == ["m1", "m2"]


# The rules themselves


def test_the_three_rules() -> None:
    """One record for each case of each rule: <k, l> = <1, 2> in all."""
    mine, yours = frozenset({(1, 2, 5)}), frozenset({(1, 2, 7)})
    nobody: frozenset[tuple[int, int, int]] = frozenset()
    assert rule_1(mine, yours) == (nobody, yours)
    assert rule_1(yours, mine) == (yours, nobody)
    assert rule_1(mine, mine) == (mine, nobody)
    assert rule_2(mine, nobody, {1: 5}) == nobody
    assert rule_2(mine, nobody, {1: 4}) == mine
    assert rule_2(mine, mine, {1: 5}) == mine
    assert rule_3(nobody, mine, {1: 5}) == nobody
    assert rule_3(nobody, mine, {1: 4}) == mine
    assert rule_3(mine, mine, {1: 5}) == mine


def test_what_both_know_is_lost_by_the_printed_order_of_the_rules() -> None:
    both = frozenset({(1, 3, 1)})
    assert on_snapshots(both, both, {1: 2}, {1: 2}) == both
    assert one_after_the_other(both, both, {1: 2}, {1: 2}) == frozenset()


# Edges


def entity(**more: int) -> Cmd:
    return Cmd(Setting(me=1, members=(1, 2, 3), seed=0), CmdOptions(**more))  # type: ignore[arg-type]


def copy(link: int, t: int, r: tuple[tuple[int, int, int], ...] = (), v: tuple[int, ...] = (0, 0, 0)) -> CmdData:
    return CmdData(
        src=2, incarnation=1, to_incarnation=1, link=link, repeated=0, t=t, n=len(v), nrec=len(r), v=v, r=r, payload=b""
    )


def kinds(outputs: list[object]) -> list[NoteKind]:
    return [output.kind for output in outputs if isinstance(output, Log)]


@pytest.mark.parametrize("to", [(), (4,), (1, 9)])
def test_no_destination_is_refused(to: tuple[int, ...]) -> None:
    assert kinds([*entity().step(Submit(1, to, b""), 1)]) == [NoteKind.REFUSED]


def test_my_own_copy_does_not_travel_and_is_delivered_once() -> None:
    """D-CM-7."""
    machine = entity()
    outputs = machine.step(Submit(1, (1, 2, 2), b"x"), 1)
    assert kinds([*outputs]) == [NoteKind.SENT, NoteKind.DELIVERED] and len(outputs) == 3
    assert kinds([*machine.step(Submit(2, (1,), b"y"), 1)]) == [NoteKind.SENT, NoteKind.DELIVERED]


def test_a_foreign_tag_is_refused_and_not_acknowledged() -> None:
    machine = entity()
    assert machine.step(Received(copy(1, 1, v=(0, 0))), 1) == []
    assert machine.step(Received(copy(1, 1, r=((9, 1, 1),))), 1) == []
    matrix = CmdMatrix(src=2, incarnation=1, to_incarnation=1, link=1, repeated=0, t=1, n=1, sent=(0,), payload=b"")
    assert machine.step(Received(matrix), 1) == []
    assert machine.counters()["refused_tag"] == 2 and machine.counters()["refused_scheme"] == 1


def test_a_full_queue_gives_one_alarm_and_takes_no_more_until_there_is_room() -> None:
    """What is not acknowledged comes again; what can be delivered at once is always taken."""
    machine = entity(queue_limit=1)
    waits = ((3, 1, 1),)
    assert kinds([*machine.step(Received(copy(1, 1, waits)), 1)]) == []
    assert kinds([*machine.step(Received(copy(2, 2, waits)), 2)]) == [NoteKind.ALARM]
    assert machine.step(Received(copy(3, 3, waits)), 3) == []
    missing = replace(copy(1, 1, v=(0, 0, 1)), src=3)
    assert kinds([*machine.step(Received(missing), 4)]) == [NoteKind.DELIVERED] * 2
    outputs = machine.step(Received(copy(2, 2, waits)), 5)
    assert kinds([*outputs]) == [NoteKind.DELIVERED]
    assert any(isinstance(getattr(output, "pdu", None), CmdAck) for output in outputs)


def test_too_many_copies_under_way_are_refused_before_they_count() -> None:
    machine = entity(window=2)
    for number in (1, 2):
        machine.step(Submit(number, (2,), b""), 1)
    assert kinds([*machine.step(Submit(3, (2, 3), b""), 1)]) == [NoteKind.REFUSED]
    assert machine.order.t == 2
