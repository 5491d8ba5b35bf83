"""Faults as bands: from when to when, on which nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from captures.evidence import Event
from harness.scenario.faults import FAULTS
from harness.scenario.faults.partition import Heal
from nodes.wire.note import NoteKind


@dataclass(slots=True)
class Band:
    """One fault. `end_ns` None: it never ended; equal to the beginning: it took no time."""

    kind: str
    about: str
    text: str  # as the NOTE has it
    nodes: tuple[int, ...]
    begin_ns: int
    end_ns: int | None
    event: Event

    @property
    def lasting(self) -> bool:
        return self.end_ns != self.begin_ns


def bands(events: Iterable[Event], nodes: tuple[int, ...]) -> list[Band]:
    """All faults of a run."""
    found: list[Band] = []
    for event in events:
        if event.kind is NoteKind.MARK and event.text.startswith("heal"):
            _close(found, event, Heal.ENDS)
        elif event.kind is NoteKind.FAULT:
            told = event.fault
            if told.ends:
                _close(found, event, told.ends, told.about)
                continue
            lasts = told.kind in FAULTS and FAULTS[told.kind].LASTS
            end_ns = None if lasts else event.time_ns
            found.append(Band(told.kind, told.about, event.text, told.nodes or nodes, event.time_ns, end_ns, event))
    return found


def _meet(about: str, other: str) -> bool:
    """Is one of the same places named? Who names none means all of them."""
    return not about or not set(about.split()).isdisjoint(other.split())


def _close(found: list[Band], event: Event, kinds: Collection[str], about: str = "") -> None:
    for band in found:
        same_nodes = not event.peers or set(band.nodes) & set(event.peers)
        if band.end_ns is None and band.kind in kinds and same_nodes and _meet(about, band.about):
            band.end_ns = event.time_ns
