"""Captures made up from the wire table: random PDUs of any type, the frames that carry them, a pcap of the frames.

For tests, fuzzing and benchmarks. Every draw comes from the caller's generator, so that a seed (or Hypothesis, through
its `randoms()`) repeats everything.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from typing import Any

from captures.counts import counts_of
from captures.unwrap import ETHERNET, LINUX_SLL2
from captures.walk import RECORD_HEADER, Order
from nodes.wire import ETHERTYPE, UDP_PORT, Pdu, PduType, encode
from nodes.wire.table import Bytes, Flags, Members, Proto, Records, SInt, UInt, Vector

LITTLE_NS = Order("<", 1_000_000_000)
_MAC = bytes.fromhex("020000000001")
_GROUP = bytes.fromhex("333300000001")
_IP = bytes.fromhex("fd000000000000000000000000000001"), bytes.fromhex("ff150000000000000000000000000001")
SHORTEST_ETHERNET = 60
_LETTERS = 'az 09"\\<Δε€😀'


# PDUs.


def random_pdu(
    row: PduType, rng: random.Random, *, most: int = 6, payload: int = 40, cluster: int | None = None
) -> Pdu:
    """A PDU of this type. Vectors have up to `most` elements, sets come from up to 5 * `most` entities.

    With `cluster`, every field `n` has that value, as in all PDUs of one run."""
    known = counts_of(row)
    counts, sizes = known.factors | known.sums, known.sizes
    values: dict[str, Any] = {"src": rng.randint(0, 0xFFFF)}
    for field in row.fields:
        kind = field.kind
        if isinstance(kind, UInt | SInt | Flags):
            if field.name == "n" and cluster is not None:
                values[field.name] = cluster
            elif field.name in counts:
                values[field.name] = rng.randint(0, most)
            elif field.name in sizes:
                values[field.name] = rng.randint(0, 5 * most)
            else:
                values[field.name] = _integer(kind, rng)
        elif isinstance(kind, Vector):
            limit = most if field.name in counts else None
            number = kind.count(values)
            values[field.name] = tuple([_integer(kind.element, rng, limit) for _ in range(number)])
        elif isinstance(kind, Members):
            values[field.name] = tuple([j for j in range(1, values[kind.size] + 1) if rng.random() < 0.5])
        elif isinstance(kind, Records):
            columns = [column for _, column in kind.columns]
            number = kind.count(values)
            values[field.name] = tuple([tuple([_integer(column, rng) for column in columns]) for _ in range(number)])
        elif isinstance(kind, Bytes):
            values[field.name] = rng.randbytes(kind.size)
        else:
            length = rng.randint(0, payload)
            text = row.proto is Proto.NOTE
            values[field.name] = "".join(rng.choices(_LETTERS, k=length)).encode() if text else rng.randbytes(length)
    return row.cls(**values)


def _integer(kind: UInt | SInt | Flags, rng: random.Random, limit: int | None = None) -> int:
    bits = 8 * kind.width
    least, greatest = (-(1 << bits - 1), (1 << bits - 1) - 1) if isinstance(kind, SInt) else (0, (1 << bits) - 1)
    if limit is not None:
        return rng.randint(0, limit)
    return rng.choice((least, greatest, 0, 1, rng.randint(least, greatest), rng.randint(0, 99)))


# Frames.


def cooked(ethertype: int, payload: bytes, *, outgoing: bool = True, interface: int = 2) -> bytes:
    """A frame as the "any" device shows it (link type 276)."""
    kind = 4 if outgoing else 2
    return struct.pack("!HHIHBB8s", ethertype, 0, interface, 1, kind, 6, _MAC) + payload


def ethernet(ethertype: int, payload: bytes, *, padded: bool = True) -> bytes:
    """A frame as a link shows it (link type 1), padded like a real one."""
    frame = _GROUP + _MAC + ethertype.to_bytes(2, "big") + payload
    return frame.ljust(SHORTEST_ETHERNET, b"\0") if padded else frame


def udp6(payload: bytes, *, port: int = UDP_PORT, to: bytes = _IP[1]) -> bytes:
    """An IPv6 packet with a UDP datagram."""
    datagram = struct.pack("!HHHH", port, port, 8 + len(payload), 0) + payload
    head = struct.pack("!IHBB", 6 << 28, len(datagram), 17, 64) + _IP[0] + to
    checksum = _ones_complement(_IP[0] + to + struct.pack("!II", len(datagram), 17) + datagram)
    return head + datagram[:6] + checksum.to_bytes(2, "big") + datagram[8:]


def _ones_complement(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2))) % 0xFFFF
    return 0xFFFF - total


def carry(pdu: bytes, rng: random.Random, link_type: int = LINUX_SLL2) -> bytes:
    """A PDU in one of the ways in which ours travel."""
    ethertype, payload = (0x86DD, udp6(pdu)) if rng.random() < 0.5 else (ETHERTYPE, pdu)
    if link_type == ETHERNET:
        return ethernet(ethertype, payload, padded=rng.random() < 0.5)
    return cooked(ethertype, payload, outgoing=rng.random() < 0.5, interface=rng.randint(1, 3))


def sample_frames(rows: Iterable[PduType], rng: random.Random, link_type: int = LINUX_SLL2) -> list[bytes]:
    """A frame for each of these types."""
    return [carry(encode(random_pdu(row, rng)), rng, link_type) for row in rows]


# Files.


def pcap(
    frames: Iterable[bytes], link_type: int = LINUX_SLL2, order: Order = LITTLE_NS, *, start_ns: int = 10**18
) -> bytes:
    """The bytes of a capture with these frames, a tenth of a millisecond apart."""
    magic = 0xA1B23C4D if order.fraction == 10**9 else 0xA1B2C3D4
    record = order.header
    assert record.size == RECORD_HEADER
    parts = [struct.pack(order.letter + "IHHiIII", magic, 2, 4, 0, 0, 262_144, link_type)]
    for number, frame in enumerate(frames):
        seconds, rest = divmod(start_ns + 100_000 * number, 10**9)
        fraction = rest // (10**9 // order.fraction)
        parts.append(record.pack(seconds, fraction, len(frame), len(frame)) + frame)
    return b"".join(parts)
