"""Each PDU that was sent, and what became of every copy: where it passed, where it arrived, where it was lost.

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

from captures.evidence import CHANNEL
from harness.report.seen import Seen
from nodes.wire import all_pdu_types

_WITH_PAYLOAD = frozenset(row.name for row in all_pdu_types() if any(one.name == "payload" for one in row.fields))
_Key = tuple[int, str, bytes, bytes]  # sender, type, IPv6 destination, PDU


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
    seen: Seen | None = None
    lost_at: str = ""  # "r1>r2": the way between the last place that saw it and the next


@dataclass(slots=True)
class Sending:
    """One PDU put on the network once."""

    first: Seen  # as it left its sender; where that was not captured, where it was seen first
    copies: list[Copy] = field(default_factory=list)
    passed: list[Seen] = field(default_factory=list)  # the channel, routers
    original: int | None = None  # index of the sending that this one repeats


@dataclass(frozen=True, slots=True)
class Network:
    """What must be known to say for whom a frame is."""

    nodes: tuple[int, ...]
    addresses: Mapping[bytes, int]  # IPv6, of UDP
    has_channel: bool
    captured: frozenset[str]  # "n1", "r2": the places with a capture
    starts_ns: Mapping[int, Sequence[int]]  # when the processes of each node began, ascending
    ways: Mapping[tuple[int, int], tuple[str, ...]]  # from node to node: the places that a copy passes


def sendings(frames: Sequence[Seen], network: Network) -> list[Sending]:
    """All sendings in the order of time, with their copies."""
    out: dict[_Key, list[Seen]] = defaultdict(list)
    between: dict[_Key, list[Seen]] = defaultdict(list)
    came: dict[_Key, dict[int, list[Seen]]] = defaultdict(lambda: defaultdict(list))
    end_ns = frames[-1].what.time_ns if frames else 0
    for one in frames:
        what = one.what
        key = (what.src, what.title, one.to, one.pdu)
        if what.at == CHANNEL or what.at[0] == "r":
            between[key].append(one)
        elif what.direction == "in":
            came[key][int(what.at[1:])].append(one)
        elif what.at == f"n{what.src}":
            out[key].append(one)
    for key, passing in between.items():
        if key not in out:  # its sender was not captured
            out[key] = [one for one in passing if one.what.at == passing[0].what.at and one.what.direction != "out"]
    found: list[Sending] = []
    usual = _usual(out, came)
    for key in out:
        found += _of_key(
            out[key], between.get(key, []), came.get(key, {}), _receivers(key, network), usual, end_ns, network
        )
    found.sort(key=lambda one: (one.first.what.time_ns, one.first.what.src, one.first.what.frame))
    _tie(found, network)
    return found


def _receivers(key: _Key, network: Network) -> list[int]:
    src, _, to, _ = key
    if network.has_channel:
        wanted = list(network.nodes)
    elif to in network.addresses:
        wanted = [network.addresses[to]]
    else:
        wanted = [node for node in network.nodes if node != src]
    return [node for node in wanted if f"n{node}" in network.captured]


class _Usual:
    """How long a copy takes from one node to another."""

    def __init__(self, delays: Mapping[tuple[int, int], Sequence[int]]) -> None:
        self._pairs = {pair: int(statistics.median(listed)) for pair, listed in delays.items()}
        everything = [delay for listed in delays.values() for delay in listed]
        self._all = int(statistics.median(everything)) if everything else 1_000_000

    def __call__(self, src: int, to: int) -> int:
        return self._pairs.get((src, to), self._all)


def _usual(out: Mapping[_Key, list[Seen]], came: Mapping[_Key, Mapping[int, list[Seen]]]) -> _Usual:
    delays: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key, sent in out.items():
        for node, arrivals in came.get(key, {}).items():
            if len(sent) == len(arrivals) == 1:
                delays[key[0], node].append(arrivals[0].what.time_ns - sent[0].what.time_ns)
    return _Usual(delays)


def _of_key(
    sent: list[Seen],
    between: list[Seen],
    came: Mapping[int, list[Seen]],
    receivers: list[int],
    usual: _Usual,
    end_ns: int,
    network: Network,
) -> list[Sending]:
    """The sendings of equal bytes, with what was seen of them."""
    found = [Sending(one) for one in sent]
    times = [one.what.time_ns for one in sent]
    by_place: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in between:
        by_place[one.what.at, one.what.direction].append(one)
    for listed in by_place.values():
        for one, (index, _) in zip(listed, match(times, [a.what.time_ns for a in listed], 0), strict=True):
            if one is not sent[index]:
                found[index].passed.append(one)
    src = sent[0].what.src
    for node in sorted({*receivers, *came}):
        arrivals = came.get(node, [])
        took = usual(src, node)
        taken: set[int] = set()
        for one, (index, double) in zip(arrivals, match(times, [a.what.time_ns for a in arrivals], took), strict=True):
            taken.add(index)
            fate = Fate.DOUBLE if double else Fate.ARRIVED
            found[index].copies.append(Copy(node, fate, one.what.time_ns, one))
        if node in receivers:
            for index, sending in enumerate(found):
                if index not in taken:
                    sending.copies.append(_missing(sending, node, took, end_ns, network.ways.get((src, node), ())))
    for sending in found:
        sending.passed.sort(key=lambda one: one.what.time_ns)
    return found


def _missing(sending: Sending, node: int, took: int, end_ns: int, way: Sequence[str]) -> Copy:
    last = max([sending.first.what.time_ns + took, *(one.what.time_ns for one in sending.passed)])
    if last > end_ns:
        return Copy(node, Fate.UNDER_WAY, last)
    seen_at = {one.what.at for one in (sending.first, *sending.passed)}
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


def _tie(found: list[Sending], network: Network) -> None:
    """Say of each PDU that carries a message again which sending it repeats. A new process may count from 1 again."""
    first: dict[tuple[str, int, int, bytes, int], int] = {}
    for index, sending in enumerate(found):
        what = sending.first.what
        if what.about and what.title in _WITH_PAYLOAD:
            life = bisect.bisect(network.starts_ns.get(what.src, ()), what.time_ns)
            original = first.setdefault((what.title, what.about, what.seq, sending.first.to, life), index)
            sending.original = original if original != index else None
