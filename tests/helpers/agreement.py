"""What it means that two decoders agree: the codec says what a PDU is, the others must say the same, field by field."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa

from captures.columns import read_frames, schema
from captures.fields import column_of
from nodes.wire import Field, Pdu, PduType, WireError, decode_untrusted, encode
from nodes.wire.table import Bytes, Flags, Members, Payload, Proto, Records, SInt, UInt, Vector

# The columnar decoder.


def rows_of(path: Path, **options: Any) -> list[dict[str, Any]]:
    """All frames, with all columns, payload bytes included."""
    batches = list(read_frames(path, schema().names, **options))
    table = pa.Table.from_batches(batches, schema())
    table.validate(full=True)
    return table.to_pylist()


def expected(row: PduType, pdu: Pdu) -> dict[str, Any]:
    """What the columns of a PDU must hold, from the codec's PDU."""
    found: dict[str, Any] = {"type": row.name, "src": pdu.src, "pdu_length": len(encode(pdu)), "check_ok": True}
    for field in row.fields:
        column = column_of(row, field.name)
        value = getattr(pdu, field.name)
        if column.family == "records":
            value = [dict(zip(record_names(row, field.name), record, strict=True)) for record in value]
        elif isinstance(value, tuple):
            value = list(value)
        elif column.family == "text":
            value = value.decode("utf-8", "replace")
        if isinstance(field.kind, Payload) and row.proto is not Proto.NOTE:
            found[f"{column.name}_length"] = len(value)
        found[column.name] = value
    return found


def record_names(row: PduType, name: str) -> list[str]:
    """The names of a record's numbers, from the table."""
    kind = next(field.kind for field in row.fields if field.name == name)
    assert isinstance(kind, Records)
    return [column for column, _ in kind.columns]


def pdu_columns() -> set[str]:
    """Columns that only a right PDU has."""
    return {"type", "src", "pdu_length", *schema().names[schema().names.index("error") + 1 :]}


def columns_agree(row: dict[str, Any], carried: bytes) -> None:
    """The decoder's row says of these bytes what the codec says."""
    try:
        pdu = decode_untrusted(carried)
    except WireError:
        assert row["error"] is not None
        assert {name for name in pdu_columns() if row[name] is not None} == set()
        return
    assert row["error"] is None
    values = expected(pdu.TYPE, pdu)
    assert {name: row[name] for name in values} == values
    others = pdu_columns() - set(values)
    assert {name for name in others if row[name] is not None} == set()


# Scapy.


def scapy_agrees(layer: Any, carried: bytes) -> None:
    """A dissected layer says of these bytes what the codec says."""
    from captures.dissectors.packets import CorruptPdu, values_of

    try:
        pdu = decode_untrusted(carried)
    except WireError:
        assert isinstance(layer, CorruptPdu)
        assert layer.bytes == carried
        assert layer.name.startswith("corrupt PDU: ")
        return
    assert layer.name == pdu.TYPE.name
    assert (layer.version, layer.proto, layer.type, layer.length) == (
        2,
        pdu.TYPE.proto,
        pdu.TYPE.number,
        len(encode(pdu)),
    )
    assert values_of(layer) == plain_values(pdu)


def plain_values(pdu: Pdu) -> dict[str, Any]:
    """A PDU as a dictionary, with lists instead of tuples."""
    values: dict[str, Any] = {"src": pdu.src}
    for field in pdu.TYPE.fields:
        value = getattr(pdu, field.name)
        values[field.name] = list(value) if isinstance(value, tuple) else value
    return values


# tshark.


def tshark_json(path: Path, script: Path) -> list[dict[str, Any]]:
    """What our dissector shows of each frame, {} for frames it does not show; a field that stands twice is a list."""
    command = ["tshark", "-n", "-X", f"lua_script:{script}", "-r", str(path), "-T", "json", "-x"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert b"Lua" not in done.stderr, done.stderr.decode()
    frames = json.loads(done.stdout, object_pairs_hook=_gathered)
    return [frame["_source"]["layers"].get("tutti", {}) for frame in frames]


def _gathered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = (
            [*found[key], value]
            if key in found and isinstance(found[key], list)
            else ([found[key], value] if key in found else value)
        )
    return found


def tshark_agrees(shown: dict[str, Any], carried: bytes) -> None:
    """What tshark shows is what the codec says."""
    try:
        pdu = decode_untrusted(carried)
    except WireError:
        assert {key.removesuffix("_raw") for key in shown} <= {"tutti.error", "tutti.bytes", "_ws.expert"}
        assert shown["tutti.error"]
        assert bytes.fromhex(shown.get("tutti.bytes", "").replace(":", "")) == carried
        return
    row = pdu.TYPE
    assert (shown["tutti.type"], int(shown["tutti.src"])) == (row.name, pdu.src)
    assert int(shown["tutti.check"], 16) == int.from_bytes(carried[8:12], "big")
    values = {name: value for name, value in plain_values(pdu).items() if name != "src"}
    if row.proto is Proto.NOTE:
        values["text"] = values["text"].partition(b"\0")[0]  # where every text ends for Wireshark
    assert {field.name: _from_tshark(shown, row, field) for field in row.fields} == values


def _from_tshark(shown: dict[str, Any], row: PduType, field: Field) -> Any:
    name, kind = f"tutti.{column_of(row, field.name).name}", field.kind
    value = shown.get(name)
    values = value if isinstance(value, list) else [] if value is None else [value]
    if isinstance(kind, UInt | SInt | Flags):
        return int(str(value))
    if isinstance(kind, Vector | Members):
        return [int(element) for element in values]
    if isinstance(kind, Records):
        return [tuple(int(record[f"{name}.{column}"]) for column, _ in kind.columns) for record in values]
    assert isinstance(kind, Bytes | Payload)
    if row.proto is Proto.NOTE:
        # Shown as text, with replacement characters where it is none; the bytes stand beside it.
        return bytes.fromhex(shown[f"{name}_raw"][0]).partition(b"\0")[0] if value else b""
    return bytes.fromhex(str(value).replace(":", ""))
