"""The curves of Fig. 4 of paper 002 (§4), measured from what nodes noted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nodes.delta.notes import Delivered, Sent
from nodes.delta.tags import Tag, unexpired, union_max

TIMER_NS = 20_000  # a timer may wake a process so late: that is no wait of the rule's


@dataclass(frozen=True, slots=True)
class Point:
    """One row of a table."""

    rate_max: float  # share of messages with |CB_m[dest]| = MAX_CB
    rate_wait: float  # share of messages that waited unnecessarily
    rate_w_time: float  # unnecessary wait / Δ, mean over all messages
    rate_w_time_of_waiting: float | None  # the same, over those that waited; None where there are too few
    tag_entries: float


@dataclass(frozen=True, slots=True)
class Sending:
    """A SENT note."""

    node: int
    seq: int
    dest: tuple[int, ...]
    said: Sent


@dataclass(frozen=True, slots=True)
class Delivery:
    """A DELIVERED note."""

    node: int
    about: int
    seq: int
    local_ns: int
    said: Delivered


@dataclass(frozen=True, slots=True)
class Measured:
    """One delivery."""

    mine: int
    unnecessary_ns: int
    waited_ns: int
    entries: int
    ts: int


def measure(log: Iterable[Sending | Delivery], members: Sequence[int], limit_ns: int) -> Iterator[Measured]:
    """Every delivery, its wait divided into what the order needed and what it did not.

    The nodes know only the entries that MAX_CB left. Here CB is kept in full beside what they did, so the moment at
    which every message that must come first was delivered or expired is known, as the paper defines it (§3.1).
    `log` is in the order of true time, its times are of the local clocks; what a clock that is behind makes a message
    wait for (R0) the order needs. Nobody is restarted.
    """
    cb: dict[int, Tag] = {me: {k: {} for k in members} for me in members}
    tags: dict[tuple[int, int], tuple[Sending, Tag]] = {}
    delivered: dict[tuple[int, int], list[tuple[int, int]]] = {(me, of): [] for me in members for of in members}
    for event in log:
        mine = cb[event.node]
        ts = event.said.ts
        if isinstance(event, Sending):
            tag = {k: unexpired(entries, limit_ns, ts) for k, entries in mine.items()}
            tags[event.node, event.seq] = event, tag
            mine.update({k: dict(entries) for k, entries in tag.items()})
            for k in event.dest:
                if k != event.node:
                    mine[k] = {event.node: ts}
            continue
        sent, tag = tags[event.about, event.seq]
        if event.about != event.node:
            waited_ns = event.said.waited_ns
            free = max(event.local_ns - waited_ns, ts)
            for source, its_ts in tag[event.node].items():
                free = max(free, _over(delivered[event.node, source], its_ts, its_ts + limit_ns + 1))
            vain_ns = event.local_ns - free
            yield Measured(event.said.mine, vain_ns if vain_ns > TIMER_NS else 0, waited_ns, sent.said.entries, ts)
            for k in members:
                if k not in sent.dest:
                    union_max(mine[k], tag[k])
                elif k != event.node:
                    union_max(mine[k], {event.about: ts})
        before = delivered[event.node, event.about]
        before.append((ts, event.local_ns))
        del before[:-64]  # older ones have expired long ago


def _over(delivered: list[tuple[int, int]], ts: int, expired_ns: int) -> int:
    """When a message was delivered, or one that its sender sent after it; at the latest when it expired."""
    for its_ts, when in delivered:
        if its_ts >= ts:
            return min(when, expired_ns)
    return expired_ns


def steady(measured: Iterable[Measured], limit_ns: int) -> list[Measured]:
    """Without the first messages, before which too few were under way: those of twice Δ'."""
    found = list(measured)
    begin = min((each.ts for each in found), default=0) + 2 * limit_ns
    return [each for each in found if each.ts >= begin]


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
