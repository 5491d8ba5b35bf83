"""Where the records of a pcap begin, and where they begin again behind damage.

A record's place is only known from the length of the one before it, so this is a loop in Python, some 0.2 µs a frame.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from captures.gather import Bools, Bytes8, Offsets, unsigned_at

RECORD_HEADER = 16  # seconds, fraction, captured length, original length
LONGEST_RECORD = 262_144  # libpcap's own limit; a greater length is damage
CHAIN = 8  # headers in a row that make a place plausible
_DAY_S = 86_400
_SEARCH_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Order:
    """How this file writes its numbers."""

    letter: str  # "<" or ">" as in struct
    fraction: int  # fractions per second: 10**9 or 10**6

    @property
    def header(self) -> struct.Struct:
        return struct.Struct(self.letter + "IIII")


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no records, from `start` to `end` in the buffer."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Walk:
    """Complete records of a buffer."""

    records: Offsets  # where each header begins
    end: int  # where the first incomplete record begins
    damages: tuple[Damage, ...]


def walk(data: Bytes8, start: int, end: int, order: Order) -> Walk:
    """The records of data[start:end], of which the first begins at `start`."""
    view = data.data
    seconds_and_captured = struct.Struct(order.letter + "I4xI").unpack_from
    places: list[int] = []
    damages: list[Damage] = []
    place, last, about_s = start, end - RECORD_HEADER, None
    while place <= last:
        seconds, captured = seconds_and_captured(view, place)
        if captured > LONGEST_RECORD:
            found = find_record(data, place + 1, end, order, about_s)
            damages.append(Damage(place, found, f"a record of {captured} bytes is impossible"))
            place = found
            continue
        following = place + RECORD_HEADER + captured
        if following > end:
            break
        places.append(place)
        place, about_s = following, seconds
    return Walk(np.array(places, dtype=np.int64), place, tuple(damages))


def _plausible(data: Bytes8, places: Offsets, end: int, order: Order, about_s: int | None) -> Bools:
    """Which places could hold a record header, read by itself."""
    word = unsigned_at(data, order.letter + "u4")
    inside = places + RECORD_HEADER <= end
    safe = np.where(inside, places, 0)
    captured, original = word[safe + 8], word[safe + 12]
    found: Bools = inside & (captured > 0) & (captured <= original) & (original <= LONGEST_RECORD)
    found &= word[safe + 4] < order.fraction
    if about_s is not None:
        found &= abs(word[safe].astype(np.int64) - about_s) <= _DAY_S
    return found


def find_record(data: Bytes8, start: int, end: int, order: Order, about_s: int | None = None) -> int:
    """The first place from `start` on where a chain of plausible headers begins; `end` if there is none.

    A chain that ends exactly at `end` is as good as a long one. One that runs over it proves less the shorter it is:
    of such only the longest counts, and only if nothing better was found.
    """
    best, longest = end, 0
    for base in range(start, end, _SEARCH_BYTES):
        places = np.arange(base, min(base + _SEARCH_BYTES, end - RECORD_HEADER + 1), dtype=np.int64)
        for candidate in places[_plausible(data, places, end, order, about_s)].tolist():
            length = _chain_length(data, candidate, end, order)
            if length == CHAIN:
                return int(candidate)
            if length > longest:
                best, longest = candidate, length
    return best


def _chain_length(data: Bytes8, place: int, end: int, order: Order) -> int:
    """How many plausible headers follow one another from here, at most CHAIN; 0 if an implausible one comes before."""
    first_s: int = order.header.unpack_from(data.data, place)[0]
    for length in range(CHAIN):
        if place == end:
            return CHAIN
        if place + RECORD_HEADER > end:
            return length
        seconds, fraction, captured, original = order.header.unpack_from(data.data, place)
        if not (0 < captured <= original <= LONGEST_RECORD and fraction < order.fraction):
            return 0
        if abs(seconds - first_s) > _DAY_S:
            return 0
        place += RECORD_HEADER + captured
    return CHAIN
