"""What an outsider puts on the network, as values: PDUs made field by field, PDUs it heard and changed, plain bytes.

pdu = { type = "DATA", src = 3, seq = 9, payload = "x" }    made from nothing: what is not named is 0 or empty
heard = { type = "DATA", src = 3 }                          the latest that the outsider heard and that matches
set = { view = 1, flags = ["AUTH"] }                        fields of it changed; length and check are made right
raw = "7475 16ff ..."                                       bytes as they are, in hexadecimal
size = 40                                                   of any of them: cut, or filled up with zeros, to so many

A field is written as it is matched (pdus.py); besides, bytes are hexadecimal text, records a list of lists, and a
payload may be a number: of zero bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.scenario.pdus import node_number
from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.schema import Problems
from nodes.wire import Field, Pdu, PduType, RangeError, WireError, all_pdu_types, decode_untrusted, encode
from nodes.wire.table import Bytes, Flags, Members, Payload, Records, Vector

_DATAGRAM_MAX = 65_487  # of UDP over IPv6 without jumbograms


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields by name, as they are written; `type` may be among them."""

    values: tuple[tuple[str, Any], ...] = ()


class FieldsCodec:
    """A table of fields of a PDU."""

    def read(self, value: Any, path: Path, problems: Problems) -> Fields:
        if not isinstance(value, dict):
            raise ValueError(f"{path[-1]} is a table of fields, e.g. {{ src = 3, seq = 9 }}")
        return Fields(tuple((key, _frozen(one)) for key, one in value.items()))

    def write(self, value: Fields) -> dict[str, Any]:
        return {name: _thawed(one) for name, one in value.values}


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


def _thawed(value: Any) -> Any:
    return [_thawed(one) for one in value] if isinstance(value, tuple) else value


class HexCodec:
    """Bytes in hexadecimal; blanks between them are allowed."""

    def read(self, value: Any, path: Path, problems: Problems) -> bytes:
        if not isinstance(value, str):
            raise ValueError(f"{path[-1]} is text of hexadecimal digits")
        return _bytes(value)

    def write(self, value: bytes) -> str:
        return value.hex()


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"{text!r} is not hexadecimal: two digits per byte") from None


def made(fields: Fields, protocol: str) -> Pdu:
    """The PDU with these fields; ValueError says what is wrong with them."""
    given = dict(fields.values)
    rows = {row.title: row for row in all_pdu_types() if row.proto.name.lower() == protocol}
    title = given.pop("type", None)
    if title not in rows:
        raise ValueError(f"type: {protocol} has no PDU {title!r}{did_you_mean(str(title), rows)}")
    row = rows[title]
    empty = {field.name: _empty(field) for field in row.fields}
    return _checked(row.cls(**{"src": 0} | empty | _converted(row, given)))


def changed(pdu: Pdu, fields: Fields) -> Pdu:
    """A PDU with some fields changed."""
    return _checked(replace(pdu, **_converted(pdu.TYPE, dict(fields.values))))


def sized(data: bytes, size: int | None) -> bytes:
    """Cut, or filled up with zeros."""
    return data if size is None else data[:size].ljust(size, b"\0")


def _checked(pdu: Pdu) -> Pdu:
    """What cannot be encoded, or decoded again, is a mistake of the scenario."""
    try:
        decode_untrusted(encode(pdu))
    except (RangeError, OverflowError, TypeError, WireError) as error:
        raise ValueError(f"there is no such {pdu.TYPE.title}: {error}") from None
    return pdu


def _empty(field: Field) -> Any:
    match field.kind:
        case Vector() | Members() | Records():
            return ()
        case Bytes(size):
            return bytes(size)
        case Payload():
            return b""
        case _:
            return 0


def _converted(row: PduType, given: Mapping[str, Any]) -> dict[str, Any]:
    fields = {field.name: field for field in row.fields}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name == "src":
            found[name] = node_number(value)
        elif name not in fields:
            known = [*fields, "src"]
            raise ValueError(f"{name}: {row.title} has no such field{did_you_mean(name, known)}")
        else:
            found[name] = _value(fields[name], value)
    return found


def _value(field: Field, value: Any) -> Any:
    """A field's value as Python has it."""
    match field.kind:
        case Flags(names=names) if not isinstance(value, int):
            words = (value,) if isinstance(value, str) else tuple(value)
            unknown = [word for word in words if word not in names]
            if unknown:
                raise ValueError(f"{field.name} has no flag {unknown[0]!r}{did_you_mean(str(unknown[0]), names)}")
            return sum(1 << names.index(word) for word in words)
        case Payload() if isinstance(value, int):
            if not 0 <= value <= _DATAGRAM_MAX:
                raise ValueError(f"{field.name} has 0 to {_DATAGRAM_MAX} bytes")
            return bytes(value)
        case Payload() if isinstance(value, str):
            return value.encode()
        case Bytes() if isinstance(value, str):
            return _bytes(value)
        case Members() if isinstance(value, tuple):
            return tuple(sorted(node_number(one) for one in value))
        case Vector() | Records() if isinstance(value, tuple):
            return value
        case _ if isinstance(value, int) and not isinstance(value, bool):
            return value
    raise ValueError(f"{field.name} cannot be {_thawed(value)!r}")


def check_fields(fields: Fields, protocol: str, types: tuple[str, ...], path: Path) -> Problems:
    """What is wrong with a PDU to be made, or with changes to one of these types that was heard."""
    try:
        if path[-1] == "pdu":
            made(fields, protocol)
        else:
            rows = [row for row in all_pdu_types() if row.proto.name.lower() == protocol]
            for row in rows:
                if row.title in types:
                    _converted(row, dict(fields.values))
    except (ValueError, TypeError) as error:
        name = str(error).partition(":")[0]
        inner = (name,) if name in dict(fields.values) else ()
        return [Problem((*path, *inner), str(error))]
    return []
