"""Where the records of a pcap begin: the one step of decoding that is sequential by nature, done many chains at a time.

A record's place is only known from the length of the one before it. A loop in Python costs more than everything else
together, so a block is cut into chunks, a *guess* is made where the first record of each chunk begins, and all chunks
are walked in lock step, one record of every chunk per numpy call. The guesses need no proof: the first chain is true,
and a chain that lands exactly on the start of the next one makes that one true as well. Where it does not land, the
chunk is walked again one record at a time. So the result never depends on a guess.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from captures.gather import Bools, Bytes8, Offsets, unsigned_at, words_at

RECORD_HEADER = 16  # seconds, fraction, captured length, original length
LONGEST_RECORD = 262_144  # libpcap's own limit; a greater length is damage
CHUNK = 1 << 15
SEARCH = 2048  # how far into a chunk a guess is looked for ...
_STRIDE = 256  # ... so many bytes at a time
_REACH = _STRIDE + RECORD_HEADER
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


def walk(data: Bytes8, start: int, end: int, order: Order, *, chunk: int = CHUNK) -> Walk:
    """The records of data[start:end], of which the first begins at `start`. The 32 bytes behind `end` must be 0."""
    if end - start < 4 * chunk:
        return _one_by_one(data, start, end, order)
    starts = _guess_starts(data, start, end, order, chunk)
    limits = np.append(starts[1:], end)
    chains, landings = _lock_step(data, starts, limits, end, order)
    return _join(data, starts, limits, chains, landings, end, order)


def _lock_step(
    data: Bytes8, starts: Offsets, limits: Offsets, end: int, order: Order
) -> tuple[list[Offsets] | Offsets, Offsets]:
    """All chains at once. Returns the (steps x chains) matrix of places and where each chain left its chunk."""
    lengths = unsigned_at(data, order.letter + "u4")
    # Everything is biased by 8, the place of the captured length in the header: one addition less per step.
    cap = np.int64(end + 8)  # the zeroes behind the end: a chain that has come here stays
    rows = [starts + 8]
    place = rows[0]
    landing = limits.copy()
    biased_limits = limits + 8
    while True:
        for _ in range(16):
            step = np.add(place, lengths[place], dtype=np.int64, casting="unsafe")
            step += RECORD_HEADER
            place = np.minimum(step, cap, out=step)
            rows.append(place)
        if (place >= biased_limits).all():
            break
    matrix = np.array(rows)
    matrix -= 8
    inside = (matrix < limits).sum(axis=0)
    landing = matrix[inside, np.arange(len(starts))]
    return matrix, landing


def _join(
    data: Bytes8,
    starts: Offsets,
    limits: Offsets,
    matrix: list[Offsets] | Offsets,
    landings: Offsets,
    end: int,
    order: Order,
) -> Walk:
    """The chains in a row, those that are proven; what lies between is walked again."""
    by_chain = np.ascontiguousarray(np.asarray(matrix).T)
    inside = by_chain < limits[:, None]
    broken = np.flatnonzero(landings[:-1] != starts[1:])
    last_place = by_chain[-1][inside[-1]][-1]
    last_whole = _record_end(data, int(last_place), order) <= end
    if not len(broken) and last_whole:
        records = by_chain[inside]
        return Walk(records, int(records[-1]) + _record_length(data, int(records[-1]), order), ())
    if not len(broken) and _plausible_length(data, int(last_place), order):
        return Walk(by_chain[inside][:-1], int(last_place), ())

    parts: list[Offsets] = []
    damages: list[Damage] = []
    broken_chains = {*broken.tolist(), len(starts) - 1}
    chain = 0
    place = int(starts[0])
    while chain < len(starts):
        if chain not in broken_chains:
            parts.append(by_chain[chain][inside[chain]])
            chain += 1
            place = int(landings[chain - 1])
            continue
        later = {int(start): chain + 1 + i for i, start in enumerate(starts[chain + 1 :])}
        again = _one_by_one(data, place, end, order, stop_at=later)
        parts.append(again.records)
        damages.extend(again.damages)
        place = again.end
        if place not in later:
            break
        chain = later[place]
    return Walk(np.concatenate(parts), place, tuple(damages))


def _record_length(data: Bytes8, place: int, order: Order) -> int:
    captured: int = order.header.unpack_from(data.data, place)[2]
    return RECORD_HEADER + captured


def _record_end(data: Bytes8, place: int, order: Order) -> int:
    return place + _record_length(data, place, order) if _plausible_length(data, place, order) else 1 << 62


def _plausible_length(data: Bytes8, place: int, order: Order) -> bool:
    return _record_length(data, place, order) <= RECORD_HEADER + LONGEST_RECORD


def _one_by_one(data: Bytes8, start: int, end: int, order: Order, stop_at: dict[int, int] | None = None) -> Walk:
    """The plain loop, which also reports damage. Stops at the first place that is in `stop_at`."""
    view = data.data
    unpack = struct.Struct(order.letter + "I").unpack_from
    places: list[int] = []
    damages: list[Damage] = []
    place = start
    while place + RECORD_HEADER <= end:
        if stop_at and place in stop_at and place != start:
            break
        captured = unpack(view, place + 8)[0]
        if captured > LONGEST_RECORD:
            about_s = unpack(view, places[-1])[0] if places else None
            found = find_record(data, place + 1, end, order, about_s)
            damages.append(Damage(place, found, f"a record of {captured} bytes is impossible"))
            place = found
            continue
        following = place + RECORD_HEADER + captured
        if following > end:
            break
        places.append(place)
        place = following
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


def _guess_starts(data: Bytes8, start: int, end: int, order: Order, chunk: int) -> Offsets:
    """The true start, and one guess per further chunk where there is any."""
    count = (end - SEARCH - _REACH - start) // chunk
    word = unsigned_at(data, order.letter + "u4")
    about_s = int(word[start])
    base = start + chunk * np.arange(1, count, dtype=np.int64)
    guesses = np.full(len(base), -1, dtype=np.int64)
    for low in range(0, SEARCH, _STRIDE):
        open_chunks = np.flatnonzero(guesses < 0)
        if not len(open_chunks):
            break
        rows, columns = _small_lengths(data, base[open_chunks] + low, order)
        rows = open_chunks[rows]
        candidates = base[rows] + low + columns
        following = candidates
        for _ in range(3):
            good = _plausible(data, following, end, order, about_s)
            rows, candidates, following = rows[good], candidates[good], following[good]
            following = following + RECORD_HEADER + word[following + 8]
        first_rows, first = np.unique(rows, return_index=True)
        guesses[first_rows] = candidates[first]
    return np.concatenate([[np.int64(start)], guesses[guesses >= 0]])


def _small_lengths(data: Bytes8, places: Offsets, order: Order) -> tuple[Offsets, Offsets]:
    """Where in the _STRIDE bytes from each place two numbers stand that could be the lengths of a record: the sieve
    before _plausible, which looks at single bytes because that is what numpy compares fastest."""
    window = words_at(data, f"V{_REACH}")[places].view(np.uint8).reshape(-1, _REACH)
    high, next_high = (3, 2) if order.letter == "<" else (0, 1)
    most = LONGEST_RECORD >> 16
    likely = np.ones((len(places), _STRIDE), dtype=bool)
    for field in (8, 12):  # the captured and the original length
        likely &= window[:, field + high : field + high + _STRIDE] == 0
        likely &= window[:, field + next_high : field + next_high + _STRIDE] <= most
    rows, columns = np.nonzero(likely)
    return rows, columns
