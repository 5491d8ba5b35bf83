"""Do cases in memory come to what they come to on the emulated network? Cases as the search draws them, on both.

A search confirms what fails on the network; what passes in memory, though it should not, it never sees. Chance is
written down first, so that the network draws nothing. Not all cases end equally: in memory sending takes no time, so
what differs by microseconds may come first here and second there, and who beats has said more or less before the start.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from typing import Annotated

from captures.evidence import Event
from harness.bench.row import Refused, Row
from harness.explore.base import base_of, searched
from harness.explore.chance import drawn
from harness.explore.draw import cases
from harness.explore.emulated import asked, carried_out, get_ready
from harness.explore.explicit import explicit
from harness.explore.hunt import BATCH
from harness.explore.judging import against_of, verdicts
from harness.explore.memory import Run
from harness.judges import Verdict
from harness.scenario import dump
from harness.scenario.explore import Explore
from harness.scenario.model import Scenario
from harness.verdict import judge_run
from nodes.wire.note import NoteKind

_CASES = 40


@dataclass(frozen=True, slots=True)
class Different(Row):
    """A case that did not end the same way."""

    protocol: Annotated[str, "{}"]
    faults: Annotated[tuple[str, ...], "with {}"]
    broken: Annotated[tuple[str, ...], "broken on one level: {}"]
    nodes: Annotated[tuple[str, ...], "with other deliveries: {}"]
    file: Annotated[str, "{}"]


@dataclass(frozen=True, slots=True)
class Levels(Row):
    """Of one protocol."""

    protocol: Annotated[str, "{}"]
    cases: Annotated[int, "{} cases on both levels"]
    broken: Annotated[int, "{} not judged the same"]
    delivered: Annotated[int, "{} with other deliveries"]


@dataclass(frozen=True, slots=True)
class End:
    """Of one case on one level."""

    broken: frozenset[str]
    delivered: dict[int, list[tuple[int, int]]]  # node -> submissions, each of an origin


def bench_levels(*, protocol: str | None = None, count: int = _CASES, seed: int = 1) -> Iterator[Row]:
    """Of one protocol, or of all; what differs is kept in files."""
    names = searched()
    if protocol not in (None, *names):
        raise Refused(f"the search has a plain scenario of {', '.join(names)}")
    kept = Path(tempfile.mkdtemp(prefix="tutti-levels-"))
    for name in names if protocol is None else [protocol]:
        base = base_of(name)
        get_ready(base)
        tried = broken = delivered = 0
        for case in _some(base, seed, count):
            assert base.explore is not None
            here, there = in_memory(case, base.explore), on_the_network(case, base.explore)
            tried += 1
            broken += here.broken != there.broken
            delivered += here.delivered != there.delivered
            if here != there:
                file = kept / f"{name}-{seed}-{tried}.toml"
                file.write_text(dump(case))
                nodes = here.delivered.keys() | there.delivered.keys()
                others = [f"n{n}" for n in sorted(nodes) if here.delivered.get(n) != there.delivered.get(n)]
                faults = tuple(sorted({fault.KIND for fault in case.fault}))
                yield Different(name, faults, tuple(sorted(here.broken ^ there.broken)), tuple(others), str(file))
        yield Levels(name, tried, broken, delivered)


def _some(base: Scenario, seed: int, count: int) -> Iterator[Scenario]:
    assert base.explore is not None
    draw, left = cases(base, base.explore), count
    for batch in numbers():
        for case in drawn(draw, seed * 1_000_003 + batch, min(BATCH, left)):
            yield asked(explicit(case), base.explore)
            left -= 1
        if left <= 0:
            return


def in_memory(case: Scenario, space: Explore) -> End:
    """Carry it out, and judge what it expects."""
    run = Run(case).all()
    return _end(verdicts(run), run.world.events, case, space)


def on_the_network(case: Scenario, space: Explore) -> End:
    """The same there, from its captures."""
    with tempfile.TemporaryDirectory(prefix="tutti-levels-") as directory:
        result = judge_run(carried_out(case, directory))
        return _end([one.verdict for one in result.properties], result.evidence.notes, case, space)


def _end(found: Iterable[Verdict], events: Iterable[Event], case: Scenario, space: Explore) -> End:
    """What was broken, and which submission of whom each node delivered, in order."""
    known = sorted(events, key=lambda event: event.time_ns)
    submission = {
        (event.about, event.seq): event.values[0] for event in known if event.kind is NoteKind.SENT and event.values
    }
    delivered: dict[int, list[tuple[int, int]]] = {}
    for event in known:
        number = submission.get((event.about, event.seq))  # none: a beat
        if event.kind is NoteKind.DELIVERED and number is not None:
            delivered.setdefault(event.node, []).append((event.about, number))
    return End(frozenset(one.property for one in against_of(found, case, space)), delivered)
