"""Where a large pcap may be cut into ranges of whole records, so that several workers read one file.

A pcap has no marks at which to start in the middle. Two ways of cutting exist:

- `by_resynchronising` looks at a few hundred kilobytes around each cut only: a chain of plausible record headers is
  found *two longest records before* the cut and followed to the first record behind it. A false chain (a capture inside
  a payload) either breaks off or has joined the true one by then. Where there is no chain the file is walked instead.
- `by_walking` reads all record headers, and so also knows the number of the first frame of each range.

Whoever reads a range must arrive exactly where the next one begins; pcap.blocks reports it if not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from captures.pcap import FILE_HEADER, Audit, blocks, read_header
from captures.walk import LONGEST_RECORD, RECORD_HEADER, Order, find_record, walk

_LEAD = 2 * (LONGEST_RECORD + RECORD_HEADER)
_SPARE = 64


@dataclass(frozen=True, slots=True)
class Range:
    """Records that begin in [start, stop) of a file; stop None is its end. The first frame's number, if it is known."""

    start: int
    stop: int | None
    first_frame: int | None


def ranges(path: str | Path, size: int, *, numbered: bool) -> list[Range]:
    """Ranges of about `size` bytes; with their frame numbers if they are needed, which costs reading the file once."""
    try:
        length = Path(path).stat().st_size
    except OSError:
        length = 0
    if length <= size + FILE_HEADER:
        return [Range(FILE_HEADER, None, 1)]
    cuts = list(range(FILE_HEADER + size, length, size))
    if numbered:
        return by_walking(path, cuts)
    return by_resynchronising(path, cuts) or by_walking(path, cuts)


def by_walking(path: str | Path, cuts: list[int]) -> list[Range]:
    """Ranges that begin at the first record at or behind each cut."""
    starts, numbers = [FILE_HEADER], [1]
    waiting = list(cuts)
    for block in blocks(path, Audit(str(path))):
        offsets = block.records + block.origin
        while waiting and waiting[0] <= offsets[-1]:
            index = int(np.searchsorted(offsets, waiting.pop(0)))
            if int(offsets[index]) > starts[-1]:
                starts.append(int(offsets[index]))
                numbers.append(block.first_frame + index)
    return [Range(*bounds) for bounds in zip(starts, [*starts[1:], None], numbers, strict=True)]


def by_resynchronising(path: str | Path, cuts: list[int]) -> list[Range] | None:
    """The same ranges from a look around each cut; None if there is a cut around which no chain of records is found."""
    starts = [FILE_HEADER]
    with Path(path).open("rb") as stream:
        header = read_header(stream, Audit(str(path)))
        if header is None:
            return [Range(FILE_HEADER, None, 1)]
        length = Path(path).stat().st_size
        for cut in cuts:
            base = max(FILE_HEADER, cut - _LEAD)
            stream.seek(base)
            window = stream.read(cut - base + _LEAD)
            start = _first_record_from(window, cut - base, base == FILE_HEADER, header.order)
            if start is None:
                return None
            if starts[-1] < start + base < length:
                starts.append(start + base)
    first: list[int | None] = [1, *[None] * (len(starts) - 1)]
    return [Range(*bounds) for bounds in zip(starts, [*starts[1:], None], first, strict=True)]


def _first_record_from(window: bytes, cut: int, in_step: bool, order: Order) -> int | None:
    """The first record of the window at or behind `cut`, None if it cannot be told."""
    data = np.frombuffer(window + bytes(_SPARE), dtype=np.uint8)
    place = 0 if in_step else find_record(data, 0, cut, order)
    walked = walk(data, place, len(window), order)
    behind = walked.records[walked.records >= cut]
    if place == cut or walked.damages:
        return None
    if not len(behind):  # the cut lies in the last record of the file, or in one that the window does not hold
        return walked.end if walked.end == len(window) else None
    return int(behind[0])
