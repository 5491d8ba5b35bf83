"""What a page must know to dissect by itself: names and kinds of the fields of PDUs and of packets, as JSON."""

from __future__ import annotations

from typing import Any

from captures.packets import TCP, UDP
from nodes.wire import HEADER, PduType
from nodes.wire.table import Bytes, Count, Exactly, Flags, Kind, Members, Of, Payload, Records, SInt, UInt, Vector


def described(row: PduType) -> dict[str, Any]:
    """One PDU type."""
    return {
        "name": row.name,
        "title": row.title,
        "section": row.section,
        "says": (row.cls.__doc__ or "").strip().partition("\n")[0],
        "begin": HEADER.size,
        "fields": [[field.name, _kind(field.kind), field.meaning] for field in row.fields],
    }


_U1, _U2, _U4 = (["u", width] for width in (1, 2, 4))
_PORTS = [["source_port", _U2, ""], ["port", _U2, "of its destination"]]
_IP: dict[int, list[Any]] = {
    4: [
        ["version", _U1, "and length of the header, in words"],
        ["service", _U1, "DSCP and ECN"],
        ["length", _U2, "of the packet"],
        ["id", _U2, ""],
        ["fragment", _U2, "flags and offset"],
        ["ttl", _U1, "routers that it may pass"],
        ["protocol", _U1, ""],
        ["check", _U2, ""],
        ["source", ["address", 4], ""],
        ["destination", ["address", 4], ""],
    ],
    6: [
        ["version", _U4, "with traffic class and flow label"],
        ["length", _U2, "of what follows this header"],
        ["next", _U1, "protocol"],
        ["hops", _U1, "routers that it may pass"],
        ["source", ["address", 16], ""],
        ["destination", ["address", 16], ""],
    ],
}
_TRANSPORT: dict[int, list[Any]] = {
    UDP: [*_PORTS, ["udp_length", _U2, ""], ["udp_check", _U2, ""]],
    TCP: [
        *_PORTS,
        ["seq", _U4, "number of its first byte"],
        ["ack", _U4, "number of the byte expected next"],
        ["flags", ["flags", 2, ["fin", "syn", "rst", "psh", "ack", "urg"]], "and length of the header"],
        ["window", _U2, ""],
        ["tcp_check", _U2, ""],
        ["urgent", _U2, ""],
    ],
}


def described_packet(name: str, version: int, protocol: int, bare: bool) -> dict[str, Any]:
    """A packet of IPv4 or IPv6; a bare one has no header behind that one, or it is not told."""
    behind = [] if bare else _TRANSPORT.get(protocol, [])
    return {
        "name": f"{name} over IPv{version}",
        "title": name,
        "section": f"IPv{version}",
        "says": "a packet of a program",
        "begin": 0,
        "fields": [*_IP[version], *behind, ["rest", ["payload"], "options and what it carries"]],
    }


def _kind(kind: Kind) -> list[Any]:
    match kind:
        case UInt():
            return ["u", kind.width]
        case SInt():
            return ["s", kind.width]
        case Flags():
            return ["flags", kind.width, list(kind.names)]
        case Vector():
            return ["vector", "s" if isinstance(kind.element, SInt) else "u", kind.element.width, _count(kind.count)]
        case Members():
            return ["members", kind.size]
        case Records():
            return ["records", [[name, column.width] for name, column in kind.columns], _count(kind.count)]
        case Bytes():
            return ["bytes", kind.size]
        case Payload():
            return ["payload"]


def _count(count: Count) -> list[Any]:
    match count:
        case Of():
            return ["of", *count.names]
        case Exactly():
            return ["exactly", count.number]
        case _:
            return ["sum", count.name]
