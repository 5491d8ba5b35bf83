"""HIM on the wire: bytes typed by hand, and the size that the paper's one packet must have."""

from __future__ import annotations

import pytest

from nodes.wire import Pdu, WireError, decode_untrusted, encode
from nodes.wire.him import (
    AUTH,
    HAVE,
    SUCCESS,
    HimAlive,
    HimAnswer,
    HimConfirm,
    HimData,
    HimEnd,
    HimJoin,
    HimQuery,
    HimReport,
    HimView,
    HimViewRequest,
    Reason,
)
from tests.helpers.typed import golden

HASH = bytes(range(0xA0, 0xB4))
HASH_HEX = "a0a1a2a3 a4a5a6a7 a8a9aaab acadaeaf b0b1b2b3"
# flags, round, origin 3, view 2 << 16 | 3, seq 1 << 24 | 7, TSval 0x01020304
HEAD = {"src": 2, "flags": 0, "round": 1, "origin": 3, "view": 0x00020003, "seq": 0x01000007, "tsval": 0x01020304}
HEAD_HEX = "01 0003 00020003 01000007 01020304"

GOLDEN: list[tuple[Pdu, str, str]] = [  # packet, type and length, everything behind the check
    (HimData(**HEAD, hash=HASH, payload=b"hold"), "01 0002 0034", f"00 {HEAD_HEX} {HASH_HEX} 686f6c64"),
    (
        HimQuery(**HEAD, hash=HASH, attempt=2, heard=5, slowest=20_000, seal=b""),
        "02 0002 0037",
        f"00 {HEAD_HEX} {HASH_HEX} 02 0005 00004e20",
    ),
    (
        HimAnswer(**(HEAD | {"flags": HAVE}), hash=HASH, tsecr=0x0A0B0C0D, seal=b""),
        "03 0002 0034",
        f"02 {HEAD_HEX} {HASH_HEX} 0a0b0c0d",
    ),
    (
        HimReport(**HEAD, nlist=2, suspects=((4, Reason.NOTHAVE), (260, Reason.MISMATCH)), seal=b""),
        "04 0002 0024",
        f"00 {HEAD_HEX} 0002 0004 02 0104 03",
    ),
    (
        HimView(**HEAD, nlist=2, members=((1, 1), (3, 258)), seal=b""),
        "05 0002 0026",
        f"00 {HEAD_HEX} 0002 0001 0001 0003 0102",
    ),
    (HimEnd(**(HEAD | {"flags": SUCCESS}), seal=b""), "06 0002 001c", f"04 {HEAD_HEX}"),
    (HimJoin(**HEAD, incarnation=2, seal=b""), "07 0002 001e", f"00 {HEAD_HEX} 0002"),
    (HimViewRequest(**HEAD, seal=b""), "08 0002 001c", f"00 {HEAD_HEX}"),
    (
        HimAlive(**(HEAD | {"flags": AUTH}), seal=bytes(range(24))),
        "09 0002 0034",
        f"01 {HEAD_HEX} 00010203 04050607 08090a0b 0c0d0e0f 10111213 14151617",
    ),
    (HimConfirm(**HEAD, hash=HASH, seal=b""), "0a 0002 0030", f"00 {HEAD_HEX} {HASH_HEX}"),
]


@pytest.mark.parametrize(("pdu", "start", "rest"), GOLDEN, ids=[pdu.TYPE.title for pdu, _, _ in GOLDEN])
def test_bytes(pdu: Pdu, start: str, rest: str) -> None:
    golden(pdu, "7475 26" + start, rest)


def test_one_check_by_another_tool() -> None:
    # printf '7475 2606 0002 001c 0401 0003 0002 0003 0100 0007 0102 0304' | xxd -r -p | gzip | tail -c 8 | xxd -e -l 4
    end = HimEnd(**(HEAD | {"flags": SUCCESS}), seal=b"")
    assert encode(end)[8:12] == bytes.fromhex("52694b8c")


def test_the_largest_message_fills_the_smallest_mtu() -> None:
    data = HimData(**HEAD, hash=HASH, payload=bytes(1184))
    assert 40 + 8 + len(encode(data)) == 1280


@pytest.mark.parametrize("pdu", [pdu for pdu, _, _ in GOLDEN], ids=lambda pdu: pdu.TYPE.title)
def test_cut_short_is_refused_at_every_length(pdu: Pdu) -> None:
    data = encode(pdu)
    for length in range(len(data)):
        with pytest.raises(WireError):
            decode_untrusted(data[:length])
