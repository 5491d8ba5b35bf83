"""auth = "hmac": what an outsider, an old packet or a damaged one can do to a group, namely nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nodes.him import PROTOCOL, key_of
from nodes.him.core import MAX_PAYLOAD
from nodes.him.machine import Him
from nodes.him.options import HimOptions
from nodes.him.seal import SEAL_BYTES, Open, Refused, Sealed, hash_of
from nodes.keys import read_key
from nodes.machine import Log, Received, Send, Setting, Submit
from nodes.wire import decode_untrusted, encode
from nodes.wire.him import (
    AUTH,
    HAVE,
    SUCCESS,
    HimAnswer,
    HimData,
    HimEnd,
    HimJoin,
    HimPdu,
    HimQuery,
    HimReport,
    HimView,
    HimViewRequest,
)
from nodes.wire.note import NoteKind
from tests.helpers.group import SLOW, Group, options

KEY = b"a key of the group, 32 bytes lng"
HMAC = options(SLOW, auth="hmac", key="in the scenario")


def head(src: int = 3, view: int = 1 << 16, flags: int = 0) -> dict[str, int]:
    return {"src": src, "flags": flags, "round": 0, "origin": src, "view": view, "seq": 1, "tsval": 0}


def data(src: int = 3, payload: bytes = b"x") -> HimData:
    return HimData(**head(src), hash=hash_of(payload), payload=payload)


def test_what_is_sealed_opens_once() -> None:
    alice, bob = Sealed(KEY, 1), Sealed(KEY, 1)
    sealed = alice.close(data())
    assert len(encode(sealed)) == len(encode(data())) + SEAL_BYTES
    assert bob.open_untrusted(sealed) == data()
    with pytest.raises(Refused, match="replayed"):
        bob.open_untrusted(sealed)


def test_packets_may_overtake_each_other_but_not_by_a_thousand() -> None:
    alice, bob = Sealed(KEY, 1), Sealed(KEY, 1)
    first, second, *others = [alice.close(data()) for _ in range(1030)]
    assert bob.open_untrusted(others[500]) == data()
    assert bob.open_untrusted(second) == data()
    bob.open_untrusted(others[-1])
    for late in (first, second, others[500]):
        with pytest.raises(Refused, match="replayed"):
            bob.open_untrusted(late)


def test_an_earlier_process_of_the_node_is_heard_no_more() -> None:
    old, new, bob = Sealed(KEY, 1), Sealed(KEY, 2), Sealed(KEY, 1)
    bob.open_untrusted(old.close(data()))
    bob.open_untrusted(new.close(data()))
    with pytest.raises(Refused, match="replayed"):
        bob.open_untrusted(old.close(data()))


def test_every_changed_bit_of_a_sealed_packet_is_found() -> None:
    sealed = encode(Sealed(KEY, 1).close(HimEnd(**head(flags=SUCCESS), seal=b"")))
    good = decode_untrusted(sealed)
    assert isinstance(good, HimPdu)
    bob = Sealed(KEY, 1)
    for name, value in (
        ("round", 1),
        ("origin", 2),
        ("view", 7),
        ("seq", 9),
        ("tsval", 9),
        ("flags", AUTH),
        ("src", 2),
    ):
        with pytest.raises(Refused, match="forged"):
            bob.open_untrusted(replace(good, **{name: value}))
    tail = good.seal  # type: ignore[attr-defined]
    for position in range(len(tail)):
        changed = tail[:position] + bytes([tail[position] ^ 1]) + tail[position + 1 :]
        with pytest.raises(Refused, match="forged"):
            bob.open_untrusted(replace(good, seal=changed))  # type: ignore[call-arg]
    bob.open_untrusted(good)


def test_a_key_is_needed() -> None:
    with pytest.raises(ValueError, match="needs a key_file"):
        options(SLOW, auth="hmac")
    with pytest.raises(ValueError, match="needs a key"):
        Him(Setting(me=1, members=(1, 2), seed=0), HMAC)


def test_key_file_is_read_if_nobody_else_can(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(KEY + b"\n")
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(PermissionError, match="chmod 600"):
            read_key(file)
    file.chmod(0o600)
    assert read_key(file) == KEY
    file.write_bytes(b"short")
    with pytest.raises(ValueError, match="at least 16 bytes"):
        read_key(file)


def test_which_key_a_node_has() -> None:
    chosen = options(HMAC, key_file="somewhere", key="not this one")
    assert (PROTOCOL.key_file(chosen), PROTOCOL.key_file(HMAC), PROTOCOL.key_file(SLOW)) == ("somewhere", "", "")
    assert key_of(1, KEY, chosen) == KEY
    assert key_of(1, b"", HMAC) == b"in the scenario"
    assert key_of(1, b"", SLOW) == b""
    assert key_of(1, KEY, options(chosen, outsider=2)) == KEY != key_of(2, KEY, options(chosen, outsider=2))


def test_without_auth_nothing_is_added_and_nothing_sealed_is_taken() -> None:
    plain = Open()
    assert plain.close(data()) == data()
    with pytest.raises(Refused, match="sealed"):
        plain.open_untrusted(Sealed(KEY, 1).close(data()))
    with pytest.raises(Refused, match="oversized"):
        plain.open_untrusted(HimEnd(**head(), seal=b"more"))


# an outsider and a group


def fresh() -> Him:
    """Node 1 of five, started."""
    machine = Him(Setting(me=1, members=(1, 2, 3, 4, 5), seed=0, key=KEY), HMAC)
    machine.step(Received(data(9)), 0)
    return machine


FORGERIES: dict[str, HimPdu] = {
    "DATA": data(),
    "QUERY": HimQuery(**head(), hash=bytes(20), attempt=1, heard=0, slowest=0, seal=b""),
    "ANSWER": HimAnswer(**head(flags=HAVE), hash=bytes(20), tsecr=0, seal=b""),
    "REPORT": HimReport(**head(), nlist=1, suspects=((2, 1),), seal=b""),
    "VIEW": HimView(**head(view=9 << 16), nlist=1, members=((3, 1),), seal=b""),
    "END": HimEnd(**head(flags=SUCCESS), seal=b""),
    "JOIN": HimJoin(**head(), incarnation=7, seal=b""),
}
OUTSIDERS: dict[str, tuple[Callable[[HimPdu], HimPdu], str]] = {
    "without a seal": (lambda pdu: pdu, "forged"),
    "with another key": (lambda pdu: Sealed(b"another key", 1).close(pdu), "forged"),
    "cut short": (lambda pdu: replace(_tail(Sealed(KEY, 1).close(pdu), 23)), "truncated"),
}


def _tail(pdu: HimPdu, length: int) -> HimPdu:
    if isinstance(pdu, HimData):
        return replace(pdu, payload=pdu.payload[-length:])
    return replace(pdu, seal=pdu.seal[-length:])  # type: ignore[call-arg, attr-defined]


@pytest.mark.parametrize("how", OUTSIDERS)
@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_packet_is_counted_noted_and_without_effect(what: str, how: str) -> None:
    machine = fresh()
    make, why = OUTSIDERS[how]
    before = machine.counters().get(f"refused_{why}", 0)
    outputs = machine.step(Received(make(FORGERIES[what])), 1)
    assert outputs == [Log(NoteKind.REFUSED, 3, 1, text=why)]
    assert machine.counters()[f"refused_{why}"] == before + 1


@pytest.mark.parametrize("what", FORGERIES)
def test_the_same_packet_from_a_member_has_an_effect(what: str) -> None:
    """Lest the test above pass because these packets never do anything."""
    machine = fresh()
    machine.step(Submit(1, (), b"mine"), 1)
    pdu, before = FORGERIES[what], machine.deadline
    if what in ("ANSWER", "REPORT"):  # they are about a message of node 1, and come from the neighbour it tests
        pdu = replace(pdu, src=2, origin=1, **({"hash": hash_of(b"mine")} if what == "ANSWER" else {}))  # type: ignore[arg-type]
    outputs = machine.step(Received(Sealed(KEY, 1).close(pdu)), 2)
    done = [output for output in outputs if isinstance(output, Send) or output.kind is not NoteKind.REFUSED]
    assert done or machine.deadline != before


def test_a_replayed_packet_of_each_kind_is_refused() -> None:
    group = Group(5, HMAC, key=KEY)
    group.submit()
    group.world.run()
    recorded = {pdu.TYPE.title: pdu for _, pdu in group.world.sent if pdu.src != 3}
    assert {"DATA", "QUERY", "ANSWER", "END"} <= recorded.keys()
    deliveries, sent = len(group.notes(NoteKind.DELIVERED)), len(group.world.sent)
    for pdu in recorded.values():  # a copy that node 3 has seen is refused; one it never saw is not for it
        for _ in range(2):
            group.world.receive(3, pdu)
    assert group.refused(3).count("replayed") >= len(recorded)
    assert len(group.notes(NoteKind.DELIVERED)) == deliveries
    assert len(group.world.sent) - sent <= 1, "at most one answer to a question node 3 had not seen"


def test_a_packet_of_another_view_is_refused_and_answered_with_the_view() -> None:
    machine, member = fresh(), Sealed(KEY, 1)
    old = HimData(**head(view=1), hash=hash_of(b"x"), payload=b"x")
    refusal, answer = machine.step(Received(member.close(old)), 1)
    assert refusal == Log(NoteKind.REFUSED, 3, 1, text="wrong view")
    assert isinstance(answer, Send) and isinstance(answer.pdu, HimView) and answer.to == (3,)
    assert machine.counters()["refused_wrong_view"] == 1


def test_a_packet_of_a_view_to_come_waits_and_is_asked_about_once() -> None:
    machine, member = fresh(), Sealed(KEY, 1)
    coming = HimData(**head(view=9 << 16), hash=hash_of(b"x"), payload=b"x")
    (request,) = machine.step(Received(member.close(coming)), 1)
    assert isinstance(request, Send) and isinstance(request.pdu, HimViewRequest) and request.to == (3,)
    assert machine.step(Received(member.close(replace(coming, seq=2))), 2) == []
    assert machine.counters()["early"] == 2


def test_a_group_with_a_key_works_and_has_less_room() -> None:
    group = Group(5, HMAC, key=KEY, loss=0.05, seed=4)
    group.submit(data=bytes(MAX_PAYLOAD - SEAL_BYTES))
    group.submit(data=bytes(MAX_PAYLOAD - SEAL_BYTES + 1))
    group.world.run()
    assert group.results() == ["SUCCESS"]
    assert group.holders(1, 1) == set(group.members)
    (refusal,) = group.notes(NoteKind.REFUSED, 1)
    assert refusal.text == "payload of 1161 bytes; one packet of 1,280 holds 1160"
    largest = max(len(encode(pdu)) for _, pdu in group.world.sent)
    assert 40 + 8 + largest == 1280


def test_an_outsider_without_auth_succeeds() -> None:
    """What the option is for."""
    group = Group(3, HimOptions())
    group.world.run()
    group.world.receive(1, data())
    assert group.holders(3, 1) == {1}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_node_that_is_not_in_the_list_is_nobody(what: str) -> None:
    """The addresses of all are known beforehand (paper 003 §3.1), so even without a key there are outsiders."""
    machine = Him(Setting(me=1, members=(1, 2, 3, 4, 5), seed=0), HimOptions())
    machine.step(Received(data(2)), 0)
    for src in (9, 1):
        outputs = machine.step(Received(replace(FORGERIES[what], src=src)), 1)
        assert outputs == [Log(NoteKind.REFUSED, src, 1, text="outsider")]
