"""The history of a run from its captures: NOTEs become events, protocol frames transmissions, gaps holes.

A NOTE that several captures show is taken from the first of them; two different NOTEs with one number are a hole.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from captures.audit import Hole, counter_holes, file_holes, note_holes
from captures.columns import notes, read_frames
from captures.history import Event, History, Segment, Transmission
from captures.messages import Ints, column, ints, lengths, naming, payload_column, stamps_for, tag_column
from captures.pcap import Audit
from captures.recorded import Recorded
from nodes.wire import Proto, all_pdu_types
from nodes.wire.him import HAVE
from nodes.wire.note import NoteKind

Table: TypeAlias = Any
_FRAME = ("file", "frame", "time_ns", "direction", "type", "src", "pdu_length", "ip_dst")
_PLAIN = ("frame", "time_ns", "src", "incarnation", "number", "local_ns", "about", "seq")
_TCP = 6  # next header of IPv6
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
    counters: Mapping[str, Recorded] | None = None,
    segments: bool = False,
    protocol: str = "",
    options: Any = None,
) -> History:
    """What the captures in a directory say. Without `nodes` they are those that have a capture n<number>.pcap.

    `counters` says what the recorder counted; `options` are the protocol's; TCP segments are looked for if `segments`
    says so, for a protocol whose PDUs are streams and no frames.
    """
    files = capture_files(directory)
    if nodes is None:
        nodes = [int(path.stem[1:]) for path in files if re.fullmatch(r"n\d+", path.stem)]
    audits: dict[str, Audit] = {}
    events: list[Event] = []
    order_ns: list[Ints] = []
    seen: dict[int, Event] = {}
    holes: list[Hole] = []
    transmissions: list[Transmission] = []
    for path in files:
        audits[path.name] = audit = Audit(path.name)
        keys, times_ns, found = _events(notes(path, audit), path.name)
        fresh = np.ones(len(found), bool)
        for row, (key, event) in enumerate(zip(keys, found, strict=True)):
            other = seen.setdefault(key, event)
            if other is not event:
                fresh[row] = False
                if not _same(event, other):
                    holes.append(
                        Hole(path.name, f"frame {event.frame} is another NOTE {event.number} of n{event.node}")
                    )
        events += found if fresh.all() else [found[row] for row in np.flatnonzero(fresh)]
        order_ns.append(times_ns[fresh])
        transmissions += _transmissions(path)
    if not files:
        holes.append(Hole(".", "there is no capture"))
    order = np.argsort(np.concatenate([np.zeros(0, np.int64), *order_ns]), kind="stable")
    ordered = tuple([events[row] for row in order.tolist()])
    transmissions.sort(key=lambda one: one.time_ns)
    holes += file_holes(audits.items()) + counter_holes(audits, counters or {}) + note_holes(ordered, nodes)
    streams = [found for path in files for found in _segments(path, nodes)] if segments else []
    streams.sort(key=lambda one: one.time_ns)
    return History(
        tuple(sorted(nodes)),
        ordered,
        tuple(map(str, holes)),
        tuple(transmissions),
        tuple(streams),
        protocol,
        options,
    )


def _same(one: Event, other: Event) -> bool:
    def said(event: Event) -> tuple[Any, ...]:
        return event.kind, event.about, event.seq, event.peers, event.values, event.text, event.local_ns

    return said(one) == said(other)


def _events(table: Table, name: str) -> tuple[list[int], Ints, list[Event]]:
    """The NOTEs of one capture by node, incarnation and number; their keys; and times to order them by.

    Such a time never runs back within an incarnation of a node, whatever the capture says.
    """
    node, incarnation, number, time_ns = (ints(table, field) for field in ("src", "incarnation", "number", "time_ns"))
    keys = node << 48 | incarnation << 32 | number
    known = np.flatnonzero(np.isin(ints(table, "kind"), list(_KINDS)))  # of a later version: it counts as missing
    order = known[np.argsort(keys[known], kind="stable")]
    table, keys, node, time_ns = table.take(order), keys[order], node[order], time_ns[order]
    begins = np.flatnonzero(np.diff(keys >> 32, prepend=-1))
    forward = [np.maximum.accumulate(part) for part in np.split(time_ns, begins[1:])] if len(keys) else [time_ns]
    plain = {field: table[field].to_pylist() for field in _PLAIN}
    kinds = [_KINDS[kind] for kind in table["kind"].to_pylist()]
    texts = [text or "" for text in table["text"].to_pylist()]
    found = map(
        Event,
        plain["time_ns"],
        plain["src"],
        kinds,
        plain["about"],
        plain["seq"],
        _tuples(table, "peers"),
        _tuples(table, "values"),
        texts,
        plain["incarnation"],
        plain["number"],
        plain["local_ns"],
        itertools.repeat(name),
        plain["frame"],
    )
    return keys.tolist(), np.concatenate(forward), list(found)


def _tuples(table: Table, name: str) -> list[tuple[int, ...]]:
    """A list column, most of it empty."""
    lists = table[name].combine_chunks()
    flat, ends = lists.flatten().to_pylist(), np.cumsum(lengths(table, name)).tolist()
    found, begin = [], 0
    for end in ends:
        found.append(tuple(flat[begin:end]) if end > begin else ())
        begin = end
    return found


# Frames.


def _columns() -> list[str]:
    names = list(_FRAME)
    for row in all_pdu_types():
        found = naming(row.name)
        tag, carried = tag_column(row.name), payload_column(row.name)
        names += [carried] if carried else []
        names += [*(found[0] if found else ()), *([column(row.name, tag)] if tag else ())]
    names += [column("cmd.DATA", "v"), column("delta.DATA", "counts")]
    names += [column("him.ANSWER", "hash"), column("him.ANSWER", "flags")]
    return list(dict.fromkeys(names))


def _transmissions(path: Path) -> Iterator[Transmission]:
    at, name = path.stem, path.name
    types = [row.name for row in all_pdu_types() if row.proto is not Proto.NOTE]
    for batch in read_frames(path, _columns(), types=types):
        table: Table = pa.Table.from_batches([batch])
        titles = table["type"].to_pylist()
        rows = range(len(titles))
        about, seq, entries, payload = (np.zeros(len(rows), np.int64) for _ in range(4))
        vectors: list[tuple[int, ...]] = [()] * len(rows)
        stamps: list[tuple[int, ...]] = [()] * len(rows)
        digests = [0] * len(rows)
        for title in sorted(set(titles)):
            mine = np.flatnonzero(np.array([one == title for one in titles]))
            _name(table, title, mine, about, seq, entries, payload)
            if title == "cmd.DATA":
                for row, vector in zip(mine.tolist(), table[column(title, "v")].take(mine).to_pylist(), strict=True):
                    vectors[row] = tuple(vector)
            if title == "delta.DATA" and re.fullmatch(r"n\d+", at):
                for row, own in zip(mine.tolist(), stamps_for(table.take(mine), int(at[1:])), strict=True):
                    stamps[row] = own
            if title in ("him.DATA", "him.QUERY", "him.ANSWER", "him.CONFIRM"):
                for row, digest in zip(mine.tolist(), _digests(table.take(mine), title), strict=True):
                    digests[row] = digest
        columns = [
            table[field].to_pylist() for field in ("time_ns", "direction", "src", "pdu_length", "frame", "ip_dst")
        ]
        counted = [numbers.tolist() for numbers in (about, seq, entries, payload)]
        for title, time_ns, direction, src, length, frame, to, origin, number, count, carried, *rest in zip(
            titles, *columns, *counted, vectors, digests, stamps, strict=True
        ):
            vector, digest, own = rest
            yield Transmission(
                time_ns,
                at,
                direction or "",
                src,
                title,
                length,
                name,
                frame,
                origin,
                number,
                count,
                vector,
                carried,
                to is not None and to[0] == _MULTICAST,
                digest,
                own,
            )


def _segments(path: Path, nodes: Sequence[int]) -> Iterator[Segment]:
    """What left a node as TCP."""
    node = next((node for node in nodes if path.stem == f"n{node}"), None)
    if node is None:
        return
    for batch in read_frames(path, ("time_ns", "direction", "next_header", "original")):
        table: Table = pa.Table.from_batches([batch])
        columns = (table[field].to_pylist() for field in ("time_ns", "direction", "next_header", "original"))
        for time_ns, direction, header, length in zip(*columns, strict=True):
            if header == _TCP and direction == "out":
                yield Segment(time_ns, node, length)


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
