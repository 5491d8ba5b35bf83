"""Bytes of PDUs typed by hand, and their check worked out bit by bit, as the standard describes it."""

from __future__ import annotations

from nodes.wire import Pdu, decode_untrusted, encode


def crc_32(data: bytes | bytearray) -> int:
    """Ethernet's CRC, without a table and without a library."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0xEDB88320 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def mend(data: bytearray) -> None:
    """Write the check that belongs to these bytes."""
    length = min(len(data), max(12, int.from_bytes(data[6:8], "big")))
    data[8:12] = crc_32(data[:8] + data[12:length]).to_bytes(4, "big")


def golden(pdu: Pdu, before: str, after: str) -> bytes:
    """A PDU is these bytes, typed up to the check and behind it, and these bytes are the PDU."""
    typed = bytearray(bytes.fromhex(before) + bytes(4) + bytes.fromhex(after))
    assert len(typed) == int.from_bytes(typed[6:8], "big")
    mend(typed)
    assert encode(pdu) == typed
    assert decode_untrusted(bytes(typed)) == pdu
    return bytes(typed)
