"""From frames to PDUs: the link layer (Ethernet, Linux cooked 1 and 2), IPv6 and UDP taken off a whole batch at a time.

A PDU of ours is the payload of EtherType 0x88B5, or of UDP over IPv6 to our port. Everything else (neighbour discovery,
MLD, TCP) is a foreign frame: a row without a PDU, never an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from captures.gather import Bools, Bytes8, Offsets, Reader, words_at
from captures.walk import RECORD_HEADER, Order
from nodes.wire import ETHERTYPE, UDP_PORT

ETHERNET, LINUX_SLL, LINUX_SLL2 = 1, 113, 276
LINK_HEADER = {ETHERNET: 14, LINUX_SLL: 16, LINUX_SLL2: 20}
NONE = -1  # no value, in columns that cannot be negative

IN, OUT = 0, 1
_OUTGOING = 4  # packet type of the cooked headers
_VLAN = (0x8100, 0x88A8)
_IPV6, _IPV6_HEADER = 0x86DD, 40
_UDP, _UDP_HEADER = 17, 8
_EXTENSIONS = (0, 43, 60)  # hop-by-hop, routing, destination options: all begin with next header and length
_MOST_EXTENSIONS = 4


@dataclass(frozen=True, slots=True)
class Frames:
    """A batch of frames; every array has one element per frame, places are places in the block's buffer."""

    time_ns: Offsets
    captured: Offsets
    original: Offsets
    interface: Offsets | None  # None: this link type does not tell
    direction: Offsets | None  # IN, OUT
    link_at: Offsets  # the sender's link address ...
    link_len: Offsets  # ... and how long it is
    ethertype: Offsets
    ip: Bools
    ip_at: Offsets
    next_header: Offsets
    port: Offsets  # UDP destination
    pdu_at: Offsets  # 0 where there is none
    room: Offsets  # bytes from pdu_at that may belong to the PDU


def unwrap(data: Bytes8, records: Offsets, order: Order, link_type: int) -> Frames:
    """What stands around the PDUs of these records."""
    read = Reader(data)
    head = words_at(data, "V16")[records].view(order.letter + "u4").reshape(-1, 4).astype(np.int64)
    captured, original = head[:, 2], head[:, 3]
    time_ns = head[:, 0] * 1_000_000_000 + head[:, 1] * (1_000_000_000 // order.fraction)
    at = records + RECORD_HEADER
    end = at + captured
    count = len(records)

    interface: Offsets | None = None
    direction: Offsets | None = None
    link_at = link_len = np.zeros(count, dtype=np.int64)
    header = LINK_HEADER.get(link_type)
    if header is None:
        ethertype = np.full(count, NONE, dtype=np.int64)
        network = end
    else:
        network = at + header
        whole = network <= end
        if link_type == LINUX_SLL2:
            ethertype, interface = read.half(at), read.word(at + 4)
            direction = np.where(read.byte(at + 10) == _OUTGOING, OUT, IN)
            link_at, link_len = at + 12, np.minimum(read.byte(at + 11), 8)
        elif link_type == LINUX_SLL:
            ethertype = read.half(at + 14)
            direction = np.where(read.half(at) == _OUTGOING, OUT, IN)
            link_at, link_len = at + 6, np.minimum(read.half(at + 4), 8)
        else:
            ethertype = read.half(at + 12)
            link_at, link_len = at + 6, np.full(count, 6)
            for tag in _VLAN * 2:
                tagged = np.flatnonzero(whole & (ethertype == tag) & (network + 4 <= end))
                if len(tagged):
                    ethertype[tagged] = read.half(network[tagged] + 2)
                    network[tagged] += 4
        if not whole.all():
            ethertype = np.where(whole, ethertype, NONE)
            link_len = np.where(whole, link_len, 0)
            if interface is not None:
                interface = np.where(whole, interface, NONE)
            if direction is not None:
                direction = np.where(whole, direction, NONE)

    ip = (ethertype == _IPV6) & (network + _IPV6_HEADER <= end)
    ip_at = np.where(ip, network, 0)
    next_header = np.full(count, NONE, dtype=np.int64)
    port = np.full(count, NONE, dtype=np.int64)
    ours = ethertype == ETHERTYPE
    pdu_at = np.where(ours, network, 0)
    room = np.where(ours, end - network, 0)
    rows = np.flatnonzero(ip)
    if len(rows):
        _unwrap_ipv6(read, rows, network, end, next_header, port, pdu_at, room)
    return Frames(
        time_ns, captured, original, interface, direction, link_at, link_len,
        ethertype, ip, ip_at, next_header, port, pdu_at, room,
    )  # fmt: skip


def _unwrap_ipv6(
    read: Reader,
    rows: Offsets,
    network: Offsets,
    end: Offsets,
    next_header: Offsets,
    port: Offsets,
    pdu_at: Offsets,
    room: Offsets,
) -> None:
    """Fill in the columns of the rows that are IPv6 packets."""
    at = network[rows]
    following = read.byte(at + 6)
    ip_end = np.minimum(end[rows], at + _IPV6_HEADER + read.half(at + 4))
    place = at + _IPV6_HEADER
    for _ in range(_MOST_EXTENSIONS):
        extended = np.flatnonzero(np.isin(following, _EXTENSIONS) & (place + 8 <= ip_end))
        if not len(extended):
            break
        here = place[extended]
        following[extended] = read.byte(here)
        place[extended] = here + 8 * (1 + read.byte(here + 1))
    next_header[rows] = following
    udp = (following == _UDP) & (place + _UDP_HEADER <= ip_end)
    rows, place, ip_end = rows[udp], place[udp], ip_end[udp]
    port[rows] = read.half(place + 2)
    ours = port[rows] == UDP_PORT
    rows, place, ip_end = rows[ours], place[ours], ip_end[ours]
    pdu_at[rows] = place + _UDP_HEADER
    room[rows] = np.maximum(0, np.minimum(ip_end, place + read.half(place + 4)) - place - _UDP_HEADER)
