"""NOTEs of the harness itself (node 0): probes, marks and faults, on the loopback of the builder's namespace."""

from __future__ import annotations

import time

from nodes.links import Loopback
from nodes.machine import Log
from nodes.wire import encode
from nodes.wire.fault import FaultNote
from nodes.wire.note import NoteKind


class HarnessNotes:
    """A numbered series; each process of the harness that notes anything has an incarnation of its own."""

    def __init__(self, incarnation: int) -> None:
        self._incarnation = incarnation
        self._number = 0
        self._loopback = Loopback()

    def send(
        self,
        kind: NoteKind,
        *,
        peers: tuple[int, ...] = (),
        values: tuple[int, ...] = (),
        text: str = "",
        loopback: Loopback | None = None,
    ) -> None:
        """Note it, on another namespace's loopback if one is given."""
        self._number += 1
        note = Log(kind, peers=peers, values=values, text=text).note(0, self._incarnation, self._number, time.time_ns())
        (loopback or self._loopback).send([encode(note)])

    def fault(self, note: FaultNote, values: tuple[int, ...] = ()) -> None:
        """A fault begins or ends, or something was done to a PDU: `values` count what."""
        self.send(NoteKind.FAULT, peers=note.peers, values=values, text=note.text)
