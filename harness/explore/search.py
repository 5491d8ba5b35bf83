"""The search of all processes together: how long, what was found so far, and what its silence is worth."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from harness.explore.hunt import Failure, batch_of
from harness.explore.journal import Journal
from harness.explore.mutate import Parent
from harness.explore.novelty import Change, Word, changes_among
from harness.explore.order import News, Order, obey, remembered
from harness.parallel.pool import run_local
from harness.scenario.model import Scenario

CONFIDENCE = 0.95
ORDER_S = 2.0  # so long a process searches by itself, about, before it hears what the others have seen


class SearchError(RuntimeError):
    """A process of the search died, or threw."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """When to stop: as soon as one of them is reached. Time and runs before an interruption count."""

    seconds: float | None = 60.0
    runs: int | None = None
    plateau: int | None = None  # so many runs without a new change of state, or milestone
    every: bool = False  # go on after a failure, for one of each kind


@dataclass(frozen=True, slots=True)
class Where:
    """Which processes search."""

    jobs: int | None = None  # at a time; None: one per core
    master: str | None = None  # of a Spark cluster; None: on this machine
    network: bool = False  # on the emulated network, in place of memory


@dataclass(slots=True)
class Tally:
    """What came of it so far."""

    batches: int = 0
    runs: int = 0
    seconds: float = 0.0
    busy_s: float = 0.0  # of processor time, in runs and judges
    judging_s: float = 0.0
    words: set[Word] = field(default_factory=set)
    newest: int = 0  # the last run with a change of state, or a milestone, that no run had before
    parents: list[Parent] = field(default_factory=list)
    milestones: dict[str, int] = field(default_factory=dict)  # with the run
    changes: Counter[Change] = field(default_factory=Counter)  # of states, and how often
    failures: list[tuple[Failure, int, float]] = field(default_factory=list)  # with runs and seconds until then
    ended: str = ""  # why

    @property
    def rate(self) -> float:
        """Runs per second."""
        return self.runs / self.seconds if self.seconds else 0.0

    @property
    def judging_share(self) -> float:
        """Of the time of runs."""
        return self.judging_s / self.busy_s if self.busy_s else 0.0

    @property
    def reached(self) -> int:
        """How many changes of states there were, each counted once."""
        return len(changes_among(self.words))

    @property
    def excluded(self) -> float:
        """A rate of failures that so many runs without any make unlikely: with 95 % confidence it is lower."""
        return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / self.runs) if self.runs else 1.0

    def add(self, news: News, seconds: float, every: bool) -> None:
        """Learn what a process tells, so many seconds after the beginning."""
        before, self.seconds = self.runs, seconds
        self.batches += news.batches
        self.runs += news.runs
        self.busy_s += news.busy_s
        self.judging_s += news.judging_s
        for run, parent, words in news.found:
            if words - self.words:  # nobody else was faster
                if not self.words.issuperset(changes_among(words)):
                    self.newest = max(self.newest, before + run)
                self.words |= words
                if parent is not None:
                    self.parents.append(parent)
        self.changes.update(dict(news.changes))
        for name, run in news.milestones:
            if name not in self.milestones:
                self.milestones[name] = before + run
                self.newest = max(self.newest, before + run)
        for failure in news.failures:
            if self._is_new(failure, every):
                self.failures.append((failure, before + failure.runs, seconds))

    def _is_new(self, failure: Failure, every: bool) -> bool:
        """The first; or the first that breaks a property which the earlier ones do not."""
        known = frozenset[str]().union(*(before.broken for before, _, _ in self.failures))
        return not self.failures or (every and bool(failure.broken - known))


Told = Callable[[Tally], None]
T = TypeVar("T")
R = TypeVar("R")
Runner = Callable[[Iterable[T]], Iterator[tuple[T, R | str]]]


def search(
    base: Scenario, seed: int, bounds: Bounds, where: Where, told: Told, journal: Journal | None = None
) -> Tally:
    """Search until it is time to stop. With a journal go on where it ends."""
    tally = Tally()
    for before, seconds in journal.news() if journal is not None else ():
        tally.add(before, seconds, bounds.every)
    if where.network and where.master is None:
        from harness.explore.emulated import get_ready

        get_ready(base)
    begin = time.monotonic() - tally.seconds
    ordered = tally.batches

    def orders() -> Iterator[Order]:
        nonlocal ordered
        while True:
            count = _batches(tally, bounds, ordered, batch_of(where.network))
            yield Order(
                base,
                seed,
                ordered,
                count,
                frozenset(tally.words),
                remembered(tally.parents),
                tuple(tally.milestones),
                where.network,
            )
            ordered += count

    with at_once(where, obey) as runner:
        tally.ended = _ended(tally, bounds)
        results: Iterable[tuple[Order, News | str]] = () if tally.ended else runner(orders())
        for _, news in results:
            if isinstance(news, str):
                raise SearchError(news)
            seconds = time.monotonic() - begin
            if journal is not None:
                journal.add(news, seconds)
            tally.add(news, seconds, bounds.every)
            tally.ended = _ended(tally, bounds)
            told(tally)
            if tally.ended:
                break
    return tally


def _batches(tally: Tally, bounds: Bounds, ordered: int, size: int) -> int:
    """As many as take a process so long, but not more than are wanted."""
    count = round(ORDER_S * tally.runs / tally.busy_s / size) if tally.busy_s else 1
    if bounds.runs is not None:
        count = min(count, -(-bounds.runs // size) - ordered)
    return max(1, count)


@contextlib.contextmanager
def at_once(
    where: Where, work: Callable[[T], R | str]
) -> Iterator[Callable[[Iterable[T]], Iterator[tuple[T, R | str]]]]:
    """What carries out tasks in as many processes as is said; a string in place of a result is why there is none."""
    with ExitStack() as stack:  # who stops listening stops the tasks, before the session ends
        if where.master is None:
            jobs = where.jobs or len(os.sched_getaffinity(0))
            yield lambda tasks: stack.enter_context(closing(run_local(tasks, jobs, partial(_niced, work), str)))
            return
        from harness.parallel.cluster import cluster_session, room, run_on

        session = stack.enter_context(cluster_session(where.master, "explore"))
        many = where.jobs or room(session)
        yield lambda tasks: stack.enter_context(closing(run_on(session, tasks, many, work, str)))


def _niced(work: Callable[[T], R], task: T) -> R:
    with contextlib.suppress(OSError):
        os.nice(5)
    return work(task)


def _ended(tally: Tally, bounds: Bounds) -> str:
    if tally.failures and not bounds.every:
        return "a failure"
    if bounds.runs is not None and tally.runs >= bounds.runs:
        return "enough runs"
    if bounds.seconds is not None and tally.seconds >= bounds.seconds:
        return "enough time"
    if bounds.plateau is not None and tally.runs - tally.newest >= bounds.plateau:
        return "a plateau"
    return ""
