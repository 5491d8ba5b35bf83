"""The first frame at which the captures of two runs part, dissected side by side.

Frames are compared as they stand in the files, with their times; a file that only one run has, or that ends earlier,
parts too. Of all captures the one that parts first in time is shown, because what comes later mostly follows from it.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captures.load import capture_files
from captures.pcap import Audit, blocks
from captures.unwrap import unwrap
from captures.walk import RECORD_HEADER
from harness.rundir import RunDir, RunDirError
from nodes.wire import Pdu, WireError, all_pdu_types, decode_untrusted
from nodes.wire.note import Note, NoteKind
from nodes.wire.table import Flags

_COLUMNS = 120
_NEVER = 1 << 63


@dataclass(frozen=True, slots=True)
class Record:
    """One frame of a capture, as far as a comparison needs it."""

    frame: int
    time_ns: int
    data: bytes  # as captured
    pdu_at: int  # where a PDU begins in data; 0: there is none

    def same(self, other: Record) -> bool:
        return self.time_ns == other.time_ns and self.data == other.data


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two runs part."""

    capture: str
    frame: int
    left: Record | None  # None: this run has no such frame
    right: Record | None

    @property
    def time_ns(self) -> int:
        """When the earlier of the two was seen; what lies behind the last frames comes last."""
        return min((record.time_ns for record in (self.left, self.right) if record is not None), default=_NEVER)


def records(path: Path) -> Iterator[Record]:
    """The frames of a capture in order."""
    for block in blocks(path, Audit(path.name)):
        frames = unwrap(block.data, block.records, block.order, block.link_type)
        for index, (place, time_ns, length, pdu_at) in enumerate(
            zip(
                block.records.tolist(),
                frames.time_ns.tolist(),
                frames.captured.tolist(),
                frames.pdu_at.tolist(),
                strict=True,
            )
        ):
            begin = place + RECORD_HEADER
            data = block.data[begin : begin + length].tobytes()
            yield Record(block.first_frame + index, time_ns, data, max(0, pdu_at - begin))


def parting(left: Path, right: Path) -> Parting | None:
    """Where one capture of two runs parts from the other; None: they are equal."""
    if left.is_file() and right.is_file() and left.read_bytes() == right.read_bytes():
        return None
    ours: Iterator[Record] = records(left) if left.is_file() else iter(())
    theirs: Iterator[Record] = records(right) if right.is_file() else iter(())
    number = 0
    for number, (one, other) in enumerate(itertools.zip_longest(ours, theirs), 1):
        if one is None or other is None or not one.same(other):
            return Parting(left.name, number, one, other)
    return Parting(left.name, number + 1, None, None)


def first_parting(left: Path, right: Path) -> Parting | None:
    """Of all captures of two runs, where they part first."""
    for run in (left, right):
        if not RunDir(run).captures.is_dir():
            raise RunDirError(f"{run} is no run directory: it has no captures/")
    names = dict.fromkeys(path.name for run in (left, right) for path in capture_files(RunDir(run).captures))
    partings = [parting(RunDir(left).captures / name, RunDir(right).captures / name) for name in names]
    found = [one for one in partings if one is not None]
    return min(found, key=lambda one: (one.time_ns, one.capture), default=None)


# Dissection.


def dissect(record: Record | None) -> list[str]:
    """A frame as lines: what it is, then one field per line, with the names of the wire table."""
    if record is None:
        return ["(no such frame)"]
    all_pdu_types()  # a PDU is known when its module is imported
    lines = [f"frame {record.frame}, {record.time_ns / 1e9:.9f} s, {len(record.data)} bytes"]
    if not record.pdu_at:
        return [*lines, "no PDU of ours:", *textwrap.wrap(record.data.hex(" "), 48)]
    try:
        pdu = decode_untrusted(record.data[record.pdu_at :])
    except WireError as error:
        return [*lines, f"a damaged PDU: {error}", *textwrap.wrap(record.data.hex(" "), 48)]
    return [*lines, f"{pdu.TYPE.name} from {'the harness' if not pdu.src else f'n{pdu.src}'}", *_fields(pdu)]


def _fields(pdu: Pdu) -> Iterator[str]:
    for field in pdu.TYPE.fields:
        value = getattr(pdu, field.name)
        if isinstance(pdu, Note) and field.name == "kind":
            value = NoteKind(value).name if value in set(NoteKind) else value
        elif isinstance(field.kind, Flags):
            names = [name for bit, name in enumerate(field.kind.names) if value >> bit & 1]
            value = f"{value} {' '.join(names)}".rstrip()
        elif isinstance(value, bytes):
            value = repr(value) if value.isascii() else value.hex(" ")
        yield f"  {field.name} = {value}"


def side_by_side(left: list[str], right: list[str], width: int = _COLUMNS) -> list[str]:
    """Two columns; a | between lines that differ."""
    half = (width - 3) // 2
    rows = []
    for one, other in itertools.zip_longest(left, right, fillvalue=""):
        sign = " " if one == other else "|"
        ours, theirs = textwrap.wrap(one, half) or [""], textwrap.wrap(other, half) or [""]
        for a, b in itertools.zip_longest(ours, theirs, fillvalue=""):
            rows.append(f"{a:{half}} {sign} {b}".rstrip())
    return rows


def explain(found: Parting | None, names: tuple[str, str]) -> str:
    """What a person is told."""
    if found is None:
        return "equal: every frame of every capture"
    if found.left is found.right is None:
        return f"every frame is equal, but {found.capture} differs in its header or behind its last frame"
    lines = [f"the runs part in {found.capture} at frame {found.frame}, {found.time_ns / 1e9:.9f} s", ""]
    return "\n".join([*lines, *side_by_side([names[0], *dissect(found.left)], [names[1], *dissect(found.right)])])


def shown(found: Parting) -> dict[str, Any]:
    """The same for programs."""
    return {
        "capture": found.capture,
        "frame": found.frame,
        "time_ns": found.time_ns,
        "left": dissect(found.left),
        "right": dissect(found.right),
    }
