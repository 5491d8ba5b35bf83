"""Bytes <-> PDU, compiled once per row of the table.

`encode` trusts its caller, but for the ranges of numbers: any other wrong value is a bug and raises whatever it
raises. `decode_untrusted` trusts nobody and raises WireError, never anything else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from zlib import crc32

from nodes.wire.table import (
    CHECK,
    HEADER,
    MAGIC,
    U16,
    VERSION,
    Bytes,
    Field,
    Flags,
    Members,
    Payload,
    Pdu,
    PduType,
    RangeError,
    Records,
    SInt,
    UInt,
    Vector,
    WireError,
    numbers,
    pdu_type,
)

_LETTER = {1: "B", 2: "H", 4: "I", 8: "Q"}

Encoder = Callable[[Any], bytes]
Decoder = Callable[[bytes, int, dict[str, Any]], int]  # data, offset, fields so far -> new offset


def check_of(data: bytes) -> int:
    """The check of a PDU, whatever stands in its check field."""
    return crc32(data[CHECK.stop :], crc32(data[: CHECK.start]))


def encode(pdu: Pdu) -> bytes:
    """The bytes of a PDU, header and check included. RangeError names the number that a field cannot hold."""
    row = pdu.TYPE
    try:
        body = b"".join([part(pdu) for part in _encoders(row)])
        length = HEADER.size + len(body)
        unchecked = HEADER.pack(MAGIC, VERSION << 4 | row.proto, row.number, pdu.src, length, 0) + body
    except struct.error as error:
        raise RangeError(_beyond(pdu) or f"{row.name}: {error}") from error
    return unchecked[: CHECK.start] + check_of(unchecked).to_bytes(4, "big") + body


def _beyond(pdu: Pdu) -> str:
    """The first field with a number that is none of its kind, and what the field can hold."""
    for name, kind, found in _numbers_of(pdu):
        can_be = numbers(kind)
        if found not in can_be:
            return f"{pdu.TYPE.name}.{name} is {found}, beyond {can_be[0]} to {can_be[-1]}"
    return ""


def _numbers_of(pdu: Pdu) -> Iterator[tuple[str, UInt | SInt | Flags, int]]:
    yield "src", U16, pdu.src
    for field in pdu.TYPE.fields:
        kind, value = field.kind, getattr(pdu, field.name)
        if isinstance(kind, UInt | SInt | Flags):
            yield field.name, kind, value
        elif isinstance(kind, Vector):
            yield from ((field.name, kind.element, one) for one in value)
        elif isinstance(kind, Records):
            for record in value:
                for (column, element), one in zip(kind.columns, record, strict=True):
                    yield f"{field.name}.{column}", element, one


def decode_untrusted(data: bytes, *, padded: bool = True) -> Pdu:
    """The PDU at the start of `data`; what follows its length is link-layer padding, where there can be any."""
    if len(data) < HEADER.size:
        raise WireError(f"{len(data)} bytes are shorter than the header")
    magic, version_proto, number, src, length, check = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise WireError(f"magic {magic:#06x} is not ours")
    if version_proto >> 4 != VERSION:
        raise WireError(f"version {version_proto >> 4}, not {VERSION}")
    if not HEADER.size <= length <= len(data):
        raise WireError(f"length {length} of {len(data)} bytes")
    if length < len(data) and not padded:
        raise WireError(f"{len(data) - length} bytes behind the PDU")
    data = bytes(data[:length])
    if check_of(data) != check:
        raise WireError("check failed")
    row = pdu_type(version_proto & 15, number)
    if row is None:
        raise WireError(f"no PDU has protocol {version_proto & 15} and type {number}")
    fields: dict[str, Any] = {"src": src}
    offset = HEADER.size
    try:
        for part in _decoders(row):
            offset = part(data, offset, fields)
    except struct.error as error:
        raise WireError(f"{row.name} is cut short") from error
    if offset != length:
        raise WireError(f"{row.name} has {length - offset} bytes too many")
    return row.cls(**fields)


# One encoder per variable field, one for each run of plain integers between them.


@cache
def _encoders(row: PduType) -> tuple[Encoder, ...]:
    return tuple(
        _integers_encoder(run) if len(run) > 1 or _is_integer(run[0]) else _encoder(run[0]) for run in _runs(row)
    )


@cache
def _decoders(row: PduType) -> tuple[Decoder, ...]:
    return tuple(
        _integers_decoder(run) if len(run) > 1 or _is_integer(run[0]) else _decoder(run[0]) for run in _runs(row)
    )


def _is_integer(field: Field) -> bool:
    return isinstance(field.kind, UInt | SInt | Flags)


def _runs(row: PduType) -> list[list[Field]]:
    runs: list[list[Field]] = []
    for field in row.fields:
        if _is_integer(field) and runs and _is_integer(runs[-1][0]):
            runs[-1].append(field)
        else:
            runs.append([field])
    return runs


def _letter(kind: UInt | SInt | Flags) -> str:
    letter = _LETTER[kind.width]
    return letter.lower() if isinstance(kind, SInt) else letter


def _integers(run: list[Field]) -> tuple[struct.Struct, tuple[str, ...]]:
    letters = "".join(_letter(field.kind) for field in run if isinstance(field.kind, UInt | SInt | Flags))
    return struct.Struct("!" + letters), tuple(field.name for field in run)


def _integers_encoder(run: list[Field]) -> Encoder:
    packer, names = _integers(run)
    return lambda pdu: packer.pack(*[getattr(pdu, name) for name in names])


def _integers_decoder(run: list[Field]) -> Decoder:
    packer, names = _integers(run)

    def decode(data: bytes, offset: int, fields: dict[str, Any]) -> int:
        fields.update(zip(names, packer.unpack_from(data, offset), strict=True))
        return offset + packer.size

    return decode


class _Attributes:
    """A PDU seen as the mapping of its fields, for counts."""

    __slots__ = ("pdu",)

    def __init__(self, pdu: Pdu) -> None:
        self.pdu = pdu

    def __getitem__(self, name: str) -> Any:
        return getattr(self.pdu, name)


def _encoder(field: Field) -> Encoder:
    name, kind = field.name, field.kind
    if isinstance(kind, Vector):
        letter, count = _letter(kind.element), kind.count

        def vector(pdu: Any) -> bytes:
            values = getattr(pdu, name)
            expected = count(_Attributes(pdu))  # type: ignore[arg-type]
            if len(values) != expected:
                raise ValueError(f"{pdu.TYPE.name}.{name}: {len(values)} elements, not {expected}")
            return struct.pack(f"!{expected}{letter}", *values)

        return vector
    if isinstance(kind, Records):
        letters = "".join(_letter(column) for _, column in kind.columns)
        record, count = struct.Struct("!" + letters), kind.count

        def records(pdu: Any) -> bytes:
            rows = getattr(pdu, name)
            expected = count(_Attributes(pdu))  # type: ignore[arg-type]
            if len(rows) != expected:
                raise ValueError(f"{pdu.TYPE.name}.{name}: {len(rows)} records, not {expected}")
            return b"".join([record.pack(*row) for row in rows])

        return records
    if isinstance(kind, Members):
        size_field = kind.size

        def members(pdu: Any) -> bytes:
            size, bits = getattr(pdu, size_field), 0
            for member in getattr(pdu, name):
                if not 1 <= member <= size:
                    raise ValueError(f"{pdu.TYPE.name}.{name}: no entity {member} among {size}")
                bits |= 1 << (member - 1)
            return bits.to_bytes(4 * -(-size // 32), "big")

        return members
    if isinstance(kind, Bytes):
        size = kind.size

        def fixed(pdu: Any) -> bytes:
            value: bytes = getattr(pdu, name)
            if len(value) != size:
                raise ValueError(f"{pdu.TYPE.name}.{name}: {len(value)} bytes, not {size}")
            return value

        return fixed
    assert isinstance(kind, Payload)
    return lambda pdu: bytes(getattr(pdu, name))


def _decoder(field: Field) -> Decoder:
    name, kind = field.name, field.kind
    if isinstance(kind, Vector):
        letter, count = _letter(kind.element), kind.count

        def vector(data: bytes, offset: int, fields: dict[str, Any]) -> int:
            packer = struct.Struct(f"!{_checked(count(fields), data)}{letter}")
            fields[name] = packer.unpack_from(data, offset)
            return offset + packer.size

        return vector
    if isinstance(kind, Records):
        letters = "".join(_letter(column) for _, column in kind.columns)
        record, rows = struct.Struct("!" + letters), kind.count

        def records(data: bytes, offset: int, fields: dict[str, Any]) -> int:
            end = offset + _checked(rows(fields), data) * record.size
            if end > len(data):
                raise WireError(f"{name}: {rows(fields)} records do not fit")
            fields[name] = tuple(record.iter_unpack(data[offset:end]))
            return end

        return records
    if isinstance(kind, Members):
        size_field = kind.size

        def members(data: bytes, offset: int, fields: dict[str, Any]) -> int:
            size: int = fields[size_field]
            end = offset + 4 * -(-size // 32)
            if end > len(data):
                raise WireError(f"{name}: the bitmap does not fit")
            bits = int.from_bytes(data[offset:end], "big")
            if bits >> size:
                raise WireError(f"{name}: an entity beyond {size}")
            fields[name] = tuple([j for j in range(1, size + 1) if bits >> (j - 1) & 1])
            return end

        return members
    if isinstance(kind, Bytes):
        size = kind.size

        def fixed(data: bytes, offset: int, fields: dict[str, Any]) -> int:
            fields[name] = data[offset : offset + size]
            if len(fields[name]) != size:
                raise WireError(f"{name} is cut short")
            return offset + size

        return fixed
    assert isinstance(kind, Payload)

    def payload(data: bytes, offset: int, fields: dict[str, Any]) -> int:
        fields[name] = data[offset:]
        return len(data)

    return payload


def _checked(count: int, data: bytes) -> int:
    if count > len(data):
        raise WireError(f"{count} elements in {len(data)} bytes")
    return count
