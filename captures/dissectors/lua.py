"""The Wireshark dissector, written from the wire table: `write_lua(path)`, then `tshark -X lua_script:path`.

A small interpreter in Lua reads the table, which is printed above it as Lua literals. Fields are called as the columns
of the decoder (`tutti.st_ack`), so a display filter reads like a query: `tutti.type == "st.RST" && tutti.st_tseq > 7`.
A wrong PDU gets `tutti.error` with the reason and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from captures.fields import column_of
from nodes.wire import ETHERTYPE, MAGIC, UDP_PORT, VERSION, Field, PduType, Proto, all_pdu_types
from nodes.wire.table import Bytes, Count, Exactly, Flags, Members, Of, Records, SInt, SumOf, UInt, Vector

_ENGINE = Path(__file__).with_name("engine.lua")


def write_lua(path: str | Path) -> Path:
    """Write the dissector to a file for tshark's and Wireshark's -X lua_script."""
    target = Path(path)
    target.write_text(lua_source(), encoding="utf-8")
    return target


def lua_source() -> str:
    """The whole dissector."""
    rows = "\n".join(_row(row) for row in all_pdu_types())
    constants = {
        "ETHERTYPE": ETHERTYPE,
        "UDP_PORT": UDP_PORT,
        "MAGIC": MAGIC,
        "VERSION": VERSION,
    }
    head = "\n".join(f"local {name} = {value}" for name, value in constants.items())
    return f"-- Made from the wire table; do not edit.\n{head}\nlocal ROWS = {{\n{rows}\n}}\n\n{_ENGINE.read_text()}"


def _row(row: PduType) -> str:
    fields = "".join(f"\n    {_field(row, field)}," for field in row.fields)
    number = row.proto << 8 | row.number
    return f"  [{number}] = {{ name = {_text(row.name)}, section = {_text(row.section)}, fields = {{{fields}\n  }} }},"


def _field(row: PduType, field: Field) -> str:
    kind = field.kind
    parts = {"name": _text(field.name), "id": _text(column_of(row, field.name).name), "meaning": _text(field.meaning)}
    if isinstance(kind, UInt | SInt | Flags):
        parts |= {"kind": '"integer"'} | _integer(kind)
        if isinstance(kind, Flags):
            parts["flags"] = "{" + ", ".join(_text(name) for name in kind.names) + "}"
    elif isinstance(kind, Vector):
        parts |= {"kind": '"vector"', "count": _count(kind.count)} | _integer(kind.element)
    elif isinstance(kind, Records):
        columns = ", ".join(_literal({"name": _text(name)} | _integer(column)) for name, column in kind.columns)
        parts |= {"kind": '"records"', "count": _count(kind.count), "columns": "{ " + columns + " }"}
    elif isinstance(kind, Members):
        parts |= {"kind": '"members"', "size": _text(kind.size)}
    elif isinstance(kind, Bytes):
        parts |= {"kind": '"bytes"', "width": str(kind.size)}
    else:
        parts["kind"] = '"text"' if row.proto is Proto.NOTE else '"payload"'
    return _literal(parts)


def _literal(parts: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in parts.items()) + " }"


def _integer(kind: UInt | SInt | Flags) -> dict[str, str]:
    return {"width": str(kind.width), "signed": "true" if isinstance(kind, SInt) else "false"}


def _count(count: Count) -> str:
    if isinstance(count, Exactly):
        return f"{{ exactly = {count.number} }}"
    if isinstance(count, SumOf):
        return f"{{ sum = {_text(count.name)} }}"
    assert isinstance(count, Of)
    return "{ of = {" + ", ".join(_text(name) for name in count.names) + "} }"


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
