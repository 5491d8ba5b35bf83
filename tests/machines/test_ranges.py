"""Numbers on the wire have ranges: what is beyond is refused where it is made, and told; nothing wraps around.

The fields are those of the wire table; the machines are made to use up what their numbers can say.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from captures import samples
from harness.scenario import ScenarioError, loads
from nodes.cmd.machine import Cmd
from nodes.cmd.options import CmdOptions, SchemeName
from nodes.cmd.rules import NUMBERING as OF_CMD
from nodes.him.membership import Membership
from nodes.him.sender import NUMBERING as OF_HIM
from nodes.lives import NO_NUMBER, Numbering
from nodes.machine import Input, Log, Machine, Output, Received, Send, Setting, Submit, Wake
from nodes.protocols import NAMES, protocol
from nodes.to.machine import NO_INCARNATION, To
from nodes.to.options import ToOptions
from nodes.to.views import LIVES, first_incarnation, is_last_of_its_start
from nodes.wire import Field, PduType, RangeError, all_pdu_types, decode_untrusted, encode
from nodes.wire.note import NoteKind
from nodes.wire.table import Flags, Members, Of, Records, SInt, SumOf, UInt, Vector, numbers
from tests.helpers.cluster import SLOT
from tests.helpers.group import Group, options

Integer = UInt | SInt | Flags


def integers() -> Iterator[tuple[PduType, Field, Integer, int]]:
    """Every integer of the wire table, those in vectors and records too: its row, field, kind, column."""
    for row in all_pdu_types():
        for field in row.fields:
            kind = field.kind
            if isinstance(kind, Integer):
                yield row, field, kind, 0
            elif isinstance(kind, Vector):
                yield row, field, kind.element, 0
            elif isinstance(kind, Records):
                for column, (_, element) in enumerate(kind.columns):
                    yield row, field, element, column


def with_number(row: PduType, field: Field, column: int, number: int) -> Any:
    """A PDU that has this number in that place."""
    chance = random.Random(1)
    while True:
        pdu: Any = samples.random_pdu(row, chance, cluster=3)
        value = getattr(pdu, field.name)
        if isinstance(field.kind, Integer):
            return replace(pdu, **{field.name: number})
        if not value:
            continue  # an empty vector
        first = number if isinstance(field.kind, Vector) else (*value[0][:column], number, *value[0][column + 1 :])
        return replace(pdu, **{field.name: (first, *value[1:])})


def counts_in(row: PduType) -> set[str]:
    """The fields that say how many there are of something."""
    found: set[str] = set()
    for field in row.fields:
        if isinstance(field.kind, Members):
            found.add(field.kind.size)
        elif isinstance(field.kind, Vector | Records):
            count = field.kind.count
            found |= {count.name} if isinstance(count, SumOf) else set(count.names) if isinstance(count, Of) else set()
    return found


INTEGERS = list(integers())


@pytest.mark.parametrize(
    ("row", "field", "kind", "column"), INTEGERS, ids=[f"{row.name}.{field.name}.{n}" for row, field, _, n in INTEGERS]
)
def test_what_a_field_cannot_hold_is_named_and_has_no_bytes(
    row: PduType, field: Field, kind: Integer, column: int
) -> None:
    can_be = numbers(kind)
    for number in (can_be[0] - 1, can_be[-1] + 1):
        with pytest.raises(RangeError, match=rf"^{row.name}\.{field.name}\b.* is {number}, beyond {can_be[0]} to"):
            encode(with_number(row, field, column, number))
    if field.name in counts_in(row):
        return  # how many there are of something: the greatest number of them is no PDU
    for number in (can_be[0], can_be[-1]):
        pdu = with_number(row, field, column, number)
        assert decode_untrusted(encode(pdu)) == pdu


def test_the_table_is_covered() -> None:
    assert len(INTEGERS) > 150 and {row.name for row, *_ in INTEGERS} == {row.name for row in all_pdu_types()}


def test_a_pdu_that_is_too_long_has_no_bytes() -> None:
    (row,) = [row for row in all_pdu_types() if row.name == "raw.DATA"]
    pdu: Any = samples.random_pdu(row, random.Random(1))
    with pytest.raises(RangeError, match=r"raw\.DATA"):
        encode(replace(pdu, payload=bytes(1 << 16)))


# Lives.


def logs(outputs: list[Output], kind: NoteKind) -> list[Log]:
    return [one for one in outputs if isinstance(one, Log) and one.kind is kind]


def refuses(machine: Machine, event: Input, why: str) -> bool:
    """With a NOTE and an alarm, and nothing on the network."""
    outputs = machine.step(event, 1)
    assert [one.text for one in logs(outputs, NoteKind.REFUSED)] == [why]
    return [one.text for one in logs(outputs, NoteKind.ALARM)] == [why] and not any(
        isinstance(one, Send) for one in outputs
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_node_that_was_started_too_often_says_so_and_does_nothing(name: str) -> None:
    spec = protocol(name)
    if spec.brings_program or spec.run is not None:
        return  # its numbers are its own
    setting = Setting(me=1, members=(1, 2, 3), seed=1, slot_ns=SLOT, incarnation=spec.lives + 1)
    machine = spec.machine(setting, spec.options())
    deadlines = [machine.deadline]
    (alarm,) = machine.step(Wake(), 0)
    deadlines.append(machine.deadline)
    assert isinstance(alarm, Log) and f"{spec.lives} lives" in alarm.text and alarm.kind is NoteKind.ALARM
    assert deadlines == [0, None] and machine.settled()
    assert refuses(machine, Submit(1, (1, 2, 3), b"x"), alarm.text)


@pytest.mark.parametrize("name", NAMES)
def test_the_last_life_has_numbers(name: str) -> None:
    """Whatever a machine says first in it has bytes."""
    spec = protocol(name)
    if spec.brings_program or spec.run is not None:
        return
    machine = spec.machine(Setting(me=1, members=(1, 2, 3), seed=1, incarnation=spec.lives), spec.options())
    outputs = [*machine.step(Wake(), 1), *machine.step(Submit(1, (1, 2, 3), b"x"), 2)]
    for number, output in enumerate(outputs, 1):
        encode(output.pdu if isinstance(output, Send) else output.note(1, spec.lives, number, 2))


@pytest.mark.parametrize("numbering", [Numbering(20), OF_CMD, OF_HIM])
def test_lives_share_no_number_and_all_fit(numbering: Numbering) -> None:
    ranges = [numbering.of(life) for life in (1, 2, numbering.lives - 1, numbering.lives)]
    assert ranges[0][0] == 1 and ranges[-1][-1] < 1 << 32
    assert all(one[-1] < other[0] for one, other in pairwise(ranges))
    assert numbering.of(numbering.lives + 1)[0] > 1 << 32


@pytest.mark.parametrize("name", ["raw", "tcp"])
def test_no_number_is_left_for_a_message(name: str) -> None:
    spec = protocol(name)
    machine: Any = spec.machine(Setting(me=1, members=(1, 2), seed=1), spec.options())
    machine._numbers = iter([(1 << 20) - 1])
    sent = machine.step(Submit(1, (1, 2), b"x"), 0)
    assert logs(sent, NoteKind.SENT)[0].seq == (1 << 20) - 1
    assert refuses(machine, Submit(2, (1, 2), b"x"), NO_NUMBER)


@pytest.mark.parametrize("scheme", ["s_records", "matrix"])
def test_cmd_has_no_number_for_two_events(scheme: SchemeName) -> None:
    """Deliveries count too: they take the last numbers, and go on when there are none."""
    one: Any = Cmd(Setting(me=1, members=(1, 2), seed=1), CmdOptions(scheme=scheme))
    other = Cmd(Setting(me=2, members=(1, 2), seed=2), CmdOptions(scheme=scheme))
    last = OF_CMD.of(1)[-1]
    if scheme == "matrix":
        one.order._events = last - 2
    else:
        one.order.v[1] = last - 2
    assert logs(one.step(Submit(1, (2,), b"x"), 0), NoteKind.SENT)[0].seq == last - 1
    for number in (1, 2, 3):
        (copy,) = [x for x in other.step(Submit(number, (1,), b"y"), number) if isinstance(x, Send)]
        assert len(logs(one.step(Received(copy.pdu), number), NoteKind.DELIVERED)) == 1
    assert one.order.t == last
    assert refuses(one, Submit(2, (2,), b"x"), NO_NUMBER)


def test_him_has_no_number_for_a_message() -> None:
    group = Group(3, options())
    machine: Any = group.world.machine(1)
    machine._sender._numbers = iter(())
    group.submit(1, b"x")
    group.world.run()
    assert [one.text for one in group.notes(NoteKind.ALARM)] == [NO_NUMBER]
    assert group.notes(NoteKind.SENT) == []


def test_him_has_no_number_for_a_view() -> None:
    """The dead node stays in the view; whoever finds it says that it cannot be taken out."""
    group = Group(4, options())
    for node in group.members:
        membership: Membership = group.world.machine(node)._membership  # type: ignore[attr-defined]
        membership._seen = 0xFFFF << 16 | 1
    group.world.kill(3)
    group.submit(1, b"x")
    group.world.run(max_events=50_000)
    assert "no number is left for another view" in {one.text for one in group.notes(NoteKind.ALARM)}
    assert len({one.seq for one in group.notes(NoteKind.VIEW)}) == 1


def test_to_comes_back_no_more_when_its_start_has_no_incarnation() -> None:
    machine = To(Setting(me=1, members=(1, 2, 3), seed=1, slot_ns=SLOT), ToOptions())
    machine.step(Wake(), 0)
    machine.standing.incarnation = first_incarnation(2) - 1
    assert is_last_of_its_start(machine.standing.incarnation)
    machine._leave("alone")
    outputs = machine.core.take_outputs()
    assert [one.text for one in logs(outputs, NoteKind.ALARM)] == [NO_INCARNATION]
    later = machine.step(Wake(), 10**12)
    assert not any(isinstance(one, Send) for one in later)
    assert machine.standing.incarnation == first_incarnation(2) - 1
    refused = logs(machine.step(Submit(1, (1, 2, 3), b"x"), 10**12 + 1), NoteKind.REFUSED)
    assert [one.text for one in refused] == [NO_INCARNATION]
    assert first_incarnation(LIVES) << 1 < 1 << 32 <= first_incarnation(LIVES + 1) << 1


# Scenarios.

_ONE_CHANNEL = """
name = "ranges"
protocol = "{0}"
[topology]
kind = "one_channel"
nodes = {1}
channel = {{ rate = "10mbit" }}
[{0}]
{2}
"""


@pytest.mark.parametrize("name", ["st", "to"])
def test_the_longest_pdu_of_a_round_must_fit_a_frame(name: str) -> None:
    for nodes, window in ((3, 2900), (16, 0), (32, 0)):
        loads(_ONE_CHANNEL.format(name, nodes, f"window = {window}"))
    for nodes, window in ((3, 4000), (16, 900), (60, 0)):
        with pytest.raises(ScenarioError, match=rf"RST_ACK of {nodes} nodes would have \d+ bytes"):
            loads(_ONE_CHANNEL.format(name, nodes, f"window = {window}"))
    loads(_ONE_CHANNEL.format("st", 60, 'recovery = "range"'))  # without bitmaps


@pytest.mark.parametrize("scheme", ["unbounded", "hold"])
def test_the_length_of_a_set_of_delta_is_a_byte(scheme: str) -> None:
    text = 'name = "r"\nprotocol = "delta"\n[topology]\nkind = "lan"\nnodes = {}\n[delta]\nscheme = "{}"\n'
    loads(text.format(256, scheme))
    loads(text.format(257, "bounded"))
    with pytest.raises(ScenarioError, match="at most 256 nodes"):
        loads(text.format(257, scheme))


@pytest.mark.parametrize("name", ["st", "to"])
@pytest.mark.parametrize(
    ("nodes", "option", "why"),
    [
        (3, "window = 8161", "window is 1 to 8160"),
        (3, "window = -5", "window is 1 to 8160"),
        (3, "cluster = 65536", "cluster is 0 to 65535"),
        (3, "buffer_share = 0", "buffer_share is 1 to 65535"),
        (256, "", "at most 255 nodes"),
    ],
)
def test_what_the_wire_cannot_say_is_no_scenario(name: str, nodes: int, option: str, why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        loads(_ONE_CHANNEL.format(name, nodes, option))
    loads(_ONE_CHANNEL.format(name, 3, "window = 1\ncluster = 65535"))
