"""Paper 002, §4: how often MAX_CB is reached, how often that makes a message wait, and for how long.

The paper says neither the number of processes nor the load, and Fig. 4 itself is not in its text. Here N = 10 send to
a random other process at Poisson moments; delays are normal, cut off at 0, with mean 1 and one in 10,000 above Δ = 5.
The unit of time is the mean delay, of `load` the messages per process in it. With `skew`, half of the clocks are ahead
by skew x Δ, and Δ' = Δ + that (§3.6).

    ./tutti python -m harness.sweep.references.delta_tags     writes delta_tags.csv, some 40 minutes on one core

What a message must wait for is known here without any tag: from vector clocks, which count every process's sends.
"""

from __future__ import annotations

import csv
import heapq
import math
import random
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

PROCESSES = 10
DELTA = 5.0
LOADS = (1, 2, 5)
SKEWS = (0.0, 0.2)
RUNS = 40
MESSAGES_PER_RUN = 1500  # in the steady state

TABLE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True, slots=True)
class Curves:
    """One point of every curve: a mean, or its standard error over independent runs."""

    full: float  # share of messages with |CB_m[dest]| = MAX_CB
    waits: float  # share of messages that waited although nothing before them was missing
    wait_per_delta: float  # how long, in Δ, mean over all messages
    entries: float  # of CB in a message


@dataclass(slots=True)
class _Message:
    sender: int
    to: int
    stamp: float
    tag: list[dict[int, float]]  # CB_m
    past: list[int]  # how many sends of each process were before it, or are it
    arrived: float = 0.0  # by the receiver's clock


@dataclass(slots=True)
class _Process:
    ahead: float  # of true time
    cb: list[dict[int, float]] = field(default_factory=lambda: [{} for _ in range(PROCESSES)])
    latest: list[float] = field(default_factory=lambda: [-math.inf] * PROCESSES)  # deliv
    last: float = -math.inf
    past: list[int] = field(default_factory=lambda: [0] * PROCESSES)
    waiting: list[_Message] = field(default_factory=list)
    # per sender: the stamps of what was delivered from it, and when
    delivered: list[list[tuple[float, float]]] = field(default_factory=lambda: [[] for _ in range(PROCESSES)])


def simulate(load: float, max_cb: int, skew: float, seed: int, count: int) -> Curves:
    """One run: the first `count` messages that were sent in the steady state, from 2Δ' on."""
    chance = random.Random(f"{load} {max_cb} {skew} {seed}")
    limit = DELTA * (1 + skew)
    processes = [_Process(DELTA * skew if me >= PROCESSES // 2 else 0.0) for me in range(PROCESSES)]
    sends: list[list[list[tuple[int, float]]]] = [[[] for _ in range(PROCESSES)] for _ in range(PROCESSES)]
    order = iter(range(1 << 60))
    events: list[tuple[float, int, int, _Message | None]] = []  # time, tie, process, what arrives (None: look again)
    sending = [(chance.expovariate(load), me) for me in range(PROCESSES)]
    heapq.heapify(sending)
    found: list[tuple[bool, float, int]] = []
    steady = 2 * limit + DELTA * skew  # by the fastest clock

    while len(found) < count:
        if not events or sending[0][0] < events[0][0]:
            now, me = heapq.heapreplace(sending, (sending[0][0] + chance.expovariate(load), sending[0][1]))
            message = _send(processes[me], me, now, limit, max_cb, chance, sends)
            heapq.heappush(events, (now + _delay(chance), next(order), message.to, message))
            continue
        now, _, me, arrived = heapq.heappop(events)
        process = processes[me]
        local = now + process.ahead
        if arrived is not None:
            if arrived.stamp + limit < local:
                continue
            arrived.arrived = local
            process.waiting.append(arrived)
            moments = [arrived.stamp, *(math.nextafter(x + limit, math.inf) for x in arrived.tag[me].values())]
            for moment in moments:
                if moment > local:
                    heapq.heappush(events, (moment - process.ahead, next(order), me, None))
        while (ready := _ready(process, me, local, limit, max_cb)) is not None:
            free = _needed_until(process, me, ready, limit, sends)
            if ready.stamp >= steady:
                full = len(ready.tag[me]) == max_cb
                found.append((full, max(0.0, local - free), sum(map(len, ready.tag))))
            _deliver(process, me, ready, local)
    waits = [wait for _, wait, _ in found if wait > 1e-9]
    return Curves(
        sum(full for full, _, _ in found) / len(found),
        len(waits) / len(found),
        sum(waits) / len(found) / DELTA,
        fmean(entries for _, _, entries in found),
    )


def _delay(chance: random.Random) -> float:
    """Normal and not negative: mean 1, one in 10,000 above 5."""
    while (delay := chance.gauss(-0.1347, 1.3128)) < 0:
        pass
    return delay


def _send(
    process: _Process,
    me: int,
    now: float,
    limit: float,
    max_cb: int,
    chance: random.Random,
    sends: list[list[list[tuple[int, float]]]],
) -> _Message:
    """S1 to S5."""
    stamp = max(now + process.ahead, math.nextafter(process.last, math.inf))
    process.last = stamp
    for to, entries in enumerate(process.cb):
        alive = sorted((x, of) for of, x in entries.items() if x + limit >= stamp)
        process.cb[to] = {of: x for x, of in alive[-max_cb:]}
    to = chance.randrange(PROCESSES - 1)
    to += to >= me
    process.past[me] += 1
    sends[me][to].append((process.past[me], stamp))
    message = _Message(me, to, stamp, [dict(entries) for entries in process.cb], process.past[:])
    process.cb[to] = {me: stamp}
    return message


def _ready(process: _Process, me: int, local: float, limit: float, max_cb: int) -> _Message | None:
    """R0 and R2: the first of those that may be delivered, in the order of their stamps."""
    able = []
    for message in process.waiting:
        entries = message.tag[me]
        over = [x + limit < local for x in entries.values()]
        there = all(gone or process.latest[of] >= x for gone, (of, x) in zip(over, entries.items(), strict=True))
        if local >= message.stamp and there and (len(entries) < max_cb or any(over)):
            able.append((message.stamp, message.sender, message))
    return min(able)[2] if able else None


def _deliver(process: _Process, me: int, message: _Message, local: float) -> None:
    """R3 to R6."""
    process.waiting.remove(message)
    process.past = list(map(max, process.past, message.past))
    process.delivered[message.sender].append((message.stamp, local))
    for to, entries in enumerate(message.tag):
        own = process.cb[to]
        told = {message.sender: message.stamp} if to == message.to and to != me else entries if to != me else {}
        for of, x in told.items():
            own[of] = max(own.get(of, x), x)
    process.latest[message.sender] = max(process.latest[message.sender], message.stamp)
    process.last = max(process.last, message.stamp)


def _needed_until(
    process: _Process, me: int, message: _Message, limit: float, sends: list[list[list[tuple[int, float]]]]
) -> float:
    """When the last message to this process that was sent before this one was there, or had expired (§3.1)."""
    moment = max(message.arrived, message.stamp)
    for of in range(PROCESSES):
        before = message.past[of] - (of == message.sender)
        to_me = sends[of][me]
        at = bisect_right(to_me, (before, math.inf)) - 1
        if at < 0 or to_me[at][1] + limit < message.stamp:
            continue
        x = to_me[at][1]
        when = next((when for stamp, when in reversed(process.delivered[of]) if stamp == x), math.inf)
        later = [when for stamp, when in process.delivered[of][-64:] if stamp > x]
        moment = max(moment, min(when, *later, x + limit) if later else min(when, x + limit))
    return moment


# The table.


def point(
    load: float, max_cb: int, skew: float, runs: int = RUNS, count: int = MESSAGES_PER_RUN
) -> tuple[Curves, Curves]:
    """Means over independent runs, and their standard errors."""
    found = [simulate(load, max_cb, skew, seed, count) for seed in range(runs)]
    columns = [[getattr(one, each.name) for one in found] for each in fields(Curves)]
    return Curves(*map(fmean, columns)), Curves(*(stdev(column) / math.sqrt(runs) for column in columns))


_NAMES = [
    "skew",
    "load",
    "max_cb",
    *(each.name for each in fields(Curves)),
    *(f"{each.name}_error" for each in fields(Curves)),
]


@cache
def table() -> dict[tuple[float, float, int], tuple[Curves, Curves]]:
    """(skew, load, MAX_CB) -> means and standard errors, as they were written."""
    with TABLE.open(newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return {
        (row["skew"], row["load"], int(row["max_cb"])): (
            Curves(*(row[each.name] for each in fields(Curves))),
            Curves(*(row[f"{each.name}_error"] for each in fields(Curves))),
        )
        for row in rows
    }


def _rows() -> Iterator[list[str]]:
    for skew in SKEWS:
        for load in LOADS:
            for max_cb in range(1, PROCESSES + 1):
                means, errors = point(load, max_cb, skew)
                values = [getattr(part, each.name) for part in (means, errors) for each in fields(Curves)]
                yield [f"{skew:g}", f"{load:g}", f"{max_cb}", *(f"{value:.5g}" for value in values)]


if __name__ == "__main__":
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_NAMES)
        for row in _rows():
            writer.writerow(row)
            file.flush()
            sys.stderr.write(" ".join(row) + "\n")
