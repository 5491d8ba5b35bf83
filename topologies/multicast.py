"""IPv6 multicast forwarding in a router's kernel: the control socket that a multicast routing daemon would hold."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Mapping

from topologies.plan import Forward

# linux/mroute6.h
_MRT6_INIT, _MRT6_ADD_MIF, _MRT6_ADD_MFC = 200, 202, 204
_MIF6CTL = struct.Struct("@HBBHI")  # mif, flags, threshold, physical interface, rate limit
_MIFS_MAX = 32


def forward(interfaces: Mapping[str, int], entries: Iterable[Forward]) -> socket.socket:
    """Install (S,G) entries over these interfaces (name -> index) of the current namespace; keep the socket open."""
    control = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    control.setsockopt(socket.IPPROTO_IPV6, _MRT6_INIT, 1)
    mif = {name: number for number, name in enumerate(interfaces)}
    if len(mif) > _MIFS_MAX:
        raise ValueError(f"a multicast router has at most {_MIFS_MAX} interfaces, not {len(mif)}")
    for name, number in mif.items():
        control.setsockopt(socket.IPPROTO_IPV6, _MRT6_ADD_MIF, _MIF6CTL.pack(number, 0, 1, interfaces[name], 0))
    for entry in entries:
        outgoing = 0
        for name in entry.outgoing:
            outgoing |= 1 << mif[name]
        value = (
            _address(entry.source)
            + _address(entry.group)
            + struct.pack("@Hxx", mif[entry.incoming])
            + struct.pack("@8I", outgoing, 0, 0, 0, 0, 0, 0, 0)
        )
        control.setsockopt(socket.IPPROTO_IPV6, _MRT6_ADD_MFC, value)
    return control


def _address(text: str) -> bytes:
    """struct sockaddr_in6."""
    return struct.pack("@HHI", socket.AF_INET6, 0, 0) + socket.inet_pton(socket.AF_INET6, text) + struct.pack("@I", 0)
