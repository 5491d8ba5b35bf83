"""One process's search: draw a case, carry it out, look whether it is new, judge it; mutate what was new."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.explore.chance import drawn
from harness.explore.choices import Draw
from harness.explore.draw import cases
from harness.explore.edit import is_mild
from harness.explore.judging import Judged, clock_of, judge_of
from harness.explore.milestones import reached
from harness.explore.mutate import Parent, mutated
from harness.explore.novelty import Change, Word
from harness.explore.stage import START_NS
from harness.scenario.model import Scenario
from nodes.protocols import protocol

BATCH = 40  # cases that are drawn before one looks whether it is time to stop
PARENTS = 200  # of the cases that showed something new, so many are mutated
_GARBAGE = 100_000  # objects: looking for it as often as Python does takes a seventh of the time


def seldom_collect() -> None:
    """For this process: runs are short, and what they leave can wait."""
    gc.freeze()
    gc.set_threshold(_GARBAGE, 20, 100)


def batch_of(network: bool) -> int:
    """How many cases are drawn at once: on the network one takes about as long as forty in memory."""
    return BATCH // 4 if network else BATCH


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that fails, as it was drawn, and what for."""

    case: Scenario
    broken: frozenset[str]
    runs: int  # of this process, this one included


@dataclass(slots=True)
class Hunt:
    """What was done so far."""

    base: Scenario
    seed: int
    network: bool = False  # on the emulated one, in place of memory
    runs: int = 0
    batches: int = 0
    seconds: float = 0.0  # spent in runs and judges, not in drawing
    judging_s: float = 0.0
    words: dict[Word, int] = field(default_factory=dict)  # what ever happened, and in which run first
    parents: list[Parent] = field(default_factory=list)
    milestones: dict[str, int] = field(default_factory=dict)  # which were come to, and in which run first
    changes: Counter[Change] = field(default_factory=Counter)  # of states, in all runs

    def batch(self) -> Iterator[Failure]:
        """Draw and carry out some cases; those that fail."""
        space = self.base.explore
        assert space is not None
        fresh, parents = cases(self.base, space), tuple(self.parents[-PARENTS:])
        if not is_mild(self.base, space):  # a mild case that is changed would withstand nothing
            parents = tuple(one for one in parents if not is_mild(one.case, space))
        changed = mutated(parents, space) if parents else fresh
        failures: list[Failure] = []
        self.batches += 1

        def made(draw: Draw) -> Scenario:
            return draw.one((fresh, fresh, fresh, changed))(draw)

        for case in drawn(made, self.seed * 1_000_003 + self.batches, batch_of(self.network)):
            found = self.visit(case)
            if found is not None:
                failures.append(found)
        yield from failures

    def visit(self, case: Scenario) -> Failure | None:
        """Carry out one case."""
        clock = clock_of(self.network)
        begin = clock()
        space = self.base.explore
        assert space is not None
        result = judge_of(self.network)(case, space)
        self.runs += 1
        self.seconds += clock() - begin
        self.judging_s += result.judging_s
        self._learn(case, result)
        self._look(result)
        return Failure(case, result.broken, self.runs) if result.against else None

    def _learn(self, case: Scenario, result: Judged) -> None:
        new = {word: at_ns for word, at_ns in result.novelty.words.items() if word not in self.words}
        if new:
            self.words.update(dict.fromkeys(new, self.runs))
            moments = tuple(sorted({at_ns - START_NS for at_ns in new.values() if at_ns >= START_NS}))
            self.parents.append(Parent(case, moments))

    def _look(self, result: Judged) -> None:
        wanted = [one for one in protocol(self.base.protocol).milestones if one.name not in self.milestones]
        self.changes += result.novelty.changes
        self.milestones.update((one.name, self.runs) for one in reached(wanted, result.novelty.tracks))
