"""Captures made from a history, as a run would have left them: one pcap per node, one of the harness, a manifest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from captures.columns import audit
from captures.evidence import Event, Evidence, Notes
from captures.recorded import Recorded
from captures.samples import LITTLE_NS, cooked, ethernet, pcap
from captures.unwrap import ETHERNET, LINUX_SLL2
from harness.manifest import Findings, Kernel, Manifest, write_manifest
from harness.rundir import RunDir
from nodes.wire import ETHERTYPE, Pdu, encode
from nodes.wire.note import NoteKind

KERNEL = Kernel("7.2", "a recipe")


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame at one capture point."""

    time_ns: int
    at: str
    pdu: Pdu | bytes  # bytes: an IP packet
    outgoing: bool = True

    @property
    def carried(self) -> tuple[int, bytes]:
        """Its EtherType, and what it carries."""
        if isinstance(self.pdu, bytes):
            return (0x0800 if self.pdu[0] >> 4 == 4 else 0x86DD), self.pdu
        return ETHERTYPE, encode(self.pdu)


def write_captures(directory: Path, evidence: Evidence, frames: Iterable[Frame] = ()) -> Path:
    """captures/ with the NOTEs of a history and some protocol frames; returns it."""
    found = [
        Frame(event.time_ns, f"n{event.node}" if event.node else "harness", event.note, outgoing=False)
        for event in evidence.notes
    ]
    by_point: dict[str, list[Frame]] = defaultdict(list)
    for frame in (*found, *frames):
        by_point[frame.at].append(frame)
    captures = directory / "captures"
    captures.mkdir(parents=True, exist_ok=True)
    for point, listed in by_point.items():
        listed.sort(key=lambda frame: frame.time_ns)
        (captures / f"{point}.pcap").write_bytes(timed_pcap(listed, cooked_frames=point.startswith(("n", "r"))))
    return captures


def timed_pcap(frames: Iterable[Frame], *, cooked_frames: bool = True) -> bytes:
    """The bytes of a capture with these frames at their times."""
    parts = [pcap((), LINUX_SLL2 if cooked_frames else ETHERNET)]
    for frame in frames:
        kind, carried = frame.carried
        data = cooked(kind, carried, outgoing=frame.outgoing) if cooked_frames else ethernet(kind, carried)
        seconds, fraction = divmod(frame.time_ns, 10**9)
        parts.append(LITTLE_NS.header.pack(seconds, fraction, len(data), len(data)) + data)
    return b"".join(parts)


def leave_manifest(
    directory: Path, *, kernel: Kernel = KERNEL, failed: str = "", dropped: Mapping[str, int] | None = None
) -> dict[str, Recorded]:
    """A manifest whose counters agree with the captures, but for what was dropped; returns the counters."""
    counted = {}
    for path in sorted((directory / "captures").glob("*.pcap")):
        frames = audit(path).frames
        counted[path.stem] = Recorded(frames, frames, (dropped or {}).get(path.stem, 0))
    findings = Findings(captures=counted)
    manifest = Manifest(identity="0", engine="virtual", kernel=kernel, failed=failed, findings=findings)
    write_manifest(RunDir(directory), manifest)
    return counted


def stopped(one: Evidence, *without: int) -> Evidence:
    """The history with the END of every node that was stopped as asked."""
    events = list(one.notes)
    for node in one.nodes:
        if node in without:
            continue
        mine = [event for event in events if event.node == node]
        number, incarnation = (mine[-1].number + 1, mine[-1].incarnation) if mine else (1, 1)
        time_ns = events[-1].time_ns + 1000
        events.append(
            Event(
                time_ns,
                node,
                NoteKind.END,
                values=(number, 0, 0, 1),
                incarnation=incarnation,
                number=number,
                local_ns=time_ns,
                capture=f"n{node}.pcap",
                frame=number,
            )
        )
    return replace(one, notes=Notes(events))
