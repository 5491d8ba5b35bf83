"""What a facet says of PDUs is what their senders noted and what is on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from harness.explore.memory import Run
from harness.scenario import loads
from nodes.delta.notes import Sent
from nodes.delta.options import DeltaOptions
from nodes.delta.pdus import MOMENT, stamps_for
from nodes.facet import About
from nodes.protocols import protocol
from nodes.wire import Pdu, encode
from nodes.wire.note import NoteKind, digest_of
from tests.helpers.drawn import SPACES, drawn

WITHOUT_TAG: dict[str, dict[str, Any]] = {
    "delta.DATA": {"n": 0, "counts": (), "cb": ()},
    "cmd.DATA": {"n": 0, "v": (), "nrec": 0, "r": ()},
    "cmd.MATRIX": {"n": 0, "sent": ()},
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one list."""

    values: Sequence[int]

    @property
    def counts(self) -> int:
        return len(self.values)

    def at(self, place: int) -> int:
        return self.values[place] if 0 <= place < len(self.values) else 0


def carried_out(name: str, rules: str, number: int) -> tuple[set[tuple[int, int]], list[tuple[About, Pdu]]]:
    """The messages that were noted as sent; the PDUs of which the facet says something."""
    run = Run(loads(drawn(name, rules, number)))
    run.all()
    told = {one.pdu: one for one in protocol(name).pdus}
    noted = [event for event in run.world.events if event.kind is NoteKind.SENT]
    channel = run.plan.channel is not None  # else what is for the sender alone never leaves it
    sent = {(event.about, event.seq) for event in noted if channel or set(event.peers) != {event.node}}
    return sent, [(told[type(pdu)], pdu) for _, pdu in run.world.sent if type(pdu) in told]


def message(about: About, pdu: Pdu) -> tuple[int, int]:
    values = [getattr(pdu, field) for field in about.fields]
    return about.message(pdu.src, *[Column(value) if isinstance(value, tuple) else value for value in values])


@pytest.mark.parametrize("name", SPACES)
def test_a_pdu_is_about_a_message_that_its_origin_noted(name: str) -> None:
    for number in range(4):
        sent, pdus = carried_out(name, "repaired", number)
        assert {message(about, pdu) for about, pdu in pdus} - {(0, 0)} == sent
        assert {message(about, pdu) for about, pdu in pdus if about.carries} - {(0, 0)} == sent
        idle = [pdu for about, pdu in pdus if message(about, pdu) == (0, 0)]
        assert all(getattr(pdu, "dst", None) == () for pdu in idle) and bool(idle) == (name in ("st", "to"))


@pytest.mark.parametrize("name", SPACES)
def test_what_carries_a_message_has_the_bytes_that_were_submitted(name: str) -> None:
    run = Run(loads(drawn(name, "repaired", 0)))
    run.all()
    given = {event.values[0] for event in run.world.events if event.kind is NoteKind.SUBMITTED}
    carrying = {one.pdu for one in protocol(name).pdus if one.carries}
    pdus: list[Any] = [pdu for _, pdu in run.world.sent if type(pdu) in carrying and getattr(pdu, "dst", True)]
    assert pdus and {digest_of(pdu.payload) for pdu in pdus} <= given


@pytest.mark.parametrize(("name", "rules"), [("delta", "repaired"), ("cmd", "repaired"), ("cmd", "matrix")])
def test_the_length_of_a_tag_is_that_on_the_wire(name: str, rules: str) -> None:
    _, pdus = carried_out(name, rules, 0)
    lengths = set()
    for about, pdu in pdus:
        assert about.tag_bytes is not None
        entries = len(getattr(pdu, about.tag)) if about.tag else 0
        tagged: Any = pdu
        without: Pdu = replace(tagged, **WITHOUT_TAG[pdu.TYPE.name])
        length = len(encode(pdu)) - len(encode(without))
        assert about.tag_bytes(tagged.n, entries) == length
        lengths.add(length)
    assert len(lengths) > 1 or rules == "matrix"


def test_when_delta_allows_a_delivery() -> None:
    """R0, R1, R2 with Δ' = 26 and MAX_CB = 2: a full set holds a message back until its oldest entry has expired."""
    not_before, counts, cb = MOMENT.not_before_ns, (1, 2, 0), [(9, 50), (1, 80), (3, 70)]
    assert not_before is not None and MOMENT.expires_ns is not None
    assert [stamps_for(node, counts, cb) for node in (1, 2, 3, 4)] == [[50], [80, 70], [], []]
    bounded = DeltaOptions(delta_ns=20, epsilon_ns=6, max_cb=2)
    assert [not_before(bounded, node, 90, counts, cb) for node in (1, 2, 3)] == [90, 70 + 26 + 1, 90]
    assert not_before(bounded, 2, 99, counts, cb) == 99
    assert not_before(replace(bounded, scheme="unbounded"), 2, 90, counts, cb) == 90
    assert not_before(replace(bounded, scheme="hold"), 2, 90, counts, cb) == 90 + 10
    assert MOMENT.expires_ns(bounded) == 27
    assert MOMENT.stamp(tuple(Sent(1, 77, *(0,) * (len(Sent._fields) - 2)))) == 77 and MOMENT.stamp(()) == 0
