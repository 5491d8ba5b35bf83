"""The history of a run from its captures: NOTEs become events, protocol frames transmissions, gaps holes.

A NOTE that several captures show is taken from the first of them; two different NOTEs with one number are a hole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from captures.audit import Hole, counter_holes, file_holes, note_holes
from captures.columns import notes, read_frames
from captures.history import Event, History, Transmission
from captures.messages import Ints, column, ints, lengths, naming, payload_column, tag_column
from captures.pcap import Audit
from nodes.wire import all_pdu_types
from nodes.wire.him import HAVE
from nodes.wire.note import NoteKind

Table: TypeAlias = Any
_FRAME = ("file", "frame", "time_ns", "direction", "type", "src", "pdu_length", "ip_dst")
_NOTE = (
    "frame", "time_ns", "src", "kind", "incarnation", "number", "local_ns", "about", "seq", "peers", "values", "text"
)  # fmt: skip
_MULTICAST = 0xFF  # the first byte of an IPv6 group address
_KINDS = {int(kind): kind for kind in NoteKind}


def capture_files(directory: str | Path) -> list[Path]:
    """The captures of a run, in the order of their names, n2 before n10."""

    def rank(path: Path) -> tuple[str, int, str]:
        match = re.fullmatch(r"(\D*)(\d*)(.*)", path.name)
        assert match is not None
        return match[1], int(match[2] or 0), match[3]

    return sorted(Path(directory).glob("*.pcap"), key=rank)


def load_history(
    directory: str | Path,
    *,
    nodes: Sequence[int] | None = None,
    counters: Mapping[str, Mapping[str, Any]] | None = None,
    settings: Mapping[str, int | float | str] | None = None,
) -> History:
    """What the captures in a directory say. Without `nodes` they are those that have a capture n<number>.pcap.

    `counters` is the manifest's "captures"; `settings` are the protocol's options that judges must know.
    """
    files = capture_files(directory)
    if nodes is None:
        nodes = [int(path.stem[1:]) for path in files if re.fullmatch(r"n\d+", path.stem)]
    audits: dict[str, Audit] = {}
    events: list[tuple[int, int, Event]] = []
    seen: dict[tuple[int, int, int], Event] = {}
    holes: list[Hole] = []
    transmissions: list[Transmission] = []
    for path in files:
        audits[path.name] = audit = Audit(path.name)
        for order_ns, event in _events(notes(path, audit), path.name):
            key = (event.node, event.incarnation, event.number)
            other = seen.setdefault(key, event)
            if other is event:
                events.append((order_ns, len(events), event))
            elif not _same(event, other):
                holes.append(Hole(path.name, f"frame {event.frame} is another NOTE {event.number} of n{event.node}"))
        transmissions += _transmissions(path)
    if not files:
        holes.append(Hole(".", "there is no capture"))
    events.sort()
    ordered = tuple(event for _, _, event in events)
    transmissions.sort(key=lambda one: one.time_ns)
    holes += file_holes(audits.items()) + counter_holes(audits, counters or {}) + note_holes(ordered, nodes)
    return History(
        tuple(sorted(nodes)), ordered, tuple(map(str, holes)), tuple(transmissions), dict(settings or {})
    )  # fmt: skip


def _same(one: Event, other: Event) -> bool:
    def said(event: Event) -> tuple[Any, ...]:
        return event.kind, event.about, event.seq, event.peers, event.values, event.text, event.local_ns

    return said(one) == said(other)


def _events(table: Table, name: str) -> Iterator[tuple[int, Event]]:
    """The NOTEs of one capture, with a time to order them by that never runs back within an incarnation of a node."""
    get = {field: table[field].to_pylist() for field in _NOTE}
    latest: dict[tuple[int, int], int] = {}
    order = np.lexsort((get["number"], get["incarnation"], get["src"])).tolist()
    for row in order:
        kind = _KINDS.get(get["kind"][row])
        if kind is None:
            continue  # of a later version: its number still counts as missing
        node, incarnation, time_ns = get["src"][row], get["incarnation"][row], get["time_ns"][row]
        peers, values = get["peers"][row], get["values"][row]
        at_ns = latest[node, incarnation] = max(time_ns, latest.get((node, incarnation), 0))
        yield at_ns, Event(
            time_ns, node, kind, get["about"][row], get["seq"][row], tuple(peers) if peers else (),
            tuple(values) if values else (), get["text"][row] or "", incarnation, get["number"][row],
            get["local_ns"][row], name, get["frame"][row],
        )  # fmt: skip


# Frames.


def _columns() -> list[str]:
    names = list(_FRAME)
    for row in all_pdu_types():
        found = naming(row.name)
        tag, carried = tag_column(row.name), payload_column(row.name)
        names += [carried] if carried else []
        names += [*(found[0] if found else ()), *([column(row.name, tag)] if tag else ())]
    names += [column("cmd.DATA", "v"), column("him.ANSWER", "hash"), column("him.ANSWER", "flags")]
    return list(dict.fromkeys(names))


def _transmissions(path: Path) -> Iterator[Transmission]:
    at, name = path.stem, path.name
    for batch in read_frames(path, _columns()):
        table: Table = pa.Table.from_batches([batch])
        titles = table["type"].to_pylist()
        of_protocol = np.array([title is not None and title != "note.NOTE" for title in titles], bool)
        rows = np.flatnonzero(of_protocol)
        if not len(rows):
            continue
        table = table.take(rows)
        titles = [titles[row] for row in rows.tolist()]
        about, seq, entries, payload = (np.zeros(len(rows), np.int64) for _ in range(4))
        vectors: list[tuple[int, ...]] = [()] * len(rows)
        digests = [0] * len(rows)
        for title in sorted(set(titles)):
            mine = np.flatnonzero(np.array([one == title for one in titles]))
            _name(table, title, mine, about, seq, entries, payload)
            if title == "cmd.DATA":
                for row, vector in zip(mine.tolist(), table[column(title, "v")].take(mine).to_pylist(), strict=True):
                    vectors[row] = tuple(vector)
            if title in ("him.DATA", "him.QUERY", "him.ANSWER", "him.CONFIRM"):
                for row, digest in zip(mine.tolist(), _digests(table.take(mine), title), strict=True):
                    digests[row] = digest
        columns = [
            table[field].to_pylist() for field in ("time_ns", "direction", "src", "pdu_length", "frame", "ip_dst")
        ]
        counted = [numbers.tolist() for numbers in (about, seq, entries, payload)]
        for title, time_ns, direction, src, length, frame, to, origin, number, count, carried, vector, digest in zip(
            titles, *columns, *counted, vectors, digests, strict=True
        ):
            yield Transmission(
                time_ns, at, direction or "", src, title, length, name, frame, origin, number, count, vector,
                carried, to is not None and to[0] == _MULTICAST, digest,
            )  # fmt: skip


def _name(table: Table, title: str, rows: Ints, about: Ints, seq: Ints, entries: Ints, payload: Ints) -> None:
    part = table.take(rows)
    found = naming(title)
    if found is not None:
        about[rows], seq[rows] = found[1](part)
    tag = tag_column(title)
    if tag is not None:
        entries[rows] = lengths(part, column(title, tag))
    carried = payload_column(title)
    if carried is not None:
        payload[rows] = ints(part, carried)


def _digests(table: Table, title: str) -> list[int]:
    """What its sender holds: 7 bytes of the hash, so that it fits a NOTE's value. An ANSWER may say: nothing."""
    flags = ints(table, column(title, "flags")).tolist()
    hashes = table[column(title, "hash")].to_pylist()
    return [
        int.from_bytes(digest[:7], "big") if title != "him.ANSWER" or flag & HAVE else 0
        for digest, flag in zip(hashes, flags, strict=True)
    ]
