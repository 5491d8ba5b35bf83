"""What a protocol's package says of its machine is so."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from captures.evidence import Evidence
from harness.world import World
from nodes.cmd import notes as cmd
from nodes.delta import notes as delta
from nodes.machine import Setting
from nodes.protocols import NAMES, protocol
from nodes.wire.note import Delivered, NoteKind, Refused, Sent, Submitted, digest_of, said
from tests.helpers.notation import history

MEMBERS = (1, 2, 3)
MS = 1_000_000
OF_ALL: tuple[type[NamedTuple], ...] = (Submitted, Sent, Delivered, Refused)


def run(name: str) -> World:
    """Each node submits four messages, one of them to somebody who does not exist; every fifth copy is lost."""
    spec, world = protocol(name), World(7)
    for node in MEMBERS:
        world.add(node, spec.make(Setting(me=node, members=MEMBERS, seed=node, slot_ns=MS // 4), spec.options()))
    if spec.transport in ("channel", "any"):
        world.channel(MS // 4, lambda pdu, receiver, now: world.random.random() < 0.2)
    else:
        world.mesh(lambda pdu, receiver, now: 2 * MS if world.random.random() < 0.8 else None)
    for number, to in enumerate((MEMBERS, (1, 2), MEMBERS, (2, 9))):
        for node in MEMBERS:
            world.at(world.now + number * 20 * MS, lambda node=node, to=to: world.submit(node, to, b"x"))  # type: ignore[misc]
    world.run(until_ns=world.now + 3_000 * MS)
    return world


@pytest.mark.parametrize("name", [name for name in NAMES if protocol(name).notes is not None])
def test_what_a_machine_notes_is_what_its_facet_says(name: str) -> None:
    known = (*(protocol(name).notes or ()), *OF_ALL)
    noted = [event for event in run(name).history().notes if event.node and event.values]
    assert {NoteKind.SENT} <= {event.kind for event in noted}
    for event in noted:
        meaning: type = type(event.values)
        if meaning is tuple:  # something of no fixed length follows
            meaning = next(one for one in known if one.__name__.upper() == event.kind.name)
        assert meaning in known, event
        assert said(meaning, event.values), event


@pytest.mark.parametrize("name", [name for name in NAMES if protocol(name).notes is not None])
def test_a_sent_begins_in_every_protocol_with_the_number_of_its_submission(name: str) -> None:
    for meaning in protocol(name).notes or ():
        assert meaning.__name__ != "Sent" or meaning._fields[: len(Sent._fields)] == Sent._fields
    sent = [event for event in run(name).history().notes if event.kind is NoteKind.SENT]
    told = [one.submission for event in sent if (one := said(Sent, event.values))]
    assert len(told) == len(sent) and set(told) <= {1, 2, 3, 4}


@pytest.mark.parametrize("name", [name for name in NAMES if protocol(name).notes is not None])
def test_a_delivered_begins_in_every_protocol_with_the_digest_of_what_was_delivered(name: str) -> None:
    for meaning in protocol(name).notes or ():
        assert meaning.__name__ != "Delivered" or meaning._fields[: len(Delivered._fields)] == Delivered._fields
    delivered = [event for event in run(name).history().notes if event.kind is NoteKind.DELIVERED]
    assert delivered and {said(Delivered, event.values) for event in delivered} == {Delivered(digest_of(b"x"))}


def test_values_are_not_read_as_what_another_protocol_says() -> None:
    one = history("1+a>2")  # delta's
    (sent,) = one.notes.rows(one.notes.of_kind(NoteKind.SENT))

    def read(name: str, meaning: type) -> bool:
        return Evidence(one.nodes, one.notes, protocol=name).said(meaning, sent) is not None

    assert read("delta", delta.Sent) and read("own", delta.Sent) and read("own", cmd.Sent)
    assert not read("delta", cmd.Sent) and not read("raw", cmd.Sent)
