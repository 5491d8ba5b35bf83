"""Faults at moments, in memory: what a node was about to put out goes with it, or waits until it goes on."""

from __future__ import annotations

import pytest

from captures.evidence import Event
from harness.explore.memory import carry_out
from harness.scenario import load, loads
from harness.scenario.find import SHIPPED
from nodes.wire.note import NoteKind

MS = 1_000_000
HEAD = """
name = "a"
protocol = "raw"
[topology]
kind = "lan"
nodes = 3
[workload]
kind = "script"
"""


def events(faults: str, messages: int = 4) -> list[Event]:
    """What was noted while n3 sent messages to everybody, one every 10 ms."""
    script = "".join(f'[[workload.message]]\nat = "{10 * turn}ms"\nnode = "n3"\n' for turn in range(1, messages + 1))
    return list(carry_out(loads(f"{HEAD}{script}[[fault]]\n{faults}")).world.history().notes)


def delivered(found: list[Event], node: int) -> list[tuple[int, float]]:
    """Number and time in ms of the messages that a node delivered."""
    start = next(event.time_ns for event in found if event.text == "start")
    taken = [one for one in found if (one.node, one.kind) == (node, NoteKind.DELIVERED)]
    return [(one.seq, (one.time_ns - start) / MS) for one in taken]


SECOND = 'when = { note = { kind = "SENT", src = 3 }, count = 2 }'


def test_who_dies_with_a_word_on_his_lips_sends_nothing_more() -> None:
    found = events(f'kind = "crash"\nnode = "n3"\n{SECOND}')
    assert delivered(found, 1) == [(1, 10)]
    assert [event.seq for event in found if (event.node, event.kind) == (3, NoteKind.SENT)] == [1, 2]


def test_who_is_stopped_with_a_word_on_his_lips_says_it_when_he_goes_on() -> None:
    found = events(f'kind = "pause"\nnode = "n3"\n{SECOND}\nfor = "15ms"')
    assert delivered(found, 1) == [(1, 10), (2, 35), (3, 35), (4, 40)]


def test_what_goes_out_has_gone_when_its_sender_dies_of_it() -> None:
    found = events('kind = "crash"\nnode = "n3"\nwhen = { pdu = { src = 3 }, count = 2 }')
    assert delivered(found, 1) == delivered(found, 2) == [(1, 10), (2, 20)]


def test_a_pdu_that_comes_finds_its_receiver_dead() -> None:
    found = events('kind = "crash"\nnode = "n1"\nwhen = { pdu = { src = 3 }, towards = "n1", count = 2 }')
    assert (delivered(found, 1), delivered(found, 2)) == ([(1, 10)], [(1, 10), (2, 20), (3, 30), (4, 40)])


def test_at_counts_from_the_moment() -> None:
    found = events('kind = "crash"\nnode = "n3"\nat = "15ms"\nwhen = { pdu = { src = 3 }, count = 2 }')
    assert delivered(found, 1) == [(1, 10), (2, 20), (3, 30)]


@pytest.mark.parametrize(
    ("fault", "taken"),
    [("drop", [1, 3, 4]), ('delay"\nby = "25ms', [1, 3, 4, 2]), ('duplicate"\nby = "5ms', [1, 2, 2, 3, 4])],
    ids=["drop", "delay", "duplicate"],
)
def test_chosen_pdus_are_counted_from_the_moment_on(fault: str, taken: list[int]) -> None:
    """The first after the first: it has come up to the port before its sender was seen to send it."""
    found = events(f'kind = "{fault}"\npdu = {{}}\ntowards = "n1"\nwhen = {{ pdu = {{ src = 3 }} }}')
    assert [number for number, _ in delivered(found, 1)] == taken


def test_a_copy_for_each_receiver_counts() -> None:
    """Where there is no multicast, two leave n3 at 10 ms and two at 20 ms: the third is of the second message."""
    to = 'to = ["n1", "n2"]\n'
    script = "".join(f'[[workload.message]]\nat = "{at}ms"\nnode = "n3"\n{to}' for at in (10, 20, 30))
    fault = '[[fault]]\nkind = "crash"\nnode = "n3"\nwhen = { pdu = { type = "DATA", src = 3 }, count = 3 }'
    found = list(carry_out(loads(f"{HEAD.replace('raw', 'cmd')}{script}{fault}")).world.history().notes)
    assert [at for _, at in delivered(found, 1)] == [10, 20]


def test_a_moment_may_come_when_all_else_is_over() -> None:
    found = events(
        'kind = "pause"\nnode = "n1"\nfor = "2s"\nwhen = { note = { kind = "DELIVERED", src = 1 }, count = 4 }'
    )
    told = [event.text for event in found if not event.node]
    assert told == ["start", "pause", "resume", "heal", "end quiet"]


def test_a_node_may_come_back_again_and_again() -> None:
    found = list(carry_out(load(SHIPPED / "raw/again.toml")).world.history().notes)
    lives = [event.incarnation for event in found if (event.node, event.kind) == (3, NoteKind.READY)]
    assert lives == [1, 2, 3]
    for life in lives:
        assert any((one.node, one.kind, one.incarnation) == (3, NoteKind.DELIVERED, life) for one in found)
