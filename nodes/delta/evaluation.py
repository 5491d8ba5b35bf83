"""What Fig. 4 of paper 002 must show, and how to measure it from what nodes noted.

The figure itself is not in the paper's text, and neither is the load; the tables are our simulation of it: N = 10,
unicast to a random other process, Poisson sending, Δ = 5 mean delays, 9,000 messages a point. Delays are normal, cut
off at 0 and fitted to the mean and to one late message in 10,000 (topologies/distributions.py; D-DC-10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nodes.delta.tags import Tag, unexpired, union_max

PROCESSES = 10
DELTA_PER_MEAN_DELAY = 5
MESSAGES_PER_POINT = 9000


@dataclass(frozen=True, slots=True)
class Point:
    """One row of a table."""

    rate_max: float  # share of messages with |CB_m[dest]| = MAX_CB
    rate_wait: float  # share of messages that waited unnecessarily
    rate_w_time: float  # unnecessary wait / Δ, mean over all messages
    rate_w_time_of_waiting: float | None  # the same, over those that waited; None where there are too few
    tag_entries: float


# load (messages per process per mean delay) -> MAX_CB -> what is expected
FIG_4: dict[float, dict[int, Point]] = {
    1: {
        1: Point(0.659, 0.513, 0.1623, 0.317, 6.0),
        2: Point(0.265, 0.145, 0.0277, 0.191, 8.9),
        3: Point(0.079, 0.034, 0.0046, 0.135, 10.0),
        4: Point(0.018, 0.007, 0.0007, 0.104, 10.2),
        5: Point(0.004, 0.001, 0.0001, 0.060, 10.3),
        6: Point(0.0003, 0, 0, None, 10.3),
    },
    2: {
        1: Point(0.909, 0.762, 0.2243, 0.294, 8.2),
        2: Point(0.642, 0.387, 0.0796, 0.206, 14.3),
        3: Point(0.452, 0.219, 0.0341, 0.156, 19.1),
        4: Point(0.268, 0.106, 0.0134, 0.127, 22.2),
        5: Point(0.127, 0.044, 0.0045, 0.102, 23.9),
        6: Point(0.044, 0.012, 0.0009, 0.079, 24.6),
        7: Point(0.012, 0.002, 0.0002, 0.077, 24.8),
        8: Point(0.002, 0, 0, 0.039, 24.8),
        9: Point(0, 0, 0, None, 24.8),
    },
    5: {
        1: Point(0.997, 0.946, 0.2220, 0.235, 9.0),
        2: Point(0.814, 0.596, 0.1331, 0.223, 16.3),
        3: Point(0.752, 0.477, 0.0927, 0.195, 23.3),
        4: Point(0.702, 0.382, 0.0637, 0.167, 30.0),
        5: Point(0.640, 0.305, 0.0439, 0.144, 36.4),
        6: Point(0.542, 0.218, 0.0275, 0.126, 42.2),
        7: Point(0.403, 0.138, 0.0150, 0.109, 46.6),
        8: Point(0.234, 0.059, 0.0057, 0.095, 49.6),
        9: Point(0.063, 0.015, 0.0013, 0.088, 50.7),
        10: Point(0, 0, 0, None, 50.9),
    },
}


# Measuring.


@dataclass(frozen=True, slots=True)
class Sent:
    """From a SENT note (see machine.py)."""

    node: int
    seq: int
    dest: tuple[int, ...]
    ts: int
    entries: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """From a DELIVERED note."""

    node: int
    about: int
    seq: int
    ts: int
    waited_ns: int
    mine: int  # |CB_m[node]|
    local_ns: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One delivery."""

    mine: int
    unnecessary_ns: int
    waited_ns: int
    entries: int


def measure(log: Iterable[Sent | Delivered], members: Sequence[int], limit_ns: int) -> Iterator[Measured]:
    """Every delivery, its wait divided into what the order needed and what it did not.

    The nodes know only the entries that MAX_CB left. Here CB is kept in full beside what they did, so the moment at
    which every message that must come first was delivered or expired is known, as the paper defines it (§3.1).
    `log` is in the order of true time, and all clocks agree.
    """
    cb: dict[int, Tag] = {me: {k: {} for k in members} for me in members}
    tags: dict[tuple[int, int], tuple[Sent, Tag]] = {}
    delivered: dict[int, list[tuple[int, int, int]]] = {me: [] for me in members}  # source, TS, when
    for event in log:
        mine = cb[event.node]
        if isinstance(event, Sent):
            tag = {k: unexpired(entries, limit_ns, event.ts) for k, entries in mine.items()}
            tags[event.node, event.seq] = event, tag
            mine.update({k: dict(entries) for k, entries in tag.items()})
            for k in event.dest:
                if k != event.node:
                    mine[k] = {event.node: event.ts}
            continue
        sent, tag = tags[event.about, event.seq]
        if event.about != event.node:
            before = delivered[event.node]
            arrived = event.local_ns - event.waited_ns
            free = max(
                [arrived, *(_over(before, source, ts, ts + limit_ns + 1) for source, ts in tag[event.node].items())]
            )
            yield Measured(event.mine, event.local_ns - free, event.waited_ns, sent.entries)
            for k in members:
                if k not in sent.dest:
                    union_max(mine[k], tag[k])
                elif k != event.node:
                    union_max(mine[k], {event.about: event.ts})
        delivered[event.node].append((event.about, event.ts, event.local_ns))
        del delivered[event.node][:-256]  # older ones have expired long ago


def _over(delivered: list[tuple[int, int, int]], source: int, ts: int, expired_ns: int) -> int:
    """When a message was delivered, or one that its sender sent after it; at the latest when it expired."""
    for about, its_ts, when in delivered:
        if about == source and its_ts >= ts:
            return min(when, expired_ns)
    return expired_ns


def point(measured: Sequence[Measured], max_cb: int, delta_ns: int) -> Point:
    """One row of a table, as measured."""
    count = len(measured)
    waits = [each.unnecessary_ns for each in measured if each.unnecessary_ns > 0]
    return Point(
        rate_max=sum(each.mine == max_cb for each in measured) / count,
        rate_wait=len(waits) / count,
        rate_w_time=sum(waits) / count / delta_ns,
        rate_w_time_of_waiting=sum(waits) / len(waits) / delta_ns if waits else None,
        tag_entries=sum(each.entries for each in measured) / count,
    )


def standard_error(batches: Sequence[float]) -> float:
    """Of the mean over batches of a correlated series (batch means)."""
    count = len(batches)
    mean = sum(batches) / count
    return math.sqrt(sum((each - mean) ** 2 for each in batches) / (count - 1) / count)
