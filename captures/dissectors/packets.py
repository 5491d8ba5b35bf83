"""Scapy classes for every PDU, made from the wire table; importing this file binds them to our EtherType and UDP port.

    >>> packet_class("st.RST_PAK")(src=2, a_t=[3, 1, 4], a_p=[1, 1, 1]).show2()

`length`, `check` and the counts are computed unless they are given, so that a test can build a wrong PDU. The field
`payload` of a PDU is Scapy's own payload. A PDU that is wrong becomes a `CorruptPdu` that says why: Scapy by itself
would turn it into Raw without a word, unless conf.debug_dissector is set. Only this file imports scapy.
"""

# Scapy has no types: its classes are Any here.
# mypy: allow-subclassing-any

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import BitField, ByteField, Field, FlagsField, ShortField, StrField, XIntField, XShortField
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6  # noqa: F401  (binds UDP to IPv6)
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Ether
from scapy.packet import Packet, Raw, bind_bottom_up, bind_top_down
from scapy.utils import PcapReader

from captures.counts import counts_of
from nodes.wire import ETHERTYPE, HEADER, MAGIC, UDP_PORT, VERSION, PduType, all_pdu_types, check_of, pdu_type
from nodes.wire import Field as TableField
from nodes.wire.table import Bytes, Count, Exactly, Flags, Members, Of, Records, SInt, SumOf, UInt, Vector

__all__ = ["CorruptPdu", "Ether", "Raw", "TuttiPdu", "conf", "packet_class", "read_packets", "values_of", "why_corrupt"]

_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_BY_TYPE, _BY_PROTO = (Ether,), (CookedLinux, CookedLinuxV2)


def _letter(kind: UInt | SInt) -> str:
    letter = _LETTERS[kind.width]
    return letter.lower() if isinstance(kind, SInt) else letter


# Fields that Scapy does not have.


class Number(Field):
    """An integer of any width and sign; with `compute`, None stands for what fits the rest of the packet."""

    __slots__ = ["compute"]

    def __init__(self, name: str, kind: UInt | SInt, compute: Callable[[Packet], int] | None = None) -> None:
        super().__init__(name, 0 if compute is None else None, "!" + _letter(kind))
        self.compute = compute

    def i2m(self, packet: Packet, value: int | None) -> int:
        return self.compute(packet) if value is None and self.compute else value or 0


class Variable(Field):
    """What vectors, sets and records have in common: a list whose extent the packet's other fields know."""

    __slots__ = ["count"]
    islist = 1

    def __init__(self, name: str, count: Callable[[Packet], int]) -> None:
        super().__init__(name, [])
        self.count = count

    def any2i(self, packet: Packet, value: Any) -> list[Any]:
        return [] if value is None else list(value)

    def i2repr(self, packet: Packet, value: list[Any]) -> str:
        return "[" + ", ".join(str(element) for element in value) + "]"

    def addfield(self, packet: Packet, head: bytes, value: list[Any]) -> bytes:
        return head + self.pack(packet, value)

    def pack(self, packet: Packet, value: list[Any]) -> bytes:
        raise NotImplementedError


class VectorField(Variable):
    """Integers of one kind."""

    __slots__ = ["letter", "width"]

    def __init__(self, name: str, kind: Vector) -> None:
        super().__init__(name, lambda packet: _count(kind.count, packet))
        self.letter, self.width = _letter(kind.element), kind.element.width

    def pack(self, packet: Packet, value: list[int]) -> bytes:
        return struct.pack(f"!{len(value)}{self.letter}", *value)

    def getfield(self, packet: Packet, data: bytes) -> tuple[bytes, list[int]]:
        size = self.count(packet) * self.width
        return data[size:], list(struct.unpack(f"!{size // self.width}{self.letter}", data[:size]))


class MembersField(Variable):
    """A set of entities, shown as {1, 3}."""

    def __init__(self, name: str, kind: Members) -> None:
        super().__init__(name, lambda packet: int(_known(packet, kind.size)))

    def i2repr(self, packet: Packet, value: list[int]) -> str:
        return "{" + ", ".join(str(member) for member in value) + "}"

    def pack(self, packet: Packet, value: list[int]) -> bytes:
        bits = sum(1 << member - 1 for member in value)
        return bits.to_bytes(4 * -(-self.count(packet) // 32), "big")

    def getfield(self, packet: Packet, data: bytes) -> tuple[bytes, list[int]]:
        size = 4 * -(-self.count(packet) // 32)
        bits = f"{int.from_bytes(data[:size], 'big'):b}"
        return data[size:], [j for j, bit in enumerate(reversed(bits), 1) if bit == "1"]


class RecordsField(Variable):
    """Records, shown as (l=2, x=17)."""

    __slots__ = ["names", "record"]

    def __init__(self, name: str, kind: Records) -> None:
        super().__init__(name, lambda packet: _count(kind.count, packet))
        self.names = [column for column, _ in kind.columns]
        self.record = struct.Struct("!" + "".join(_letter(column) for _, column in kind.columns))

    def i2repr(self, packet: Packet, value: list[tuple[int, ...]]) -> str:
        shown = (", ".join(f"{name}={number}" for name, number in zip(self.names, row, strict=True)) for row in value)
        return "[" + ", ".join(f"({row})" for row in shown) + "]"

    def pack(self, packet: Packet, value: list[tuple[int, ...]]) -> bytes:
        return b"".join(self.record.pack(*row) for row in value)

    def getfield(self, packet: Packet, data: bytes) -> tuple[bytes, list[tuple[int, ...]]]:
        size = self.count(packet) * self.record.size
        return data[size:], list(self.record.iter_unpack(data[:size]))


class FixedField(StrField):
    """Exactly so many bytes."""

    __slots__ = ["size"]

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, bytes(size))
        self.size = size

    def getfield(self, packet: Packet, data: bytes) -> tuple[bytes, bytes]:
        return data[self.size :], data[: self.size]


# Counts: from the packet when it is dissected, from the lists when it is built.


def _count(count: Count, packet: Packet) -> int:
    if isinstance(count, Exactly):
        return count.number
    if isinstance(count, SumOf):
        return int(sum(packet.getfieldval(count.name)))
    return math.prod(int(_known(packet, name)) for name in count.names)


def _known(packet: Packet, name: str) -> int:
    value = packet.getfieldval(name)
    return int(_fitting(packet, name) if value is None else value)


def _fitting(packet: Packet, name: str) -> int:
    """The value of a count field that fits the lists of the packet."""
    row: PduType = packet.row
    greatest = 0
    for field in row.fields:
        kind = field.kind
        if isinstance(kind, Members) and kind.size == name:
            greatest = max(packet.getfieldval(field.name), default=0)
        if isinstance(kind, Vector | Records) and isinstance(kind.count, Of) and name in kind.count.names:
            elements = len(packet.getfieldval(field.name))
            others = math.prod(_known(packet, other) for other in kind.count.names if other != name)
            power = kind.count.names.count(name)
            return math.isqrt(elements) if power == 2 else elements // max(1, others)
    return greatest


# Packets.


class TuttiPdu(Packet):
    """The header of every PDU; dissecting it gives the class of the PDU's type."""

    name = "PDU"
    row: PduType | None = None
    match_subclass = True  # so that packet[TuttiPdu] finds a PDU of any type
    __slots__ = ["trailing"]
    fields_desc: ClassVar[list[Field]] = [
        XShortField("magic", MAGIC),
        BitField("version", VERSION, 4),
        BitField("proto", 0, 4),
        ByteField("type", 0),
        ShortField("src", 0),
        ShortField("length", None),
        XIntField("check", None),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_: Any, **__: Any) -> type[Packet]:
        if _pkt is None or cls is not TuttiPdu:
            return cls
        if why_corrupt(_pkt):
            return CorruptPdu
        return _classes_by_number()[_pkt[2] & 15, _pkt[3]]

    def pre_dissect(self, data: bytes) -> bytes:
        """What follows the PDU's own length is padding of the link."""
        length = int.from_bytes(data[6:8], "big")
        self.trailing = data[length:]
        return data[:length]

    def extract_padding(self, data: bytes) -> tuple[bytes, bytes]:
        return data, self.trailing

    def post_build(self, head: bytes, payload: bytes) -> bytes:
        data = head + payload
        if self.length is None:
            data = data[:6] + len(data).to_bytes(2, "big") + data[8:]
        if self.check is None:
            data = data[:8] + check_of(data).to_bytes(4, "big") + data[12:]
        return data


class CorruptPdu(Packet):
    """Bytes that claim to be a PDU and are none; the name says why."""

    name = "corrupt PDU"
    fields_desc: ClassVar[list[Field]] = [StrField("bytes", b"")]

    def post_dissect(self, rest: bytes) -> bytes:
        self.name = f"corrupt PDU: {why_corrupt(self.bytes)}"
        return rest

    def mysummary(self) -> str:
        return str(self.name)


def why_corrupt(data: bytes) -> str:
    """What is wrong with these bytes as a PDU, or nothing."""
    if len(data) < HEADER.size:
        return f"{len(data)} bytes are shorter than the header"
    magic, version_proto, number, _, length, check = HEADER.unpack_from(data)
    if magic != MAGIC:
        return f"magic {magic:#06x}"
    if version_proto >> 4 != VERSION:
        return f"version {version_proto >> 4}"
    if not HEADER.size <= length <= len(data):
        return f"length {length} of {len(data)} bytes"
    if check_of(data[:length]) != check:
        return "check failed"
    row = pdu_type(version_proto & 15, number)
    if row is None:
        return f"no PDU has protocol {version_proto & 15} and type {number}"
    return _why_misfit(row, data[:length])


def _why_misfit(row: PduType, data: bytes) -> str:
    """Whether the fields of this type, with the counts that stand in the bytes, are exactly as long as the PDU."""
    known: dict[str, Any] = {}
    place = HEADER.size
    for field in row.fields:
        kind = field.kind
        if isinstance(kind, UInt | SInt | Flags):
            known[field.name] = int.from_bytes(data[place : place + kind.width], "big", signed=isinstance(kind, SInt))
            size = kind.width
        elif isinstance(kind, Vector):
            size = kind.element.width * kind.count(known)
            if field.name in counts_of(row).sums:
                known[field.name] = struct.iter_unpack("!" + _letter(kind.element), data[place : place + size])
                known[field.name] = [number for (number,) in known[field.name]]
        elif isinstance(kind, Records):
            size = sum(column.width for _, column in kind.columns) * kind.count(known)
        elif isinstance(kind, Members):
            size = 4 * -(-known[kind.size] // 32)
            if int.from_bytes(data[place : place + size], "big") >> known[kind.size]:
                return f"{row.name} has an entity beyond {known[kind.size]}"
        elif isinstance(kind, Bytes):
            size = kind.size
        else:
            size = len(data) - place
        if not 0 <= size <= len(data) - place:
            return f"{row.name} is cut short"
        place += size
    return f"{row.name} has {len(data) - place} bytes too many" if place < len(data) else ""


# From the table.


def _scapy_field(row: PduType, field: TableField) -> Field:
    kind = field.kind
    if isinstance(kind, UInt | SInt):
        counted = field.name in counts_of(row).factors | counts_of(row).sizes
        return Number(field.name, kind, (lambda packet: _fitting(packet, field.name)) if counted else None)
    if isinstance(kind, Flags):
        return FlagsField(field.name, 0, 8 * kind.width, list(kind.names))
    if isinstance(kind, Vector):
        return VectorField(field.name, kind)
    if isinstance(kind, Members):
        return MembersField(field.name, kind)
    if isinstance(kind, Records):
        return RecordsField(field.name, kind)
    if isinstance(kind, Bytes):
        return FixedField(field.name, kind.size)
    return StrField(field.name, b"")


def _make(row: PduType) -> type[Packet]:
    header = [
        BitField("proto", int(row.proto), 4)
        if field.name == "proto"
        else ByteField("type", row.number)
        if field.name == "type"
        else field.copy()
        for field in TuttiPdu.fields_desc
    ]
    own = [_scapy_field(row, field) for field in row.fields if field.name != "payload"]
    space = {
        "name": row.name,
        "row": row,
        "fields_desc": header + own,
        "__doc__": f"{row.cls.__doc__} (paper {row.section})",
        "__slots__": [],
    }
    metaclass: Any = type(TuttiPdu)
    made: type[Packet] = metaclass(row.cls.__name__, (TuttiPdu,), space)
    return made


@cache
def _classes() -> dict[str, type[Packet]]:
    return {row.name: _make(row) for row in all_pdu_types()}


@cache
def _classes_by_number() -> dict[tuple[int, int], type[Packet]]:
    return {(row.proto, row.number): packet_class(row) for row in all_pdu_types()}


def packet_class(row: PduType | str) -> type[Packet]:
    """The Scapy class of a PDU type."""
    return _classes()[row if isinstance(row, str) else row.name]


def _bind() -> None:
    for layer, field in (*((layer, "type") for layer in _BY_TYPE), *((layer, "proto") for layer in _BY_PROTO)):
        bind_bottom_up(layer, TuttiPdu, {field: ETHERTYPE})
        for kind in _classes().values():
            bind_top_down(layer, kind, {field: ETHERTYPE})
    bind_bottom_up(UDP, TuttiPdu, dport=UDP_PORT)
    for kind in _classes().values():
        bind_top_down(UDP, kind, sport=UDP_PORT, dport=UDP_PORT)


_bind()


def values_of(packet: Packet) -> dict[str, Any]:
    """A dissected PDU's own fields, as the table names them."""
    values: dict[str, Any] = {"src": packet.src}
    for field in packet.row.fields:
        if field.name == "payload":
            values["payload"] = packet.payload.load if type(packet.payload) is Raw else b""  # else Padding or nothing
        else:
            value = packet.getfieldval(field.name)
            values[field.name] = int(value) if isinstance(field.kind, Flags) else value
    return values


def read_packets(path: str | Path) -> Iterator[Packet]:
    """The frames of a capture, fully dissected."""
    with PcapReader(str(path)) as reader:
        yield from reader
