"""Paper 003, §3.3 in the ring under loss: packets and rounds of a message, and how often SUCCESS is told falsely.

The paper has a formula without loss only (2n+1). Here one message at a time passes a group in which every copy of
every packet is lost with chance f, and in which one node may be down. Two sets of rules:

    printed    one REPORT after a test that ended badly; only DATA starts a test; the sender waits for T_dec
    repaired   a REPORT is repeated; a question of a later round starts a test, a bad test is repeated, and asks
               again whom it missed; who answers or asks is no suspect; the first REPORT starts the next round;
               who holds a message and was not told how it ended asks the sender in the end

    ./tutti python -m harness.sweep.references.him_ring     writes him_ring.csv and him_ring_down.csv, some minutes

The unit of time is a packet's delay. Time-outs are those of a group that has measured its round trips.
"""

from __future__ import annotations

import csv
import heapq
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from statistics import fmean, stdev

SIZES = (5, 10, 20, 50)
LOSSES = (0.01, 0.05)
RULES = ("printed", "repaired")
MESSAGES = 20_000  # a point, divided by the size of the group
TRIES = MAXFAIL, ASKS, REPORTS = 5, 3, 3  # of the message after the first, of a question (q), of a REPORT (rtry)
ROUND_TRIP = 2.0
TIMEOUT = ROUND_TRIP * 1.25 * 1.25  # of a question; with margins, since nothing varies
DECIDE = TIMEOUT * (2 + 2 * (2**ASKS - 1) + REPORTS)
LATE = 10 * DECIDE  # everything else is over by then

TABLE = Path(__file__).with_suffix(".csv")


@dataclass(slots=True)
class _Node:
    has: bool = False
    tested: int = -1  # the round of its last test
    asking: dict[int, int] = field(default_factory=dict)  # whom, and how often so far
    missed: set[int] = field(default_factory=set)  # who did not confirm
    reports: int = 0
    repeats: int = 0  # of its bad test
    ended: bool = False
    test: int = 0  # counts its tests: what was planned for an earlier one is void


class Message:
    """One message, from its multicast to the silence after its END."""

    def __init__(self, n: int, loss: float, rules: str, chance: random.Random, down: int | None = None) -> None:
        self.n, self.loss, self.chance, self.repaired, self.down = n, loss, chance, rules == "repaired", down
        self.packets = self.round = 0
        self.outcome = ""
        self._nodes = [_Node(has=i == 0) for i in range(n)]
        self._suspects: dict[int, set[int]] = {}  # round -> who was reported
        self._proven: set[int] = set()  # who answered or asked the sender with the right hash
        self._waiting = False  # T_dec is over, the sender's own test is not
        self._plan: list[tuple[float, int, Callable[[], None]]] = []
        self._now, self._order = 0.0, 0
        self._multicast()
        while self._plan:
            self._now, _, action = heapq.heappop(self._plan)
            action()

    def _after(self, wait: float, action: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._plan, (self._now + wait, self._order, action))

    def _unicast(self, to: int, arrive: Callable[[], None]) -> None:
        self.packets += 1
        if self.chance.random() >= self.loss and to != self.down:
            self._after(ROUND_TRIP / 2, arrive)

    def _to_all(self, arrive: Callable[[int], None]) -> None:
        self.packets += 1
        for i in range(1, self.n):
            if self.chance.random() >= self.loss and i != self.down:
                self._after(ROUND_TRIP / 2, partial(arrive, i))

    # The sender, node 0.

    def _multicast(self) -> None:
        self._waiting = False
        self._to_all(partial(self._data, self.round))
        self._test(0, self.round)
        self._after(DECIDE, partial(self._decide, self.round))

    def _next_round(self) -> None:
        self.round += 1
        self._multicast()

    def _decide(self, round_: int) -> None:
        if self.outcome or round_ != self.round:
            return
        if self._nodes[0].asking:
            self._waiting = True
        elif not self._suspects.get(self.round, set()) - self._proven:
            self._end("SUCCESS")
        elif self.round < MAXFAIL:
            self._next_round()
        else:  # the repaired sender asks the suspects itself: who is there, is served and answers
            suspects = self._suspects[self.round] - self._proven
            self._end("SUCCESS" if self.repaired and self.down not in suspects else "FAIL")

    def _reported(self, round_: int, missed: set[int]) -> None:
        if self.outcome:
            return
        named = missed - {0} if self.repaired else missed
        self._suspects.setdefault(round_, set()).update(named - self._proven)
        if self.repaired and round_ == self.round < MAXFAIL and self._suspects[round_] - self._proven:
            self._next_round()

    def _proves(self, i: int) -> None:
        if self.repaired:
            self._proven.add(i)
            if len(self._proven) == self.n - 1 and not self.outcome:
                self._end("SUCCESS")

    def _end(self, outcome: str) -> None:
        self.outcome = outcome
        self._stop(0)
        self._nodes[0].ended = True
        self._to_all(self._ended)
        if self.repaired:
            for i in range(1, self.n):
                self._after(LATE, partial(self._ask_for_end, i, 1))

    # Every node.

    def _data(self, round_: int, i: int) -> None:
        node = self._nodes[i]
        if not node.ended and (not node.has or round_ > node.tested):
            node.has = True
            self._test(i, round_)

    def _test(self, i: int, round_: int) -> None:
        node = self._nodes[i]
        asked = {(i + 1) % self.n, *(node.missed if self.repaired else ())} - {i}
        self._stop(i)
        node.tested, node.asking, node.missed, node.reports = round_, dict.fromkeys(asked, 0), set(), 0
        for j in sorted(asked):
            self._ask(i, j, node.test)

    def _stop(self, i: int) -> None:
        self._nodes[i].test += 1
        self._nodes[i].asking = {}

    def _ask(self, i: int, j: int, test: int) -> None:
        node = self._nodes[i]
        if node.test != test or j not in node.asking:
            return
        if node.asking[j] == ASKS:
            self._resolve(i, j, False)
            return
        node.asking[j] += 1
        self._unicast(j, partial(self._question, j, i, node.tested))
        self._after(TIMEOUT * 2 ** (node.asking[j] - 1), partial(self._ask, i, j, test))

    def _question(self, i: int, asker: int, round_: int) -> None:
        node = self._nodes[i]
        self._unicast(asker, partial(self._answer, asker, i, round_, node.has))
        if node.has:
            self._confirmed(i, asker)
            if self.repaired and round_ > node.tested and not node.ended:
                self._test(i, round_)

    def _answer(self, i: int, j: int, round_: int, has: bool) -> None:
        if has:
            self._confirmed(i, j)
        elif round_ == self._nodes[i].tested and j in self._nodes[i].asking:
            self._resolve(i, j, False)

    def _confirmed(self, i: int, j: int) -> None:
        """First hand: j holds it."""
        node = self._nodes[i]
        if i == 0:
            self._proves(j)
        if j in node.missed and not node.ended:
            node.missed.discard(j)
            if not node.missed and not node.asking:
                self._stop(i)
        if j in node.asking:
            self._resolve(i, j, True)

    def _resolve(self, i: int, j: int, good: bool) -> None:
        node = self._nodes[i]
        del node.asking[j]
        if not good:
            node.missed.add(j)
        if node.asking:
            return
        if i == 0:
            self._reported(node.tested, set(node.missed))
            if self._waiting:
                self._waiting = False
                self._decide(self.round)
        elif node.missed:
            self._after(self.chance.random() * TIMEOUT, partial(self._report, i, node.test))

    def _report(self, i: int, test: int) -> None:
        node = self._nodes[i]
        if node.test != test or node.ended:
            return
        self._send_report(i)
        node.reports += 1
        if node.reports < (REPORTS if self.repaired else 1):
            self._after(TIMEOUT, partial(self._report, i, test))
        elif self.repaired and node.repeats < MAXFAIL - node.tested:
            node.repeats += 1
            self._after(TIMEOUT, partial(self._again, i, test))

    def _send_report(self, i: int) -> None:
        node = self._nodes[i]
        self._unicast(0, partial(self._on_report, i, node.tested, frozenset(node.missed)))

    def _again(self, i: int, test: int) -> None:
        if self._nodes[i].test == test and not self._nodes[i].ended:
            self._test(i, self._nodes[i].tested)

    def _on_report(self, i: int, round_: int, missed: frozenset[int]) -> None:
        if self.outcome:
            self._unicast(i, partial(self._ended, i))  # it has not heard the END
        else:
            self._reported(round_, set(missed))

    def _ask_for_end(self, i: int, times: int) -> None:
        node = self._nodes[i]
        if node.has and not node.ended and times <= ASKS:
            self._unicast(0, partial(self._tell_end, i))
            self._after(TIMEOUT * 2 ** (times - 1), partial(self._ask_for_end, i, times + 1))

    def _tell_end(self, i: int) -> None:
        self._unicast(i, lambda: None)  # the answer, as to any question
        self._unicast(i, partial(self._ended, i))

    def _ended(self, i: int) -> None:
        node = self._nodes[i]
        if not node.ended:
            if self.outcome == "SUCCESS" and node.missed:
                self._send_report(i)  # it objects, once
            self._stop(i)
            node.ended = True


# The table.


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a message, or the standard error of that."""

    packets: float
    rounds: float


def point(n: int, loss: float, rules: str, messages: int) -> tuple[Cost, Cost]:
    """Means over messages, and their standard errors."""
    chance = random.Random(f"{n} {loss} {rules}")
    found = [Message(n, loss, rules, chance) for _ in range(messages)]
    columns = ([float(one.packets) for one in found], [one.round + 1.0 for one in found])
    return Cost(*map(fmean, columns)), Cost(*(stdev(column) / math.sqrt(messages) for column in columns))


@cache
def table() -> dict[tuple[str, int, float], tuple[Cost, Cost]]:
    """(rules, n, loss) -> means and standard errors, as they were written."""
    with TABLE.open(newline="") as file:
        return {
            (row["rules"], int(row["n"]), float(row["loss"])): (
                Cost(float(row["packets"]), float(row["rounds"])),
                Cost(float(row["packets_error"]), float(row["rounds_error"])),
            )
            for row in csv.DictReader(file)
        }


# (n, who is down counted from the sender, loss) -> messages: as many as tell rare cases from none
DOWN: dict[tuple[int, int, float], int] = {(10, 5, 0.01): 20_000, (10, 5, 0.05): 100_000, (10, 5, 0.10): 20_000}
TABLE_DOWN = TABLE.with_name("him_ring_down.csv")


def false_success(n: int, down: int, loss: float, rules: str, messages: int) -> float:
    """The share of messages of which the sender is told SUCCESS."""
    chance = random.Random(f"{n} {down} {loss} {rules}")
    return fmean(Message(n, loss, rules, chance, down).outcome == "SUCCESS" for _ in range(messages))


@cache
def table_down() -> dict[tuple[int, int, float], tuple[float, float]]:
    """Of the repaired rules: the share of false SUCCESSes, and its standard error."""
    found = {}
    with TABLE_DOWN.open(newline="") as file:
        for row in csv.DictReader(file):
            key, share = (int(row["n"]), int(row["down"]), float(row["loss"])), float(row["share"])
            found[key] = share, math.sqrt(max(share, 1 / DOWN[key]) / DOWN[key])
    return found


def _rows() -> Iterator[list[str]]:
    for rules in RULES:
        for n in SIZES:
            for loss in LOSSES:
                means, errors = point(n, loss, rules, MESSAGES * 5 // n)
                values = (means.packets, means.rounds, errors.packets, errors.rounds)
                yield [rules, f"{n}", f"{loss:g}", *(f"{value:.5g}" for value in values)]


if __name__ == "__main__":
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rules", "n", "loss", "packets", "rounds", "packets_error", "rounds_error"])
        for row in _rows():
            writer.writerow(row)
            sys.stderr.write(" ".join(row) + "\n")
    with TABLE_DOWN.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["n", "down", "loss", "share"])
        for (n, down, loss), messages in DOWN.items():
            writer.writerow([n, down, f"{loss:g}", f"{false_success(n, down, loss, 'repaired', messages):.5g}"])
            file.flush()
