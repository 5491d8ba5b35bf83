"""The injector puts frames back as a wire would carry them: with their UDP checksums."""

from __future__ import annotations

import struct

import pytest

from harness.agent.injector import with_checksum

ETHERNET = bytes.fromhex("026e00000002 026e00000001 86dd")
ADDRESSES = bytes.fromhex("fd000000000000010000000000000001 fd000000000000010000000000000002")


def frame(payload: bytes, check: int) -> bytes:
    length = 8 + len(payload)
    ip = struct.pack("!IHBB", 6 << 28, length, 17, 64) + ADDRESSES
    return ETHERNET + ip + struct.pack("!4H", 34997, 34997, length, check) + payload


def partial(payload: bytes) -> int:
    """What Linux leaves there: fd00 + 1 + 1, fd00 + 1 + 2, the length and 17."""
    total = 0x1FA05 + 8 + len(payload) + 17
    return (total & 0xFFFF) + (total >> 16)


def adds_up(made: bytes) -> bool:
    """RFC 8200 §8.1, word by word: all of it adds up to ffff."""
    datagram = made[54:] + bytes(len(made) % 2)
    total = 0
    for at in range(0, len(datagram), 2):
        total += datagram[at] << 8 | datagram[at + 1]
    total += sum(struct.unpack("!16H", ADDRESSES)) + len(made) - 54 + 17
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return bool(total == 0xFFFF)


@pytest.mark.parametrize("payload", [b"", b"x", b"even", bytes(1232), b"\xff" * 55, bytes(range(256))])
def test_a_checksum_that_was_left_to_the_device_is_filled_in(payload: bytes) -> None:
    before = frame(payload, partial(payload))
    after = with_checksum(before)
    assert adds_up(after) and not adds_up(before)
    assert (after[:60], after[62:]) == (before[:60], before[62:]), "nothing else changes"
    assert with_checksum(after) == after


def test_one_checksum_by_hand() -> None:
    # ports, length, "hi" and the pseudo-header: 273fe, folded 7400, inverted 8bff
    assert partial(b"hi") == 0xFA21
    assert 0x88B5 + 0x88B5 + 0x000A + 0x6869 + 0xFA21 == 0x273FE
    assert with_checksum(frame(b"hi", 0xFA21))[60:62] == bytes.fromhex("8bff")


def test_what_has_a_checksum_is_left_alone_even_if_it_is_wrong() -> None:
    wrong = frame(b"some bytes", 0x1234)
    assert with_checksum(wrong) == wrong
    other = b"\x02" * 12 + b"\x88\xb5" + bytes(80)
    assert with_checksum(other) == other
    cut = frame(b"some bytes", partial(b"some bytes"))[:-4]
    assert with_checksum(cut) == cut
