"""What an outsider sends, before it is sent: fields become the PDU that was meant, sizes are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.agent.forger import forgeries
from harness.scenario.faults.forge import Forge
from harness.scenario.forgeries import Fields, changed, made, sized
from harness.scenario.pdus import PduMatch
from nodes.wire import WireError, decode_untrusted, encode
from nodes.wire.him import AUTH, HAVE, HimAnswer, HimData, HimReport


def fields(**values: object) -> Fields:
    return Fields(tuple(values.items()))


def test_fields_that_are_not_named_are_zero_or_empty() -> None:
    nothing = dict.fromkeys(("src", "flags", "round", "origin", "view", "seq", "tsval"), 0)
    assert made(fields(type="DATA"), "him") == HimData(**nothing, hash=bytes(20), payload=b"")
    report = made(fields(type="REPORT", src="n4", nlist=2, suspects=((2, 1), (3, 2))), "him")
    assert report == HimReport(**nothing | {"src": 4}, nlist=2, suspects=((2, 1), (3, 2)), seal=b"")
    answer = made(fields(type="ANSWER", flags=("AUTH", "HAVE"), hash="ab" * 20, seal=3), "him")
    assert answer == HimAnswer(**nothing | {"flags": AUTH | HAVE}, hash=b"\xab" * 20, tsecr=0, seal=bytes(3))


def test_what_was_heard_changes_where_it_is_said_and_stays_a_pdu() -> None:
    heard = made(fields(type="DATA", src=3, payload="x"), "him")
    forged = changed(heard, fields(view=9, payload=1300))
    assert isinstance(heard, HimData) and forged == replace(heard, view=9, payload=bytes(1300))
    assert decode_untrusted(encode(forged)) == forged


def test_sizes_cut_and_fill_up() -> None:
    assert sized(b"abc", None) == sized(b"abc", 3) == b"abc"
    assert (sized(b"abc", 2), sized(b"abc", 5), sized(b"abc", 0)) == (b"ab", b"abc\0\0", b"")


def test_bytes_behind_a_pdu_are_padding_on_ethernet_only() -> None:
    pdu = made(fields(type="END", src=1), "him")
    assert decode_untrusted(encode(pdu) + bytes(4)) == pdu
    with pytest.raises(WireError, match="4 bytes behind the PDU"):
        decode_untrusted(encode(pdu) + bytes(4), padded=False)
    assert decode_untrusted(encode(pdu), padded=False) == pdu


def test_an_outsider_has_its_own_faults_and_sends_nothing_that_it_has_not_heard() -> None:
    faults = [
        Forge(at_ns=5, from_="n4", raw=b"\x01", size=2, count=2, every_ns=3),
        Forge(from_="n5", raw=b""),
        Forge(from_="n4", heard=PduMatch(("DATA",)), set_=fields(seq=7)),
    ]
    raw, heard = forgeries(faults, "n4", 100)
    assert (raw.times, raw.datagram("him"), raw.about) == ([105, 108], b"\x01\0", "from n4 raw")
    assert heard.datagram("him") is None
    heard.heard = made(fields(type="DATA", src=2), "him")
    assert heard.datagram("him") == encode(made(fields(type="DATA", src=2, seq=7), "him"))
