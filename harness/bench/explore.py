"""The search in memory: how fast it is and what that goes into, and when it finds each rule that a paper prints wrong.

From the protocol's plain scenario with that one rule as printed: with faults, and with messages, loss and delays alone.
What HIM's tree hides is looked for without it, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Annotated

from harness.bench.row import Refused, Row
from harness.explore.base import base_of, searched
from harness.explore.found import shrunk, size_of
from harness.explore.hunt import Hunt, seldom_collect
from nodes.protocols import protocol as protocol_of

_CASES = 600  # of a search, whose time is taken
_CPU_S = 15.0  # for one rule, at most
_ALONE = "explore.most_faults=0"
# Where the tree hides nothing, with no fewer questions and reports than usual.
_ALSO = {"him": ("him.confirm=evidence", 'explore.options={adj=["ring"]}')}


@dataclass(frozen=True, slots=True)
class Speed(Row):
    """Of one core, everything included."""

    protocol: Annotated[str, "{}"]
    cases_per_s: Annotated[float, "{:.0f} cases/s"]
    machines: Annotated[float, "{:.0%} machines and network"]
    drawing: Annotated[float, "{:.0%} drawing"]
    judges: Annotated[float, "{:.0%} judges"]
    words: Annotated[int, "{} different things happened"]
    newest: Annotated[int, "{} of them for the first time in the last tenth of the cases"]


@dataclass(frozen=True, slots=True)
class Printed(Row):
    """A search for one rule as it is printed, and what was found."""

    settings: Annotated[tuple[str, ...], "{}"]
    found: Annotated[tuple[str, ...], "fails {}"]  # properties; none: not found
    runs: Annotated[int, "after {} runs"]
    seconds: Annotated[float, "{:.1f} s of processor time"]
    size: Annotated[str | None, "shrunk to {}"]


def bench_explore(
    *, protocol: str | None = None, seed: int = 1, explore: float = _CPU_S, only: Sequence[str] | None = None
) -> Iterator[Row]:
    """Of one protocol, or of all; for so many seconds each; of some switches alone."""
    names = searched()
    if protocol not in (None, *names):
        raise Refused(f"the search has a plain scenario of {', '.join(names)}")
    seldom_collect()
    chosen = names if protocol is None else [protocol]
    for name in () if only else chosen:
        yield _speed(name, seed)
    for name in chosen:
        for settings in _settings(name):
            if not only or any(word in settings[0] for word in only):
                yield _found(name, settings, seed, explore)
                yield _found(name, (*settings, _ALONE), seed, explore)


def _speed(name: str, seed: int) -> Speed:
    hunt = Hunt(base_of(name), seed)
    list(hunt.batch())  # what is needed is imported on the way
    runs, judging_s, busy_s, begin = hunt.runs, hunt.judging_s, hunt.seconds, time.process_time()
    while hunt.runs < _CASES:
        list(hunt.batch())
    spent_s = time.process_time() - begin
    judging = (hunt.judging_s - judging_s) / spent_s
    running = (hunt.seconds - busy_s) / spent_s - judging
    newest = sum(run > 0.9 * hunt.runs for run in hunt.words.values())
    rate = (hunt.runs - runs) / spent_s
    return Speed(name, rate, running, 1 - running - judging, judging, len(hunt.words), newest)


def _settings(name: str) -> Iterator[tuple[str, ...]]:
    """Each switch alone; then the same where nothing hides it, and the repaired rules there."""
    switches = [f"{name}.{switch}=true" for switch in _switches(protocol_of(name).options)]
    yield from ((one,) for one in switches)
    if name in _ALSO:
        yield from ((one, *_ALSO[name]) for one in switches)
        yield _ALSO[name]


def _switches(options: type) -> Iterator[str]:
    """The rules that a protocol's options can turn to the printed ones."""
    for one in fields(options):
        if one.name.startswith("printed_"):
            yield one.name
        elif one.name == "printed":
            yield from (f"printed.{switch.name}" for switch in fields(options().printed))


def _found(name: str, settings: tuple[str, ...], seed: int, cpu_s: float) -> Printed:
    base = base_of(name, settings)
    hunt, begin = Hunt(base, seed), time.process_time()
    while (spent_s := time.process_time() - begin) < cpu_s:
        for failure in hunt.batch():
            spent_s = time.process_time() - begin
            assert base.explore is not None
            alone = _ALONE in settings  # what is found so is small
            size = None if alone else size_of(shrunk(failure, base.explore, failure.runs, spent_s).case)
            return Printed(settings, tuple(sorted(failure.broken)), failure.runs, spent_s, size)
    return Printed(settings, (), hunt.runs, spent_s, None)
