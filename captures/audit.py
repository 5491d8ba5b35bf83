"""Is the evidence complete? Every reason why it is not is a hole, and with a hole no judge says pass.

NOTEs are numbered per node and incarnation, so a lost one leaves a gap; the last NOTE of a node that was stopped as
asked says how many there were; the harness marks the beginning and the end; every capture counts what it dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from captures.evidence import Notes
from captures.pcap import Audit
from captures.recorded import Recorded
from captures.tables import Ints
from nodes.wire.note import End, NoteKind, said


@dataclass(frozen=True, slots=True)
class Hole:
    """Something that the captures should say and do not."""

    where: str  # the file, or the node
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def file_holes(audits: Iterable[tuple[str, Audit]]) -> list[Hole]:
    """What is wrong with the files themselves."""
    return [
        Hole(name, f"{finding.kind} at byte {finding.offset}: {finding.reason}")
        for name, audit in audits
        for finding in audit.findings
    ]


def counter_holes(audits: Mapping[str, Audit], counters: Mapping[str, Recorded]) -> list[Hole]:
    """What the recorder counted at each capture point against what is there."""
    holes = []
    for point, counted in sorted(counters.items()):
        name = f"{point}.pcap"
        audit = audits.get(name)
        if audit is None:
            holes.append(Hole(name, "the manifest names this capture, and it is not there"))
            continue
        for count, what in ((counted.dropped, "dropped"), (counted.if_dropped, "dropped by the interface")):
            if count:
                holes.append(Hole(name, f"{count} frames {what}"))
        if counted.written != audit.frames:
            holes.append(Hole(name, f"{audit.frames} of {counted.written} frames are there"))
    return holes


def note_holes(notes: Notes, nodes: Sequence[int]) -> list[Hole]:
    """What is missing among the NOTEs: numbers, ends, marks, whole nodes."""
    key = notes.node << 32 | notes.incarnation
    ends = {(end.node, end.incarnation): end for end in notes.events(NoteKind.END)}
    marks = {mark.text.partition(" ")[0] for mark in notes.events(NoteKind.MARK)}
    holes = [Hole("harness.pcap", f"no MARK {mark} of the harness") for mark in ("start", "end") if mark not in marks]
    holes += [Hole(f"n{node}", "no NOTE of this node") for node in nodes if node not in notes.node]
    killed = _killed(notes)
    order = np.lexsort((notes.number, key))
    lives, begins = np.unique(key[order], return_index=True)
    last = {life >> 32: life & 0xFFFFFFFF for life in lives.tolist()}
    for life, numbers in zip(lives.tolist(), np.split(notes.number[order], begins)[1:], strict=True):
        node, incarnation = life >> 32, life & 0xFFFFFFFF
        where = f"n{node}" if node else "harness"
        where += f", incarnation {incarnation}" if incarnation > 1 else ""
        holes += [Hole(where, reason) for reason in _gaps(numbers)]
        if not node:
            continue
        end = ends.get((node, incarnation))
        total = said(End, end.values) if end is not None else None
        if total is not None and total.notes != numbers[-1]:
            holes.append(Hole(where, f"its END says {total.notes} NOTEs, the last one seen is {numbers[-1]}"))
        if end is None and incarnation == last[node] and (node, incarnation) not in killed:
            holes.append(Hole(where, "no END: it did not stop as asked, or what came last is missing"))
    return holes


def _killed(notes: Notes) -> set[tuple[int, int]]:
    """Node and incarnation of the processes that the harness killed."""
    found = set()
    for at, fault in zip(notes.of_kind(NoteKind.FAULT).tolist(), notes.events(NoteKind.FAULT), strict=True):
        for node in fault.fault.killed:
            before = notes.incarnation[:at][notes.node[:at] == node]
            if len(before):
                found.add((node, int(before.max())))
    return found


def _gaps(numbers: Ints) -> Iterator[str]:
    before = np.concatenate([[0], numbers[:-1]])
    for at in np.flatnonzero(numbers - before > 1).tolist():
        first, last = int(before[at]) + 1, int(numbers[at]) - 1
        yield f"NOTE {first} missing" if first == last else f"NOTEs {first} to {last} missing"
