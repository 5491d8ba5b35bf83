"""Is the evidence complete? Every reason why it is not is a hole, and with a hole no judge says pass.

NOTEs are numbered per node and incarnation, so a lost one leaves a gap; the last NOTE of a node that was stopped as
asked says how many there were; the harness marks the beginning and the end; every capture counts what it dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from captures.history import Event
from captures.pcap import Audit
from captures.recorded import Recorded
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


def note_holes(events: Sequence[Event], nodes: Sequence[int]) -> list[Hole]:
    """What is missing among the NOTEs: numbers, ends, marks, whole nodes."""
    numbers: dict[tuple[int, int], list[int]] = defaultdict(list)
    ends: dict[tuple[int, int], Event] = {}
    last: dict[int, int] = {}
    killed: set[tuple[int, int]] = set()
    marks: set[str] = set()
    for event in events:
        key = (event.node, event.incarnation)
        numbers[key].append(event.number)
        last[event.node] = max(event.incarnation, last.get(event.node, 0))
        if event.kind is NoteKind.END:
            ends[key] = event
        elif event.kind is NoteKind.MARK:
            marks.add(event.text.partition(" ")[0])
        elif event.kind is NoteKind.FAULT:
            killed.update((node, last[node]) for node in event.fault.killed if node in last)
    holes = [Hole("harness.pcap", f"no MARK {mark} of the harness") for mark in ("start", "end") if mark not in marks]
    for node in nodes:
        if node not in last:
            holes.append(Hole(f"n{node}", "no NOTE of this node"))
    for (node, incarnation), found in sorted(numbers.items()):
        where = f"n{node}" if node else "harness"
        where += f", incarnation {incarnation}" if incarnation > 1 else ""
        holes += [Hole(where, reason) for reason in _gaps(sorted(found))]
        if not node:
            continue
        end = ends.get((node, incarnation))
        total = said(End, end.values) if end is not None else None
        if total is not None and total.notes != max(found):
            holes.append(Hole(where, f"its END says {total.notes} NOTEs, the last one seen is {max(found)}"))
        if end is None and incarnation == last[node] and (node, incarnation) not in killed:
            holes.append(Hole(where, "no END: it did not stop as asked, or what came last is missing"))
    return holes


def _gaps(numbers: Sequence[int]) -> Iterable[str]:
    expected = 1
    for number in numbers:
        if number > expected:
            lost = f"NOTE {expected}" if number == expected + 1 else f"NOTEs {expected} to {number - 1}"
            yield f"{lost} missing"
        expected = number + 1
