"""Every frame of a run that carries a PDU, with its bytes: what the report draws and dissects.

The history says what a frame is and which message it is about; the bytes are read from the same capture again, for
frames are known again at other places by their bytes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from captures.history import History, Transmission
from captures.run_history import capture_files
from harness.diff import records
from nodes.wire import HEADER, MAGIC, Proto

_DESTINATION = slice(-24, -8)  # of IPv6, seen from where the payload of UDP begins


@dataclass(frozen=True, slots=True)
class Seen:
    """One frame at one place."""

    what: Transmission
    pdu: bytes
    to: bytes  # IPv6 destination; empty on a channel


@dataclass(frozen=True, slots=True)
class Damaged:
    """A frame that should carry a PDU and carries none: some bit is not as it was sent."""

    time_ns: int
    at: str
    capture: str
    frame: int


def frames_of(history: History, captures: Path) -> tuple[list[Seen], list[Damaged]]:
    """All frames in the order of time, and those that are damaged."""
    known: dict[tuple[str, int], Transmission] = {(one.capture, one.frame): one for one in history.transmissions}
    seen: list[Seen] = []
    damaged: list[Damaged] = []
    for path in capture_files(captures):
        for one in _of_file(path, known):
            (seen if isinstance(one, Seen) else damaged).append(one)  # type: ignore[arg-type]
    seen.sort(key=lambda one: one.what.time_ns)
    damaged.sort(key=lambda one: one.time_ns)
    return seen, damaged


def _of_file(path: Path, known: Mapping[tuple[str, int], Transmission]) -> Iterator[Seen | Damaged]:
    name, at = path.name, path.stem
    for record in records(path):
        if not record.pdu_at:
            continue
        data = record.data[record.pdu_at :]
        what = known.get((name, record.frame))
        if what is not None:
            to = record.data[: record.pdu_at][_DESTINATION] if record.pdu_at > 60 else b""
            yield Seen(what, data[: what.length], to)
        elif not _is_note(data):
            yield Damaged(record.time_ns, at, name, record.frame)


def _is_note(data: bytes) -> bool:
    if len(data) < HEADER.size:
        return False
    magic, version_proto, *_ = HEADER.unpack_from(data)
    return bool(magic == MAGIC and version_proto & 15 == Proto.NOTE)
