"""The evidence of a run: what its captures say, and why they may not say everything. Judges read this and nothing else.

Three tables: what was noted, every frame with a PDU at every place where it was seen, and the segments of a protocol
over TCP. All are in the order of true time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from captures.fields import column_of
from captures.tables import Array, Column, Ints, ListColumn, Table, Whole, ints, lists, pa
from captures.tally import Traffic
from nodes.facet import About, ProtocolSpec
from nodes.machine import Log
from nodes.protocols import NAMES, protocol
from nodes.wire import Pdu, all_pdu_types
from nodes.wire.fault import FaultNote, read_fault
from nodes.wire.note import Meaning, Note, NoteKind, said

CHANNEL = "channel"
PduClass = type[Pdu]
IN, OUT = 0, 1  # directions, as the decoder numbers them; elsewhere -1
DIRECTIONS = ("in", "out", "")


class Event(NamedTuple):
    """One NOTE, seen in a capture."""

    time_ns: int  # true time (the capture's)
    node: int  # 0 is the harness
    kind: NoteKind
    about: int = 0  # the message: its origin ...
    seq: int = 0  # ... and its number there
    peers: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    text: str = ""
    incarnation: int = 1
    number: int = 0  # of the NOTE, per node and incarnation, from 1
    local_ns: int = 0  # the node's own clock
    capture: str = ""  # file ...
    frame: int = 0  # ... and frame number in it, from 1

    @property
    def note(self) -> Note:
        """The NOTE that it was."""
        log = Log(self.kind, self.about, self.seq, self.peers, self.values, self.text)
        return log.note(self.node, self.incarnation, self.number, self.local_ns)

    @property
    def fault(self) -> FaultNote:
        """What a FAULT says."""
        return read_fault(self.text, self.peers)


class Notes(Table[Event]):
    """What was noted, once each; those of one node in its own order."""

    ROW = Event
    time_ns = Column()
    node = Column()
    kind = Column()
    about = Column()
    seq = Column()
    incarnation = Column()
    number = Column()
    local_ns = Column()
    frame = Column()
    # Of captures only: which of the files and of the different texts, its place in the table of its peers and values.
    file = Column()
    files: tuple[str, ...] = ()
    word = Column()
    words: tuple[str, ...] = ()
    within = Column()
    table: Whole = Whole(None)

    def peers_of(self, rows: Ints) -> ListColumn:
        """The peers that some rows name."""
        return self._lists_of("peers", rows)

    def values_of(self, rows: Ints) -> ListColumn:
        """Their values."""
        return self._lists_of("values", rows)

    def _lists_of(self, name: str, rows: Ints) -> ListColumn:
        if self._rows is None:
            return lists(self.table.take(name, self.within[rows]))
        return ListColumn.of([getattr(row, name) for row in self.rows(rows)])

    def of_kind(self, *wanted: NoteKind) -> Ints:
        """Where NOTEs of these kinds stand."""
        chosen = np.zeros(1 << 8, bool)
        chosen[list(wanted)] = True
        return np.flatnonzero(chosen[self.kind])

    def events(self, *wanted: NoteKind) -> list[Event]:
        """NOTEs of these kinds, one by one: for who says more clearly so what he does. They are made once."""
        if wanted not in self._events:
            self._events[wanted] = self.rows(self.of_kind(*wanted))
        return self._events[wanted]

    @cached_property
    def _events(self) -> dict[tuple[NoteKind, ...], list[Event]]:
        return {}

    def made(self, name: str) -> Ints:
        if name == "kind":  # numpy takes long over an enumeration, and all of them fit a byte
            return np.frombuffer(bytes(self._given(name)), np.uint8).astype(np.int64)
        return super().made(name)

    def shown(self, name: str, at: Ints) -> Iterable[Any]:
        match name:
            case "kind":
                return map(NoteKind, self.kind[at].tolist())
            case "peers" | "values":
                return self._lists_of(name, at).tuples()
            case "text":
                return [self.words[word] for word in self.word[at].tolist()]
            case "capture":
                return [self.files[file] for file in self.file[at].tolist()]
        return super().shown(name, at)


class Frame(NamedTuple):
    """One frame that carries a PDU of a protocol (not a NOTE), where it was seen."""

    time_ns: int
    at: str  # the capture point: "channel", "n1", "r2"
    direction: str  # "out", "in", or "" where the capture does not tell
    src: int
    title: str  # "st.RST_PAK"
    length: int
    capture: str
    frame: int
    about: int = 0  # the message that the PDU carries or is about, as far as its type says: origin ...
    seq: int = 0  # ... and number
    entries: int = 0  # of its tag
    payload: int = 0  # bytes that the application gave, as far as the PDU carries any
    multicast: bool = False  # to a group address: a copy for everybody
    to_node: int = 0  # whose address it has; 0: a group's, or none
    fields: Mapping[str, Any] = MappingProxyType({})  # of the PDU, as far as whoever made this row up gave them


@cache
def titles() -> tuple[str, ...]:
    """The names of all types of PDUs, in the order of the wire table."""
    return tuple(row.name for row in all_pdu_types())


def type_of(pdu: PduClass) -> int:
    """The place of a PDU in that order."""
    return titles().index(pdu.TYPE.name)


@cache
def node_of(place: str) -> int:
    """The node whose host a capture point is; 0: it is none."""
    return int(place[1:]) if re.fullmatch(r"n\d+", place) else 0


class Frames(Table[Frame]):
    """Every frame that carries a PDU, at every place where it was seen."""

    ROW = Frame
    time_ns = Column()
    place = Column()  # index of `places`
    node = Column()  # of the host at which it was seen; 0 elsewhere
    direction = Column()
    src = Column()
    type = Column()  # index of `titles()`
    length = Column()
    frame = Column()
    multicast = Column()
    to_node = Column()
    # From what the PDU says, by the facet of its protocol.
    about = Column()
    seq = Column()
    entries = Column()
    payload = Column()
    # Of captures only: where its PDU begins in the file, its place in the table of its type, its IPv6 destination.
    pdu_at = Column()
    within = Column()
    to = Column()  # index of `addresses`
    addresses: tuple[bytes | None, ...] = ()
    tables: Mapping[int, Whole] = MappingProxyType({})  # type -> fields of its PDUs
    paths: tuple[Path, ...] = ()  # of `places`

    @cached_property
    def places(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._given("at")))

    def of_type(self, *wanted: PduClass, among: Ints | None = None) -> Ints:
        """Where the frames with PDUs of these types stand; only those of some rows, if rows are given."""
        chosen = np.zeros(len(titles()), bool)
        chosen[[type_of(pdu) for pdu in wanted]] = True
        return np.flatnonzero(chosen[self.type]) if among is None else among[chosen[self.type[among]]]

    @cached_property
    def _channel(self) -> Ints:
        there = CHANNEL in self.places
        return np.flatnonzero(self.place == self.places.index(CHANNEL)) if there else np.zeros(0, np.int64)

    @property
    def on_channel(self) -> bool:
        """All nodes share one channel, and its frames were captured."""
        return len(self._channel) > 0

    @cached_property
    def sent(self) -> Ints:
        """Every frame once, where it was sent: on the single channel, or as it leaves its node."""
        if self.on_channel:
            return self._channel
        return np.flatnonzero((self.direction == OUT) & (self.node == self.src) & (self.node > 0))

    @cached_property
    def came(self) -> Ints:
        """What came into a host, and is not for another one: a switch that does not know where a node is, since its
        link has been down, say, puts what is for it on all links."""
        meant = (self.to_node == 0) | (self.to_node == self.node)
        return np.flatnonzero((self.direction == IN) & (self.node > 0) & meant)

    def carriers(self, among: Ints) -> Ints:
        """Those of some rows that carry a message."""
        rows = self.of_type(*(pdu for pdu, facet in facets().items() if facet.carries), among=among)
        return rows[self.about[rows] > 0]

    def field(self, rows: Ints, name: str) -> Array:
        """A field of the PDUs in these rows, which are of one type, as an Arrow array."""
        if not len(rows):
            return pa.array([], pa.int64())
        kind = int(self.type[rows[0]])
        if self._rows is None:
            return self.tables[kind].take(name, self.within[rows])
        column = column_of(all_pdu_types()[kind], name)
        return pa.array([row.fields.get(name) for row in self.rows(rows)], column.type)

    def said(self, rows: Ints, name: str) -> list[Any]:
        """A field of the PDUs in these rows, which are of one type, as the codec gives it."""
        if self._rows is not None:
            return [row.fields.get(name) for row in self.rows(rows)]
        return [_tuples(value) for value in self.field(rows, name).to_pylist()]

    def _column_of(self, rows: Ints, name: str) -> Ints | ListColumn:
        array = self.field(rows, name)
        return lists(array) if pa.types.is_list(array.type) else ints(array)

    def made(self, name: str) -> Ints:
        if self._rows is None:
            self._read_facets()
            found: Ints = vars(self)[name]
            return found
        if name == "place":
            places = {place: index for index, place in enumerate(self.places)}
            return np.fromiter(map(places.__getitem__, self._given("at")), np.int64, len(self))
        if name in _FROM_ROWS:
            given, number_of = _FROM_ROWS[name]
            return np.fromiter(map(number_of, self._given(given)), np.int64, len(self))
        return super().made(name)

    def _read_facets(self) -> None:
        """Which messages the PDUs carry or are about, and how large their tags and payloads are."""
        about, seq, entries, payload = found = [np.zeros(len(self), np.int64) for _ in range(4)]
        vars(self).update(zip(("about", "seq", "entries", "payload"), found, strict=True))
        for kind in self.tables:
            rows, row = np.flatnonzero(self.type == kind), all_pdu_types()[kind]
            facet = facets().get(row.cls)
            if facet is not None:
                told = [self._column_of(rows, name) for name in facet.fields]
                about[rows], seq[rows] = facet.message(self.src[rows], *told)
                if facet.tag:
                    entries[rows] = lists(self.field(rows, facet.tag)).counts
            if any(one.name == "payload" for one in row.fields):
                payload[rows] = ints(self.tables[kind].take("payload_length", self.within[rows]))

    def pdus(self, rows: Ints) -> list[bytes]:
        """The PDUs in these rows, read from the captures again: their bytes are needed for reports alone."""
        places = np.unique(self.place[rows]).tolist()  # a capture without frames may have no bytes at all
        files = {place: np.memmap(self.paths[place], np.uint8, "r").data for place in places}
        where = zip(self.place[rows].tolist(), self.pdu_at[rows].tolist(), self.length[rows].tolist(), strict=True)
        return [files[place][at : at + length].tobytes() for place, at, length in where]

    def shown(self, name: str, at: Ints) -> Iterable[Any]:
        match name:
            case "at":
                return [self.places[place] for place in self.place[at].tolist()]
            case "direction":
                return [DIRECTIONS[direction] for direction in self.direction[at].tolist()]
            case "title":
                return [titles()[kind] for kind in self.type[at].tolist()]
            case "capture":
                return [self.paths[place].name for place in self.place[at].tolist()]
            case "fields":
                return repeat(MappingProxyType({}), len(at))
        return super().shown(name, at)


@cache
def _type_named(title: str) -> int:
    return titles().index(title)


_FROM_ROWS: dict[str, tuple[str, Callable[[str], int]]] = {
    "node": ("at", node_of),
    "direction": ("direction", lambda way: DIRECTIONS.index(way) if way else -1),
    "type": ("title", _type_named),
}


def _tuples(value: Any) -> Any:
    """Lists and records as the codec gives them."""
    if isinstance(value, list):
        return tuple([tuple(one.values()) if isinstance(one, dict) else one for one in value])
    return value


@cache
def facets() -> Mapping[PduClass, About]:
    """What the protocols say of their PDUs."""
    return {facet.pdu: facet for name in NAMES for facet in protocol(name).pdus}


class Segment(NamedTuple):
    """One TCP segment as it left a node, whatever is in it."""

    time_ns: int
    node: int
    length: int  # of the whole frame, in bytes


class Segments(Table[Segment]):
    """What left nodes as TCP."""

    ROW = Segment
    time_ns = Column()
    node = Column()
    length = Column()


@dataclass(frozen=True, slots=True)
class Damaged:
    """A frame that should carry a PDU and carries none: some bit is not as it was sent."""

    time_ns: int
    at: str
    capture: str
    frame: int


@dataclass(frozen=True)
class Evidence:
    """What the captures of one run say."""

    nodes: tuple[int, ...]
    notes: Notes
    holes: tuple[str, ...] = ()  # why it is incomplete: then no judge may say pass
    frames: Frames = field(default_factory=Frames)
    segments: Segments = field(default_factory=Segments)  # of a protocol over TCP
    protocol: str = ""  # its name
    options: Any = None  # and its options, of the protocol's own type
    # Of captures only: their files, and what no judge reads.
    captures: tuple[Path, ...] = field(default=(), compare=False)
    damaged: tuple[Damaged, ...] = field(default=(), compare=False)
    traffic: tuple[Traffic, ...] = field(default=(), compare=False)

    @cached_property
    def _spec(self) -> ProtocolSpec | None:
        return protocol(self.protocol) if self.protocol else None

    def said(self, meaning: type[Meaning], event: Event) -> Meaning | None:
        """The values of a protocol's NOTE by their names; None if it says something else, or less."""
        return said(meaning, event.values) if self._says(meaning) else None

    def columns(self, meaning: type[NamedTuple], rows: Ints) -> tuple[Ints, Any]:
        """The same of many NOTEs at once: which of these rows say it, and what, a column for each name."""
        values = self.notes.values_of(rows)
        wanted = len(meaning._fields)
        saying = np.flatnonzero(values.counts >= wanted) if self._says(meaning) else rows[:0]
        told = values if len(saying) == len(rows) else self.notes.values_of(rows[saying])
        return saying, meaning._make(told.at(place) for place in range(wanted))

    def _says(self, meaning: type[NamedTuple]) -> bool:
        return self._spec is None or self._spec.says(meaning)
