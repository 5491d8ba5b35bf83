"""From pcaps to evidence: every capture is decoded once, and each frame goes to the table of its type of PDU.

A NOTE that several captures show is taken from the first of them; two different NOTEs with one number are a hole.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from captures.audit import Hole, counter_holes, file_holes, note_holes
from captures.columns import read_by_type
from captures.evidence import OUT, Damaged, Event, Evidence, Frames, Notes, Segments, node_of, type_of
from captures.pcap import Audit
from captures.recorded import Recorded
from captures.tables import Array, Ints, Whole, concatenated, ints, pa
from captures.tally import Tally
from captures.walk import RECORD_HEADER
from nodes.protocols import protocol as protocol_of
from nodes.wire import HEADER, MAGIC, Proto
from nodes.wire.note import Note, NoteKind

_FRAME = ("frame", "offset", "time_ns", "captured", "original", "direction", "ip_dst", "next_header", "pdu_at")
_PDU = ("type", "src", "pdu_length", "error")
_TCP = 6  # next header of IPv6
_MULTICAST = b"\xff"  # an IPv6 group address begins with it
_NOTE = type_of(Note)
_NUMBERS = ("kind", "about", "seq", "incarnation", "number", "local_ns")  # of a NOTE


def capture_files(directory: str | Path) -> list[Path]:
    """The captures of a run, in the order of their names, n2 before n10."""

    def rank(path: Path) -> tuple[str, int, str]:
        match = re.fullmatch(r"(\D*)(\d*)(.*)", path.name)
        assert match is not None
        return match[1], int(match[2] or 0), match[3]

    return sorted(Path(directory).glob("*.pcap"), key=rank)


def load_evidence(
    directory: str | Path,
    *,
    nodes: Sequence[int] | None = None,
    points: Collection[str] | None = None,
    counters: Mapping[str, Recorded] | None = None,
    protocol: str = "",
    options: Any = None,
) -> Evidence:
    """What the captures in a directory say. Without `nodes` they are those that have a capture n<number>.pcap.

    `points` are the places at which a capture may have been made, `counters` says what the recorder counted there;
    `options` are the protocol's, for judges that must know them.
    """
    there = capture_files(directory)
    files = [path for path in there if points is None or path.stem in points]
    if nodes is None:
        nodes = [node for path in files if (node := node_of(path.stem))]
    read = _Captures(files)
    notes, holes = read.notes()
    if not files:
        holes.append(Hole(".", "there is no capture"))
    holes += [Hole(path.name, "left out: the network has no such place") for path in there if path not in files]
    holes += file_holes(read.audits.items()) + counter_holes(read.audits, counters or {}) + note_holes(notes, nodes)
    over_tcp = bool(protocol) and protocol_of(protocol).transport == "tcp"
    return Evidence(
        tuple(sorted(nodes)),
        notes,
        tuple(map(str, holes)),
        read.frames(),
        read.segments(nodes) if over_tcp else Segments(),
        protocol,
        options,
        tuple(files),
        tuple(read.damaged),
        tuple(read.tally.traffic()),
    )


class _Captures:
    """All frames of all captures, sorted by what they carry."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.audits: dict[str, Audit] = {}
        self.damaged: list[Damaged] = []
        self.tally = Tally()
        self._fields: dict[int, list[Any]] = defaultdict(list)  # type -> fields of its PDUs
        self._counts: Counter[int] = Counter()  # type -> PDUs so far
        self._common: dict[str, list[Ints]] = defaultdict(list)  # of the frames with PDUs, NOTEs apart
        self._addresses = _Words()
        self._noted: dict[str, list[Ints]] = defaultdict(list)
        self._lists: list[Any] = []  # the peers and values of all NOTEs, as they were decoded
        self._texts = _Words()
        self._tcp: list[dict[str, Ints]] = []
        for file, path in enumerate(files):
            self.audits[path.name] = audit = Audit(path.name)
            notes = []
            for batch, by_type in read_by_type(path, [*_FRAME, *_PDU], audit):
                self.tally.add(path.stem, batch)
                notes += self._sort(file, batch, by_type)
            self._note(file, notes)

    def _sort(self, file: int, batch: Any, by_type: Mapping[int, Any]) -> list[Any]:
        """Put each frame of a batch where it belongs; the NOTEs are returned."""
        kind, direction = _index(batch["type"]), _index(batch["direction"])
        within = np.zeros(len(kind), np.int64)
        notes = []
        for carried, fields in by_type.items():
            rows = np.flatnonzero(kind == carried)
            if carried == _NOTE:
                for name in ("frame", "time_ns", "src"):
                    fields = fields.append_column(name, pa.array(ints(batch[name])[rows]))
                notes.append(fields)
            else:
                self._fields[carried].append(fields)
                within[rows] = self._counts[carried] + np.arange(len(rows))
                self._counts[carried] += len(rows)
        rows = np.flatnonzero((kind >= 0) & (kind != _NOTE))
        if len(rows):
            found = {name: ints(batch[name])[rows] for name in ("frame", "time_ns", "src", "pdu_at")}
            found |= {"length": ints(batch["pdu_length"])[rows], "place": np.full(len(rows), file)}
            found |= {"direction": direction[rows], "type": kind[rows], "within": within[rows]}
            found["to"] = self._addresses.codes(batch["ip_dst"].take(pa.array(rows)))
            for name, column in found.items():
                self._common[name].append(column)
        rows = np.flatnonzero((ints(batch["next_header"]) == _TCP) & (direction == OUT))
        if len(rows):
            found = {"time_ns": ints(batch["time_ns"])[rows], "length": ints(batch["original"])[rows]}
            self._tcp.append(found | {"node": np.full(len(rows), node_of(self.files[file].stem))})
        if batch["error"].null_count < len(batch):
            self._damage(self.files[file], batch)
        return notes

    def _damage(self, path: Path, batch: Any) -> None:
        """Frames that claim to carry a PDU of a protocol and are wrong in some respect."""
        data = np.memmap(path, np.uint8, "r")
        for row in np.flatnonzero(_index(batch["error"]) >= 0).tolist():
            wanted = ("time_ns", "frame", "pdu_at", "offset", "captured")
            time_ns, frame, at, begin, captured = (batch[name][row].as_py() for name in wanted)
            header = data[at : min(at + HEADER.size, begin + RECORD_HEADER + captured)].tobytes()
            if len(header) == HEADER.size:
                magic, version_proto, *_ = HEADER.unpack(header)
                if magic == MAGIC and version_proto & 15 == Proto.NOTE:
                    continue
            self.damaged.append(Damaged(time_ns, path.stem, path.name, frame))

    def _note(self, file: int, parts: list[Any]) -> None:
        """The NOTEs of one capture by node, incarnation and number; and times to order them by.

        Such a time never runs back within an incarnation of a node, whatever the capture says.
        """
        if not parts:
            return
        table = pa.Table.from_batches(parts)
        column = {name: ints(table[name]) for name in ("frame", "time_ns", "src", *_NUMBERS)}
        column["node"] = column.pop("src")
        column["key"] = column["node"] << 48 | column["incarnation"] << 32 | column["number"]
        column["word"] = self._texts.codes(table["text"].combine_chunks())
        column["file"] = np.full(len(table), file)
        column["within"] = self._counts[_NOTE] + np.arange(len(table))
        self._counts[_NOTE] += len(table)
        self._lists.append(table.select(["peers", "values"]))
        known = np.flatnonzero(np.isin(column["kind"], list(NoteKind)))  # of a later version: it counts as missing
        order = known[np.argsort(column["key"][known], kind="stable")]
        for name, values in column.items():
            self._noted[name].append(values[order])
        (key, time_ns) = (self._noted[name][-1] for name in ("key", "time_ns"))
        begins = np.flatnonzero(np.diff(key >> 32, prepend=-1))
        forward = [np.maximum.accumulate(part) for part in np.split(time_ns, begins[1:])]
        self._noted["forward"].append(concatenated(forward))

    def notes(self) -> tuple[Notes, list[Hole]]:
        """What was noted, in the order of time; what contradicts itself."""
        if not self._noted:
            return Notes(), []
        key, forward = (concatenated(self._noted.pop(name)) for name in ("key", "forward"))
        order = np.argsort(key, kind="stable")
        repeats = 1 + np.flatnonzero(np.diff(key[order]) == 0)
        fresh = np.ones(len(key), bool)
        fresh[order[repeats]] = False
        again = np.sort(order[repeats])
        first = order[np.searchsorted(key[order], key[again])]
        holes = [
            Hole(event.capture, f"frame {event.frame} is another NOTE {event.number} of n{event.node}")
            for event, other in zip(self._notes_at(again), self._notes_at(first), strict=True)
            if not _same(event, other)
        ]
        rows = np.flatnonzero(fresh)
        return self._notes_at(rows[np.argsort(forward[rows], kind="stable")]), holes

    def _notes_at(self, rows: Ints) -> Notes:
        """Some of the NOTEs of all captures, one behind the other."""
        if not len(rows):
            return Notes()
        return Notes.of(
            len(rows),
            **{name: concatenated(parts)[rows] for name, parts in self._noted.items()},
            table=Whole(pa.concat_tables(self._lists)),
            files=tuple(path.name for path in self.files),
            words=self._texts.words,
        )

    def frames(self) -> Frames:
        """Every frame with a PDU of a protocol, in the order of time."""
        if not self._common:
            return Frames()
        order = np.argsort(concatenated(self._common["time_ns"]), kind="stable")
        columns = {name: concatenated(parts)[order] for name, parts in self._common.items()}
        addresses = self._addresses.words
        to_groups = np.array([bool(one and one.startswith(_MULTICAST)) for one in addresses])
        # A host's number is the end of its addresses, in all networks (topologies/kinds.py).
        ends = [int.from_bytes(one[-2:], "big") if one else 0 for one in addresses]
        return Frames.of(
            len(order),
            **columns,
            node=np.array([node_of(path.stem) for path in self.files])[columns["place"]],
            multicast=to_groups[columns["to"]],
            to_node=np.where(to_groups, 0, ends)[columns["to"]],
            addresses=addresses,
            tables={kind: Whole(pa.Table.from_batches(parts)) for kind, parts in self._fields.items()},
            paths=tuple(self.files),
            places=tuple(path.stem for path in self.files),
        )

    def segments(self, nodes: Sequence[int]) -> Segments:
        """What left a node as TCP, in the order of time."""
        columns = {name: concatenated([one[name] for one in self._tcp]) for name in ("time_ns", "node", "length")}
        rows = np.flatnonzero(np.isin(columns["node"], list(nodes)))
        rows = rows[np.argsort(columns["time_ns"][rows], kind="stable")]
        return Segments.of(len(rows), **{name: column[rows] for name, column in columns.items()})


class _Words:
    """The different values of a column of texts or bytes, most of which occur often."""

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}

    def codes(self, array: Array) -> Ints:
        """For every row the index of its value."""
        encoded = array.dictionary_encode("encode")
        known = [self._codes.setdefault(word, len(self._codes)) for word in encoded.dictionary.to_pylist()]
        return np.array(known, np.int64)[ints(encoded.indices)]

    @property
    def words(self) -> tuple[Any, ...]:
        """All values, by index."""
        return tuple(self._codes)


def _index(array: Array) -> Ints:
    """Of a column of names the indices; -1 where there is none."""
    if array.null_count == len(array):
        return np.full(len(array), -1)
    found: Ints = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _same(one: Event, other: Event) -> bool:
    def said(event: Event) -> tuple[Any, ...]:
        return event.kind, event.about, event.seq, event.peers, event.values, event.text, event.local_ns

    return said(one) == said(other)
