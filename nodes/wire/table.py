"""The vocabulary of the wire table: field kinds, counts, and the `@pdu` decorator that enters a class into it.

A row reads like the diagram in the paper:

    @pdu(Proto.ST, 1, "DATA", section="000 §3.1")
    class Data(Pdu):
        \"\"\"One PDU of the data transfer; with no destination it is an ACK PDU.\"\"\"
        flags: Annotated[int, Flags(1, "NEED", "RETX"), "b0: please acknowledge"]
        n: Annotated[int, U8, "entities in the cluster"]
        ack: Annotated[tuple[int, ...], Vector(U32, Of("n")), "ACK_j: TSEQ expected next from E_j"]
        payload: Annotated[bytes, Payload(), "what the application gave"]
"""

from __future__ import annotations

import struct
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

MAGIC = 0x7475  # "tu"
VERSION = 2
ETHERTYPE = 0x88B5  # IEEE 802 local experimental
UDP_PORT = 0x88B5
HEADER = struct.Struct("!HBBHHI")  # magic, version << 4 | protocol, type, src, length, check
CHECK = slice(8, 12)


class Proto(IntEnum):
    """The protocol nibble of the header."""

    NOTE = 0
    RAW = 1
    ST = 2
    TO = 3
    DELTA = 4
    CMD = 5
    HIM = 6
    OWN = 7
    MAELSTROM = 8


class WireError(ValueError):
    """Bytes from the network that are not a PDU of ours: the only thing a decoder may raise."""


class RangeError(ValueError):
    """A PDU with a number that its field cannot hold: it has no bytes."""


# Counts: how many elements a variable field has, from fields before it.


@dataclass(frozen=True, slots=True)
class Of:
    """The product of earlier integer fields, e.g. Of("n") or Of("n", "words")."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def __call__(self, fields: Mapping[str, Any]) -> int:
        product = 1
        for name in self.names:
            product *= fields[name]
        return product


@dataclass(frozen=True, slots=True)
class SumOf:
    """The sum of an earlier vector, e.g. records grouped by destination: SumOf("counts")."""

    name: str

    def __call__(self, fields: Mapping[str, Any]) -> int:
        return sum(fields[self.name])


@dataclass(frozen=True, slots=True)
class Exactly:
    """A fixed number of elements."""

    number: int

    def __call__(self, fields: Mapping[str, Any]) -> int:
        return self.number


Count = Of | SumOf | Exactly

# Kinds.


@dataclass(frozen=True, slots=True)
class UInt:
    """An unsigned integer of `width` bytes. Python: int."""

    width: int


@dataclass(frozen=True, slots=True)
class SInt:
    """A signed (two's complement) integer of `width` bytes. Python: int."""

    width: int


@dataclass(frozen=True, slots=True)
class Flags:
    """Named bits of an integer of `width` bytes, least significant first. Python: int."""

    width: int
    names: tuple[str, ...]

    def __init__(self, width: int, *names: str) -> None:
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class Vector:
    """`count` integers of one kind. Python: tuple[int, ...]."""

    element: UInt | SInt
    count: Count


@dataclass(frozen=True, slots=True)
class Members:
    """A set of entities 1..size as a bitmap of ceil(size/32) big-endian u32 words, entity j being bit (j-1) mod 32 of
    word (j-1) div 32, words most significant (last) first. Python: ascending tuple[int, ...]."""

    size: str  # the earlier field that holds the number of entities


@dataclass(frozen=True, slots=True)
class Records:
    """`count` records of the same named unsigned integers. Python: tuple[tuple[int, ...], ...]."""

    columns: tuple[tuple[str, UInt], ...]
    count: Count


@dataclass(frozen=True, slots=True)
class Bytes:
    """Exactly `size` bytes. Python: bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class Payload:
    """All the rest, up to the header's length; the last field of a PDU. Python: bytes."""


Kind = UInt | SInt | Flags | Vector | Members | Records | Bytes | Payload

U8, U16, U32, U64, I64 = UInt(1), UInt(2), UInt(4), UInt(8), SInt(8)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a PDU: its name in Python, what it is on the wire, what it means."""

    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True, slots=True, eq=False)  # a row is itself: comparing and hashing it must cost nothing
class PduType:
    """One row of the table."""

    proto: Proto
    number: int
    title: str  # the paper's name: RST_PAK
    section: str
    cls: type[Pdu]
    fields: tuple[Field, ...]

    @property
    def name(self) -> str:
        """The name people see and write in scenarios: `st.RST_PAK`."""
        return f"{self.proto.name.lower()}.{self.title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdu:
    """What all PDUs have: the node that sent it (1..n; 0 is the harness), which stands in the header."""

    src: int

    TYPE: ClassVar[PduType]


_table: dict[tuple[int, int], PduType] = {}


def _fields_of(cls: type) -> tuple[Field, ...]:
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = []
    for name, hint in hints.items():
        if name in ("src", "TYPE"):
            continue
        _, kind, meaning = typing.get_args(hint)
        fields.append(Field(name, kind, meaning))
    return tuple(fields)


P = typing.TypeVar("P", bound=type[Pdu])


@typing.dataclass_transform(kw_only_default=True, frozen_default=True)
def pdu(proto: Proto, number: int, title: str, *, section: str) -> Callable[[P], P]:
    """Enter a class into the table, as a frozen, slotted dataclass with keyword arguments."""

    def enter(cls: P) -> P:
        made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        row = PduType(proto, number, title, section, made, _fields_of(made))
        if (proto, number) in _table:
            raise TypeError(f"{row.name}: {_table[proto, number].name} has this number")
        for field in row.fields[:-1]:
            if isinstance(field.kind, Payload):
                raise TypeError(f"{row.name}: the payload must come last")
        made.TYPE = row
        _table[proto, number] = row
        return typing.cast(P, made)

    return enter


def numbers(kind: UInt | SInt | Flags) -> range:
    """What an integer of this kind can be."""
    bits = 8 * kind.width
    return range(-(1 << bits - 1), 1 << bits - 1) if isinstance(kind, SInt) else range(1 << bits)


def greatest(cls: type[Pdu], name: str) -> int:
    """The greatest number that a field can hold."""
    (kind,) = [field.kind for field in cls.TYPE.fields if field.name == name]
    assert isinstance(kind, UInt | SInt | Flags)
    return numbers(kind)[-1]


def pdu_type(proto: int, number: int) -> PduType | None:
    """The row for a protocol nibble and a type byte, if there is one."""
    return _table.get((proto, number))


def all_pdu_types() -> tuple[PduType, ...]:
    """Every row, in the order of protocol and type."""
    from nodes.wire import cmd, delta, him, maelstrom, note, own, raw, st, to  # noqa: F401  (importing one enters its rows)

    return tuple(_table[key] for key in sorted(_table))
