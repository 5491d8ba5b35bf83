"""Paper 004: how many s-records a message has, with pruning and without.

The paper has no number but the bound N(N-1). Here each of N processes sends at Poisson moments to some of the others,
over delays between 1 and 50 ms, and there are no s-records: beside a count of the messages that each process has sent
to each (the matrix that s-records replace), everybody keeps how many of those are known to be delivered. A pair has a
record while these two differ. Without pruning (§3.1) there is one for every message that was told of.

    ./tutti python -m harness.sweep.references.cmd_tags     writes cmd_tags.csv, half a minute on one core
"""

from __future__ import annotations

import csv
import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

DELAY_AND_JITTER_NS = (25_500_000, 24_500_000)
RUNS = 100

TABLE = Path(__file__).with_suffix(".csv")

Matrix = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Load:
    """A row of the table."""

    processes: int
    destinations: int  # of a message
    rate: float  # messages per second and process
    length_s: float  # of the time in which they send


@dataclass(frozen=True, slots=True)
class Records:
    """Per copy of a message, over the second half of the copies."""

    pruned: float
    unpruned: float


LOADS = (
    *(Load(n, 1, rate, length) for n in (3, 5, 10, 20, 40) for rate, length in ((10, 6), (50, 1.6))),
    *(Load(10, 1, 10, quarters / 4) for quarters in (1, 2, 3, 4, 5)),
    *(Load(n, to, 10, 3) for n in (5, 10, 14) for to in sorted({1, 2, 4, n - 1})),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Message:
    sender: int
    to: int
    before: Matrix  # how many of each process to each were sent before it
    sent: Matrix  # and with all of its copies
    delivered: Matrix


class _Process:
    def __init__(self, me: int, n: int) -> None:
        self.me = me
        self.sent: Matrix = np.zeros((n, n), np.int32)  # from, to
        self.delivered: Matrix = np.zeros((n, n), np.int32)
        self.queue: list[_Message] = []

    def send(self, to: list[int]) -> tuple[list[_Message], Records]:
        """A copy for each, and how many records one has."""
        before, others = self.sent, len(to) - 1
        pruned = int(np.count_nonzero(before > self.delivered))
        told = before.sum(axis=1)
        last = np.minimum(told, 1)  # of the others: their own latest message says nothing of itself
        last[self.me] = 0
        self.sent = before.copy()
        self.sent[self.me, to] += 1
        copies = [_Message(self.me, j, before, self.sent, self.delivered) for j in to]
        return copies, Records(pruned + others, int((told - last).sum()) + others)

    def arrive(self, message: _Message) -> None:
        self.queue.append(message)
        while (ready := next((each for each in self.queue if self._may_come(each)), None)) is not None:
            self.queue.remove(ready)
            self.sent = np.maximum(self.sent, ready.sent)
            self.delivered = np.maximum(self.delivered, ready.delivered)
            self.delivered[ready.sender, self.me] = ready.sent[ready.sender, self.me]

    def _may_come(self, message: _Message) -> bool:
        return bool((message.before[:, self.me] <= self.delivered[:, self.me]).all())


def simulate(load: Load, seed: int) -> Records:
    """One run."""
    chance = random.Random(f"{astuple(load)} {seed}")
    n, (delay, jitter) = load.processes, DELAY_AND_JITTER_NS
    processes = [_Process(me, n) for me in range(n)]
    sending = [(chance.expovariate(load.rate), me) for me in range(n)]
    heapq.heapify(sending)
    under_way: list[tuple[float, int, _Message]] = []
    found: list[Records] = []
    while sending[0][0] < load.length_s:
        if under_way and under_way[0][0] < sending[0][0]:
            message = heapq.heappop(under_way)[2]
            processes[message.to].arrive(message)
            continue
        now, me = heapq.heapreplace(sending, (sending[0][0] + chance.expovariate(load.rate), sending[0][1]))
        to = chance.sample([j for j in range(n) if j != me], load.destinations)
        copies, records = processes[me].send(to)
        for copy in copies:
            found.append(records)
            delay_s = chance.uniform(delay - jitter, delay + jitter) / 1e9
            heapq.heappush(under_way, (now + delay_s, len(found), copy))
    settled = found[len(found) // 2 :]
    return Records(*(fmean(getattr(each, field.name) for each in settled) for field in fields(Records)))


def point(load: Load, runs: int = RUNS) -> tuple[Records, Records]:
    """Means over independent runs, and their standard errors."""
    found = [simulate(load, seed) for seed in range(runs)]
    columns = [[getattr(each, field.name) for each in found] for field in fields(Records)]
    return Records(*map(fmean, columns)), Records(*(stdev(column) / math.sqrt(runs) for column in columns))


_NAMES = [field.name for field in fields(Load)]
_VALUES = [field.name for field in fields(Records)]


@cache
def table() -> dict[Load, tuple[Records, Records]]:
    """Means and standard errors, as they were written."""
    with TABLE.open(newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return {
        Load(int(row["processes"]), int(row["destinations"]), row["rate"], row["length_s"]): (
            Records(*(row[name] for name in _VALUES)),
            Records(*(row[f"{name}_error"] for name in _VALUES)),
        )
        for row in rows
    }


def _rows() -> Iterator[list[str]]:
    for load in LOADS:
        means, errors = point(load)
        yield [f"{value:g}" for value in astuple(load)] + [f"{x:.5g}" for x in (*astuple(means), *astuple(errors))]


if __name__ == "__main__":
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_NAMES, *_VALUES, *(f"{name}_error" for name in _VALUES)])
        writer.writerows(_rows())
