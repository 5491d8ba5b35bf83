"""IP packets of other people's programs, as captures show them: what there is to see of a run without PDUs of ours.

Left out is what keeps the network itself going: neighbour discovery and who listens to which group.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from captures.pcap import Audit, blocks
from captures.unwrap import LINK_HEADER, NONE, unwrap
from captures.walk import RECORD_HEADER

TCP, UDP = 6, 17
_ICMP, _IGMP, _ICMPV6, _SCTP = 1, 2, 58, 132
_NAMES = {_ICMP: "ICMP", TCP: "TCP", UDP: "UDP", _ICMPV6: "ICMPv6", _SCTP: "SCTP"}
_LEAST = {TCP: 20, UDP: 8, _SCTP: 12}  # the headers of those that have ports
_HOUSEHOLD = (0, _IGMP)  # 0: an option of IPv6 that says that routers should look at it, as listeners' words have it
_NEIGHBOURS = bytes((130, 131, 132, 133, 134, 135, 136, 137, 143))  # types of ICMPv6: listeners, routers, neighbours
_IPV4, _IPV6 = 0x0800, 0x86DD
_SHORTEST = {_IPV4: 20, _IPV6: 40}
_OFFSET = 0x1FFF  # of a fragment


class Packet(NamedTuple):
    """One packet at one place."""

    time_ns: int
    frame: int
    direction: int  # as the decoder numbers them
    source: bytes  # address
    destination: bytes
    version: int  # 4 or 6
    protocol: int
    ports: tuple[int, int] | None  # None: it has none; later fragments neither
    data: bytes  # from its IP header on
    behind: int  # where that ends

    @property
    def service(self) -> str:
        """What it is: the protocol, and the port that servers have, which is the lower one."""
        name = _NAMES.get(self.protocol, f"IP-{self.protocol}")
        return f"{name} {min(self.ports)}" if self.ports else name

    @property
    def carries(self) -> Hashable:
        """What it carries of a stream, so that its repetition is known; None: nothing, or it is of none."""
        if self.protocol != TCP or not self.ports:
            return None
        begin = self.behind + 4 * (self.data[self.behind + 12] >> 4)
        content = self.data[begin:]
        number = self.data[self.behind + 4 : self.behind + 8]
        return (self.source, self.destination, self.ports, number, content) if content else None

    @property
    def everywhere(self) -> bytes:
        """What of it is the same at every place of its way: a router counts its hops."""
        if self.version == 6:
            return self.data[:7] + self.data[8:]
        return self.data[:8] + self.data[9:10] + self.data[12:]


def packets(path: Path) -> Iterator[Packet]:
    """The packets of a capture, in its order."""
    for block in blocks(path, Audit(path.name)):
        frames = unwrap(block.data, block.records, block.order, block.link_type)
        begin = block.records + (RECORD_HEADER + LINK_HEADER.get(block.link_type, 0))
        end = block.records + (RECORD_HEADER + frames.captured)
        direction = np.full(len(begin), NONE) if frames.direction is None else frames.direction
        rows = np.flatnonzero(np.isin(frames.ethertype, list(_SHORTEST)) & (frames.pdu_at == 0))
        columns = (frames.time_ns, np.arange(len(begin)) + block.first_frame, direction, frames.ethertype, begin, end)
        for row in zip(*(column[rows].tolist() for column in columns), strict=True):
            time_ns, frame, way, ethertype, at, behind = row
            found = _packet(time_ns, frame, way, ethertype, block.data[at:behind].tobytes())
            if found is not None:
                yield found


def _packet(time_ns: int, frame: int, direction: int, ethertype: int, data: bytes) -> Packet | None:
    if len(data) < _SHORTEST[ethertype]:
        return None
    first = True
    if ethertype == _IPV4:
        version, behind, length, protocol = 4, 4 * (data[0] & 15), int.from_bytes(data[2:4]), data[9]
        source, destination = data[12:16], data[16:20]
        first = not int.from_bytes(data[6:8]) & _OFFSET
    else:
        version, behind, length, protocol = 6, 40, 40 + int.from_bytes(data[4:6]), data[6]
        source, destination = data[8:24], data[24:40]
    data = data[:length]  # Ethernet fills short frames up
    if not _SHORTEST[ethertype] <= behind <= len(data):
        return None  # damaged: who gets it takes it for nothing
    if protocol in _HOUSEHOLD or (protocol == _ICMPV6 and data[behind:] and data[behind] in _NEIGHBOURS):
        return None
    known = first and protocol in _LEAST and len(data) >= behind + _LEAST[protocol]
    ports = struct.unpack_from(">HH", data, behind) if known else None
    return Packet(time_ns, frame, direction, source, destination, version, protocol, ports, data, behind)
