"""The search of all processes together: how long, what was found so far, and what its silence is worth."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from typing import Any

from harness.explore.hunt import Failure, Hunt, hunt
from harness.explore.novelty import Word
from harness.scenario.model import Scenario

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Bounds:
    """When to stop."""

    seconds: float | None = 60.0
    runs: int | None = None
    plateau: int | None = None  # so many runs without anything new
    every: bool = False  # go on after a failure, for one of each kind
    jobs: int = 1


@dataclass(slots=True)
class Tally:
    """What came of it so far."""

    runs: int = 0
    seconds: float = 0.0
    judging_share: float = 0.0
    words: set[Word] = field(default_factory=set)
    newest: int = 0  # the run in which something was new the last time
    failures: list[tuple[Failure, int, float]] = field(default_factory=list)  # with runs and seconds until then
    ended: str = ""  # why

    @property
    def rate(self) -> float:
        """Runs per second."""
        return self.runs / self.seconds if self.seconds else 0.0

    @property
    def excluded(self) -> float:
        """A rate of failures that so many runs without any make unlikely: with 95 % confidence it is lower."""
        return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / self.runs) if self.runs else 1.0


@dataclass(frozen=True, slots=True)
class _News:
    """What one process tells after a batch."""

    runs: int
    seconds: float
    judging_s: float
    words: frozenset[Word]
    failures: tuple[Failure, ...]


def search(base: Scenario, seed: int, bounds: Bounds, told: Callable[[Tally], None]) -> Tally:
    """Search until it is time to stop."""
    context = multiprocessing.get_context("fork")
    news: Queue[_News | BaseException] = context.Queue()
    stop = context.Event()
    workers = [
        context.Process(target=_work, args=(base, seed * 1000 + number, news, stop), daemon=True)
        for number in range(bounds.jobs)
    ]
    tally, begin = Tally(), time.monotonic()
    busy_s = judging_s = 0.0
    for worker in workers:
        worker.start()
    try:
        while not tally.ended:
            one = news.get()
            if isinstance(one, BaseException):
                raise one
            busy_s, judging_s = busy_s + one.seconds, judging_s + one.judging_s
            tally.runs += one.runs
            tally.seconds = time.monotonic() - begin
            tally.judging_share = judging_s / busy_s if busy_s else 0.0
            if one.words - tally.words:
                tally.words |= one.words
                tally.newest = tally.runs
            for failure in one.failures:
                if _is_new(failure, tally, bounds):
                    tally.failures.append((failure, tally.runs, tally.seconds))
            tally.ended = _ended(tally, bounds)
            told(tally)
    finally:
        stop.set()
        for worker in workers:
            worker.terminate()
            worker.join()
    return tally


def _is_new(failure: Failure, tally: Tally, bounds: Bounds) -> bool:
    """The first; or the first that breaks a property which the earlier ones do not."""
    known = frozenset[str]().union(*(before.broken for before, _, _ in tally.failures))
    return not tally.failures or (bounds.every and bool(failure.broken - known))


def _ended(tally: Tally, bounds: Bounds) -> str:
    if tally.failures and not bounds.every:
        return "a failure"
    if bounds.runs is not None and tally.runs >= bounds.runs:
        return "enough runs"
    if bounds.seconds is not None and tally.seconds >= bounds.seconds:
        return "enough time"
    if bounds.plateau is not None and tally.runs - tally.newest >= bounds.plateau:
        return "nothing new any more"
    return ""


def _work(base: Scenario, seed: int, news: Any, stop: Any) -> None:
    """One process."""
    with contextlib.suppress(OSError):
        os.nice(5)
    before = Hunt(base, seed)

    def told(state: Hunt, failures: list[Failure]) -> bool:
        nonlocal before
        fresh = frozenset(word for word, run in state.words.items() if run > before.runs)
        news.put(
            _News(
                state.runs - before.runs,
                state.seconds - before.seconds,
                state.judging_s - before.judging_s,
                fresh,
                tuple(failures),
            )
        )
        before = Hunt(base, seed, state.runs, state.batches, state.seconds, state.judging_s)
        return not stop.is_set()

    try:
        hunt(base, seed, told)
    except BaseException as error:  # whoever waits for news must not wait for ever
        news.put(error)
