"""Each PDU or packet that was sent, and what became of every copy: where it passed, arrived, was lost.

A frame is known again by its bytes. Where equal bytes were sent more than once, an arrival belongs to that sending
from which it would have taken the time that is usual on this way.
"""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from captures.evidence import IN, OUT
from harness.report.seen import Seen


class Fate(IntEnum):
    """What became of a copy."""

    ARRIVED = 0
    LOST_ON_THE_WAY = 1  # after the channel or a router had it
    LOST_AT_ONCE = 2  # nobody saw it after its sender
    DOUBLE = 3  # arrived once more than it was sent
    UNDER_WAY = 4  # when the captures ended


@dataclass(slots=True)
class Copy:
    """One copy of a PDU, for one node."""

    to: int
    fate: Fate
    time_ns: int  # when it arrived, or would have
    seen: int | None = None  # the frame in which it did
    lost_at: str = ""  # "r1>r2": the way between the last place that saw it and the next


@dataclass(slots=True)
class Sending:
    """One PDU put on the network once."""

    first: int  # the frame in which it left its sender; where that was not captured, in which it was seen first
    time_ns: int
    src: int
    copies: list[Copy] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)  # frames on the channel, at routers
    original: int | None = None  # index of the sending that this one repeats


@dataclass(frozen=True, slots=True)
class Network:
    """What must be known to say for whom a frame is."""

    nodes: tuple[int, ...]
    addresses: Mapping[bytes, int]
    captured: frozenset[str]  # "n1", "r2": the places with a capture
    starts_ns: Mapping[int, Sequence[int]]  # when the processes of each node began, ascending
    ways: Mapping[tuple[int, int], tuple[str, ...]]  # from node to node: the places that a copy passes


def sendings(seen: Seen, network: Network) -> list[Sending]:
    """All sendings in the order of time, with their copies."""
    out: dict[int, list[int]] = defaultdict(list)
    between: dict[int, list[int]] = defaultdict(list)
    came: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    columns = (seen.node.tolist(), seen.direction.tolist(), seen.src.tolist())
    for row, (key, node, direction, src) in enumerate(zip(seen.key, *columns, strict=True)):
        if not node:  # on the channel, or at a router
            between[key].append(row)
        elif direction == IN:
            came[key][node].append(row)
        elif node == src:
            out[key].append(row)
    for key, passing in between.items():
        if key not in out:  # its sender was not captured
            here = seen.place[passing[0]]
            out[key] = [row for row in passing if seen.place[row] == here and seen.direction[row] != OUT]
    found: list[Sending] = []
    usual = _usual(seen, out, came)
    for key, sent in out.items():
        if sent:
            found += _of_key(seen, sent, between.get(key, []), came.get(key, {}), usual, network)
    found.sort(key=lambda one: (one.time_ns, one.src, seen.frame[one.first]))
    _tie(seen, found, network)
    return found


def _receivers(seen: Seen, src: int, to: bytes, network: Network) -> list[int]:
    if not to:  # on the channel, to all
        wanted = list(network.nodes)
    elif to in network.addresses:
        wanted = [network.addresses[to]]
    else:
        wanted = [node for node in network.nodes if node != src and node in seen.listeners.get(to, network.nodes)]
    return [node for node in wanted if f"n{node}" in network.captured]


class _Usual:
    """How long a copy takes from one node to another."""

    def __init__(self, delays: Mapping[tuple[int, int], Sequence[int]]) -> None:
        self._pairs = {pair: int(statistics.median(listed)) for pair, listed in delays.items()}
        everything = [delay for listed in delays.values() for delay in listed]
        self._all = int(statistics.median(everything)) if everything else 1_000_000

    def __call__(self, src: int, to: int) -> int:
        return self._pairs.get((src, to), self._all)


def _usual(seen: Seen, out: Mapping[int, list[int]], came: Mapping[int, Mapping[int, list[int]]]) -> _Usual:
    delays: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key, sent in out.items():
        for node, arrivals in came.get(key, {}).items():
            if len(sent) == len(arrivals) == 1:
                src = int(seen.src[sent[0]])
                delays[src, node].append(seen.time_ns[arrivals[0]] - seen.time_ns[sent[0]])
    return _Usual(delays)


def _of_key(
    seen: Seen, sent: list[int], between: list[int], came: Mapping[int, list[int]], usual: _Usual, network: Network
) -> list[Sending]:
    """The sendings of equal bytes, with what was seen of them."""
    time_ns = seen.time_ns
    src = int(seen.src[sent[0]])
    times = [time_ns[row] for row in sent]
    found = [Sending(row, at_ns, src) for row, at_ns in zip(sent, times, strict=True)]
    by_place: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in between:
        by_place[int(seen.place[row]), int(seen.direction[row])].append(row)
    for listed in by_place.values():
        for row, (index, _) in zip(listed, match(times, [time_ns[at] for at in listed], 0), strict=True):
            if row != sent[index]:
                found[index].passed.append(row)
    receivers = _receivers(seen, src, seen.destination(sent[0]), network)
    for node in sorted({*receivers, *came}):
        arrivals = came.get(node, [])
        took = usual(src, node)
        taken: set[int] = set()
        for row, (index, double) in zip(arrivals, match(times, [time_ns[at] for at in arrivals], took), strict=True):
            taken.add(index)
            fate = Fate.DOUBLE if double else Fate.ARRIVED
            found[index].copies.append(Copy(node, fate, time_ns[row], row))
        if node in receivers:
            for index, sending in enumerate(found):
                if index not in taken:
                    sending.copies.append(_missing(seen, sending, node, took, network.ways.get((src, node), ())))
    for sending in found:
        sending.passed.sort(key=time_ns.__getitem__)
    return found


def _missing(seen: Seen, sending: Sending, node: int, took: int, way: Sequence[str]) -> Copy:
    last = max([sending.time_ns + took, *(seen.time_ns[row] for row in sending.passed)])
    if last > seen.time_ns[-1]:
        return Copy(node, Fate.UNDER_WAY, last)
    seen_at = {seen.places[seen.place[row]] for row in (sending.first, *sending.passed)}
    leg = next((f"{a}>{b}" for a, b in reversed(list(itertools.pairwise(way))) if a in seen_at), "")
    return Copy(node, Fate.LOST_ON_THE_WAY if sending.passed else Fate.LOST_AT_ONCE, last, lost_at=leg)


def match(sent: Sequence[int], came: Sequence[int], usual: int) -> list[tuple[int, bool]]:
    """For each arrival, in the order of time: the index of its sending, and whether that one had arrived before."""
    if len(sent) == len(came) and all(b >= a for a, b in zip(sent, came, strict=True)):
        return [(index, False) for index in range(len(came))]
    free = set(range(len(sent)))
    found = []
    for time_ns in came:

        def distance(index: int, time_ns: int = time_ns) -> tuple[bool, int]:
            delay = time_ns - sent[index]
            return delay < 0, abs(delay - usual)

        candidates = [index for index in free if sent[index] <= time_ns]
        chosen = min(candidates or range(len(sent)), key=distance)
        found.append((chosen, not candidates))
        free.discard(chosen)
    return found


def _tie(seen: Seen, found: list[Sending], network: Network) -> None:
    """Say of each that carries something again which sending it repeats. A new process may count from 1 again."""
    first: dict[tuple[int, int], int] = {}
    for index, sending in enumerate(found):
        carries = seen.carries[sending.first]
        if carries >= 0:
            life = bisect.bisect(network.starts_ns.get(sending.src, ()), sending.time_ns)
            original = first.setdefault((carries, life), index)
            sending.original = original if original != index else None
