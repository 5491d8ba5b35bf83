"""The history of a run: who did what, when, in which frame. Judges read this and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nodes.wire.fault import FaultNote, read_fault
from nodes.wire.note import NoteKind


@dataclass(frozen=True, slots=True)
class Event:
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
    def fault(self) -> FaultNote:
        """What a FAULT says."""
        return read_fault(self.text, self.peers)


@dataclass(frozen=True, slots=True)
class Transmission:
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
    entries: int = 0  # of its tag: CB entries of delta, s-records of cmd
    vector: tuple[int, ...] = ()  # V of cmd
    payload: int = 0  # bytes that the application gave, as far as the PDU carries any
    multicast: bool = False  # to a group address: a copy for everybody
    digest: int = 0  # him: the first bytes of the hash of what its sender holds; 0: it holds nothing
    stamps: tuple[int, ...] = ()  # delta, on its way into node i: the time stamps in CB_m[i]


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment as it left a node, whatever is in it."""

    time_ns: int
    node: int
    length: int  # of the whole frame, in bytes


@dataclass(frozen=True, slots=True)
class History:
    """What the captures of one run say. `events` are in the order of true time; those of one node in its own order."""

    nodes: tuple[int, ...]
    events: tuple[Event, ...]
    holes: tuple[str, ...] = ()  # why the evidence is incomplete: then no judge may say pass
    transmissions: tuple[Transmission, ...] = ()
    segments: tuple[Segment, ...] = ()  # of a protocol over TCP, in the order of time
    protocol: str = ""  # its name
    options: Any = None  # and its options, of the protocol's own type
