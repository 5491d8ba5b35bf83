"""The pcap file: its header, and its records block by block, so that memory does not grow with the file.

Nothing here raises because of what is in a file. What is wrong with it (no pcap at all, cut short, damaged in the
middle) is collected in an `Audit` with the reason and the place.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from captures.gather import Bytes8, Offsets
from captures.walk import LONGEST_RECORD, RECORD_HEADER, Order, find_record, walk

FILE_HEADER = 24
# The four ways of writing the magic number: byte order and resolution.
_MAGICS = {
    bytes.fromhex("4d3cb2a1"): Order("<", 1_000_000_000),
    bytes.fromhex("a1b23c4d"): Order(">", 1_000_000_000),
    bytes.fromhex("d4c3b2a1"): Order("<", 1_000_000),
    bytes.fromhex("a1b2c3d4"): Order(">", 1_000_000),
}
_PCAPNG = bytes.fromhex("0a0d0d0a")

BLOCK = 1 << 24
FRONT = 16  # zeroes before a block: place 0, that of what is not there, reads as 0
BACK = 1 << 10  # and behind it: what is read near the end may be longer than what is there

# What a finding of the audit means for a judge: "cut" and "damaged" are evidence that is missing.
TRUNCATED, DAMAGED, EMPTY, FOREIGN, UNREADABLE = "truncated", "damaged", "empty", "foreign", "unreadable"
MISPLACED = "misplaced"  # not the file's fault: the range that was asked for does not end where a record begins


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a file."""

    kind: str
    offset: int
    reason: str


@dataclass(slots=True)
class Audit:
    """What is known about a file after it was read."""

    file: str
    link_type: int | None = None
    frames: int = 0
    bytes: int = 0
    findings: list[Finding] = field(default_factory=list)

    def find(self, kind: str, offset: int, reason: str) -> None:
        self.findings.append(Finding(kind, offset, reason))


@dataclass(frozen=True, slots=True)
class Block:
    """Complete records in a buffer that the next block overwrites."""

    data: Bytes8
    records: Offsets  # places of the record headers in data
    order: Order
    link_type: int
    first_frame: int  # number of the first record in the file, from 1 (in the range, if only a range is read)
    origin: int  # add to a place in data: offset in the file


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The first 24 bytes."""

    order: Order
    link_type: int


def read_header(stream: BinaryIO, audit: Audit) -> FileHeader | None:
    """The file's header, or None and the reason in the audit."""
    head = stream.read(FILE_HEADER)
    if not head:
        audit.find(EMPTY, 0, "the file has no bytes")
        return None
    order = _MAGICS.get(head[:4])
    if order is None:
        what = "pcapng, not pcap" if head[:4] == _PCAPNG else f"{head[:4].hex()} begins no pcap"
        audit.find(FOREIGN, 0, what)
        return None
    if len(head) < FILE_HEADER:
        audit.find(TRUNCATED, 0, f"the file ends after {len(head)} of {FILE_HEADER} bytes of its header")
        return None
    link_type = struct.unpack(order.letter + "I", head[20:])[0] & 0xFFFF
    audit.link_type = link_type
    return FileHeader(order, link_type)


def blocks(
    path: str | Path, audit: Audit, *, start: int = FILE_HEADER, stop: int | None = None, block_bytes: int = BLOCK
) -> Iterator[Block]:
    """The file's records, or those of them that begin in [start, stop), where a record must begin at `start`."""
    try:
        with Path(path).open("rb", buffering=0) as stream:
            yield from _blocks(stream, audit, start, stop, max(block_bytes, LONGEST_RECORD + 2 * RECORD_HEADER))
    except OSError as error:
        audit.find(UNREADABLE, 0, error.strerror or str(error))


def _blocks(stream: BinaryIO, audit: Audit, start: int, stop: int | None, size: int) -> Iterator[Block]:
    header = read_header(stream, audit)
    if header is None:
        return
    order = header.order
    stream.seek(start)
    data: Bytes8 = np.zeros(FRONT + size + BACK, dtype=np.uint8)
    view = data.data
    held = 0  # bytes of an incomplete record, kept from the last block
    offset = start  # in the file, of the first held byte
    lost = False  # the end of the last block was damaged: where the next record begins is not known
    while True:
        got = _fill(stream, view[FRONT + held : FRONT + size])
        end = FRONT + held + got
        data[end : end + BACK] = 0
        first = FRONT
        if lost:
            first = find_record(data, FRONT, end, order)
            audit.find(DAMAGED, offset, f"{first - FRONT} more bytes are no records")
        walked = walk(data, first, end, order)
        records = walked.records
        origin = offset - FRONT
        for damage in walked.damages:
            if stop is None or damage.start + origin < stop:
                where = f"{damage.reason}; {damage.end - damage.start} bytes skipped"
                audit.find(DAMAGED, damage.start + origin, where)
        if stop is not None:
            records = records[records + origin < stop]
        if len(records):
            audit.bytes += _lengths(data, records, walked.end)
            block = Block(data, records, order, header.link_type, audit.frames + 1, origin)
            audit.frames += len(records)
            yield block
        past = stop is not None and walked.end + origin >= stop
        if stop is not None and past and walked.end + origin != stop and stop - origin not in walked.records:
            audit.find(MISPLACED, stop, f"no record begins at byte {stop}")
        if past or not got or end < FRONT + size:
            if not past and walked.end < end:
                left = end - walked.end
                audit.find(TRUNCATED, walked.end + origin, f"the last record is cut: {left} bytes of it are there")
            break
        lost = bool(walked.damages) and walked.damages[-1].end == end
        rest = end - RECORD_HEADER + 1 if lost else walked.end
        held = end - rest
        data[FRONT : FRONT + held] = data[rest:end].copy()
        offset = rest + origin
    if not audit.frames and not audit.findings and start == FILE_HEADER:
        audit.find(EMPTY, FILE_HEADER, "the file has a header and no records")


def _fill(stream: BinaryIO, view: memoryview) -> int:
    got = 0
    while got < len(view):
        part: int = stream.readinto(view[got:])  # type: ignore[attr-defined]
        if not part:
            break
        got += part
    return got


def _lengths(data: Bytes8, records: Offsets, end: int) -> int:
    """Bytes from the first record's header to the last record's end, as an upper figure for the audit."""
    return int(min(end, len(data)) - records[0])
