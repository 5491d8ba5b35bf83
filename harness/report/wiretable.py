"""The wire table as JSON, so that the page dissects PDUs itself: names and kinds of all fields of some PDU types."""

from __future__ import annotations

from typing import Any

from nodes.wire import PduType
from nodes.wire.table import Bytes, Count, Exactly, Flags, Kind, Members, Of, Payload, Records, SInt, UInt, Vector


def described(row: PduType) -> dict[str, Any]:
    """One PDU type."""
    return {
        "name": row.name,
        "title": row.title,
        "section": row.section,
        "says": (row.cls.__doc__ or "").strip().partition("\n")[0],
        "fields": [[field.name, _kind(field.kind), field.meaning] for field in row.fields],
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
