"""From frames to PDUs: the link layer (Ethernet, Linux cooked 1 and 2), IPv6 and UDP taken off a whole batch at a time.

A PDU of ours is the payload of EtherType 0x88B5, or of UDP over IPv6 to our port. Everything else (neighbour discovery,
MLD, TCP) is a foreign frame: a row without a PDU, never an error.

Only what leads to the PDU is read at once; times, addresses and the like are read when somebody asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from captures.gather import Bools, Bytes8, Offsets, Reader, column_at, rows_at
from captures.walk import RECORD_HEADER, Order
from nodes.wire import ETHERTYPE, UDP_PORT

ETHERNET, LINUX_SLL, LINUX_SLL2 = 1, 113, 276
LINK_HEADER = {ETHERNET: 14, LINUX_SLL: 16, LINUX_SLL2: 20}
_ETHERTYPE_AT = {ETHERNET: 12, LINUX_SLL: 14, LINUX_SLL2: 0}
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

    read: Reader
    order: Order
    link_type: int
    records: Offsets  # the record headers
    head: Bytes8  # one row per frame: its record header and link header
    captured: Offsets
    whole: Bools | None  # whether the link header is complete; None: all are
    ethertype: Offsets  # NONE if there is none
    ip_at: Offsets  # IPv6 header, 0 where there is none
    next_header: Offsets
    port: Offsets  # UDP destination
    pdu_at: Offsets  # 0 where there is none
    room: Offsets  # bytes from pdu_at that may belong to the PDU

    def take(self, rows: Offsets) -> Frames:
        """Some of the frames."""
        taken: dict[str, Any] = {
            field.name: values[rows]
            for field in fields(self)
            if isinstance(values := getattr(self, field.name), np.ndarray)
        }
        return replace(self, **taken)

    @property
    def time_ns(self) -> Offsets:
        seconds = column_at(self.head, 0, self.order.letter + "u4")
        fraction = column_at(self.head, 4, self.order.letter + "u4")
        return seconds * 1_000_000_000 + fraction * (1_000_000_000 // self.order.fraction)

    @property
    def original(self) -> Offsets:
        """Bytes on the wire."""
        return column_at(self.head, 12, self.order.letter + "u4")

    @property
    def interface(self) -> Offsets | None:
        """The interface's index; None if this link type does not tell."""
        return self._cut(column_at(self.head, _LINK + 4, ">u4")) if self.link_type == LINUX_SLL2 else None

    @property
    def direction(self) -> Offsets | None:
        """IN or OUT; None if this link type does not tell."""
        if self.link_type == LINUX_SLL2:
            kind = column_at(self.head, _LINK + 10, "u1")
        elif self.link_type == LINUX_SLL:
            kind = column_at(self.head, _LINK, ">u2")
        else:
            return None
        return self._cut(np.where(kind == _OUTGOING, OUT, IN))

    def link_source(self) -> tuple[Offsets, Offsets]:
        """Where the sender's link address stands, and how long it is."""
        at = self.records + _LINK
        if self.link_type == LINUX_SLL2:
            start, length = at + 12, np.minimum(column_at(self.head, _LINK + 11, "u1"), 8)
        elif self.link_type == LINUX_SLL:
            start, length = at + 6, np.minimum(column_at(self.head, _LINK + 4, ">u2"), 8)
        elif self.link_type == ETHERNET:
            start, length = at + 6, np.full(len(at), 6)
        else:
            start, length = at, np.zeros(len(at), dtype=np.int64)
        return start, length if self.whole is None else np.where(self.whole, length, 0)

    def _cut(self, values: Offsets) -> Offsets:
        return values if self.whole is None else np.where(self.whole, values, NONE)


_LINK = RECORD_HEADER  # where the frame begins in a row of `head`


def unwrap(data: Bytes8, records: Offsets, order: Order, link_type: int) -> Frames:
    """What stands around the PDUs of these records."""
    read = Reader(data)
    header = LINK_HEADER.get(link_type)
    head = rows_at(data, records, RECORD_HEADER + (header or 0))
    captured = column_at(head, 8, order.letter + "u4")
    end = records + (captured + RECORD_HEADER)
    count = len(records)
    if header is None:
        ethertype, network, whole = np.full(count, NONE), end, None
    else:
        network = records + (RECORD_HEADER + header)
        ethertype = column_at(head, _LINK + _ETHERTYPE_AT[link_type], ">u2")
        whole = None if int(captured.min(initial=header)) >= header else captured >= header
        if whole is not None:
            ethertype = np.where(whole, ethertype, NONE)
        if link_type == ETHERNET:
            _skip_tags(read, ethertype, network, end)

    ours = ethertype == ETHERTYPE
    pdu_at = np.where(ours, network, 0)
    room = np.where(ours, end - network, 0)
    ip_at = np.zeros(count, dtype=np.int64)
    next_header = np.full(count, NONE)
    port = np.full(count, NONE)
    rows = np.flatnonzero(ethertype == _IPV6)
    rows = rows[network[rows] + _IPV6_HEADER <= end[rows]]
    if len(rows):
        ip_at[rows] = network[rows]
        _unwrap_ipv6(read, rows, network[rows], end[rows], next_header, port, pdu_at, room)
    return Frames(
        read, order, link_type, records, head, captured, whole, ethertype, ip_at, next_header, port, pdu_at, room
    )


def _skip_tags(read: Reader, ethertype: Offsets, network: Offsets, end: Offsets) -> None:
    """VLAN tags, of which there may be two, are passed over."""
    for tag in _VLAN * 2:
        tagged = np.flatnonzero(ethertype == tag)
        tagged = tagged[network[tagged] + 4 <= end[tagged]]
        if len(tagged):
            ethertype[tagged] = read.half(network[tagged] + 2)
            network[tagged] += 4


def _unwrap_ipv6(
    read: Reader,
    rows: Offsets,
    at: Offsets,
    end: Offsets,
    next_header: Offsets,
    port: Offsets,
    pdu_at: Offsets,
    room: Offsets,
) -> None:
    """Fill in the columns of the rows that are IPv6 packets, which begin at `at`."""
    fixed = rows_at(read.data, at, 8)
    following = column_at(fixed, 6, "u1")
    place = at + _IPV6_HEADER
    end = np.minimum(end, place + column_at(fixed, 4, ">u2"))
    other = np.flatnonzero(following != _UDP)
    for _ in range(_MOST_EXTENSIONS):
        other = other[np.isin(following[other], _EXTENSIONS) & (place[other] + 8 <= end[other])]
        if not len(other):
            break
        here = place[other]
        following[other] = read.byte(here)
        place[other] = here + 8 * (1 + read.byte(here + 1))
    next_header[rows] = following
    udp = (following == _UDP) & (place + _UDP_HEADER <= end)
    if not udp.all():
        rows, place, end = rows[udp], place[udp], end[udp]
    header = rows_at(read.data, place, _UDP_HEADER)
    ports = column_at(header, 2, ">u2")
    length = column_at(header, 4, ">u2")
    port[rows] = ports
    ours = ports == UDP_PORT
    if not ours.all():
        rows, place, end, length = rows[ours], place[ours], end[ours], length[ours]
    start = place + _UDP_HEADER
    pdu_at[rows] = start
    room[rows] = np.maximum(0, np.minimum(end - start, length - _UDP_HEADER))
