"""PDUs in frames, as packet sockets give them."""

from __future__ import annotations

import struct

from nodes.wire import ETHERTYPE, UDP_PORT, Pdu, WireError, decode_untrusted

ETH_P_ALL = 3
PACKET_OUTGOING = 4
FRAME_MAX = 65_535
_ETHERNET_HEADER = 14
_UDP_OVER_IPV6 = _ETHERNET_HEADER + 40 + 8
_IPV6 = 0x86DD
_UDP = 17


def pdu_of_frame(frame: bytes) -> Pdu | None:
    """The PDU in an Ethernet frame, if there is one."""
    (kind,) = struct.unpack_from("!H", frame, 12)
    if kind == ETHERTYPE:
        data = frame[_ETHERNET_HEADER:]
    elif (
        kind == _IPV6
        and len(frame) >= _UDP_OVER_IPV6
        and frame[_ETHERNET_HEADER + 6] == _UDP
        and struct.unpack_from("!H", frame, _ETHERNET_HEADER + 42)[0] == UDP_PORT
    ):
        data = frame[_UDP_OVER_IPV6:]
    else:
        return None
    try:
        return decode_untrusted(data)
    except WireError:
        return None
