"""A search from beginning to end: it goes on where it was interrupted, and what fails is shrunk, written, confirmed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.explore.corpus import folder_of
from harness.explore.found import Result, confirm, result_of, shrunk, write
from harness.explore.hunt import Failure
from harness.explore.journal import Journal
from harness.explore.search import Bounds, Tally, Where, search
from harness.explore.systematic import Systematic, small, systematic
from harness.explore.told import progress, systematic_progress
from harness.scenario.model import Scenario
from harness.terminal import ProgressLine


@dataclass(frozen=True, slots=True)
class Afterwards:
    """What becomes of what is found."""

    out: str | None  # where it goes, with the state of the search; None: to a place of its own, without
    keep: bool  # into the corpus
    confirm: bool  # on the emulated network
    network: bool = False  # it was found there, and is made smaller there


def explore(
    base: Scenario, seed: int, bounds: Bounds, where: Where, afterwards: Afterwards
) -> tuple[Tally, list[Result]]:
    """Search; then make of each failure what a person can read and repeat."""
    out = Path(afterwards.out or f"build/explore/{base.name}")
    line = ProgressLine(base.name)
    with contextlib.ExitStack() as stack:
        journal = None
        if afterwards.out is not None:
            journal = stack.enter_context(contextlib.closing(Journal(out, base, seed, where.network)))
            stack.enter_context(_told_when_interrupted(out, line))
            if journal.is_outdated:
                sys.stderr.write(f"{out}: the code has changed since, so the search begins anew\n")
        tally = search(base, seed, bounds, where, lambda now: line.show(f"{base.name}: {progress(now)}"), journal)
        line.clear()
        results = [] if journal is None else journal.results()
        for failure, runs, seconds in tally.failures[len(results) :]:
            result = _made(base, failure, runs, seconds, out, afterwards, line)
            if journal is not None:
                journal.add_result(result)
            results.append(result)
    return tally, results


@contextlib.contextmanager
def _told_when_interrupted(out: Path, line: ProgressLine) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        line.clear()
        sys.stderr.write(f"all that was seen is in {out}: the same command goes on from there\n")
        raise


def explore_all(
    base: Scenario, most: int, bounds: Bounds, where: Where, afterwards: Afterwards
) -> tuple[Systematic, list[Result]]:
    """Carry out every schedule with so many faults; make the same of each failure."""
    base = small(base)
    out = Path(afterwards.out or f"build/explore/{base.name}")
    line = ProgressLine(base.name)

    def told(now: Systematic) -> None:
        line.show(f"{base.name}: {systematic_progress(now)}")

    state = systematic(base, most, where, bounds.seconds, bounds.every, told)
    line.clear()
    return state, [_made(base, *failure, out, afterwards, line) for failure in state.failures]


def _made(
    base: Scenario, failure: Failure, runs: int, seconds: float, out: Path, afterwards: Afterwards, line: ProgressLine
) -> Result:
    assert base.explore is not None
    with line.during("shrinking"):
        found = shrunk(failure, base.explore, runs, seconds, afterwards.network)
    path = write(found, folder_of(base.protocol) if afterwards.keep else out)
    differs = None
    if afterwards.confirm:
        with line.during("confirming on the emulated network"):
            differs = confirm(path, found.properties, out / f"{path.stem}-run")
    return result_of(found, path, differs)
