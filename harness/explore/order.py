"""What one process is asked to do in a search, and what it tells afterwards. Both can be pickled."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.explore.hunt import PARENTS, Failure, Hunt, seldom_collect
from harness.explore.mutate import Parent
from harness.explore.novelty import Change, Word
from harness.scenario.model import Scenario

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Order:
    """Some batches, with what all processes together have seen before."""

    base: Scenario
    seed: int
    batch: int  # the first of them, counted from 0 over the whole search
    batches: int
    words: frozenset[Word]
    parents: tuple[Parent, ...]
    milestones: tuple[str, ...]
    network: bool  # on the emulated one, in place of memory

    def __str__(self) -> str:
        return f"{self.base.name}: {self.batches} batches from {self.batch}"


@dataclass(frozen=True, slots=True)
class News:
    """What came of an order."""

    batches: int
    runs: int
    busy_s: float  # in runs and judges, of processor time
    judging_s: float
    # Cases that showed something new (None: it is not remembered any more), in which of the runs, and what.
    found: tuple[tuple[int, Parent | None, frozenset[Word]], ...]
    milestones: tuple[tuple[str, int], ...]  # come to for the first time, and in which of these runs
    changes: tuple[tuple[Change, int], ...]  # of states, and how often
    failures: tuple[Failure, ...]


def obey(order: Order) -> News | str:
    """Do it; the reason, if that cannot be done. It ends early with a batch in which something fails."""
    seldom_collect()
    try:
        return _obeyed(order)
    except Exception:  # a mistake of ours, which whoever asked must tell
        return traceback.format_exc()


def _obeyed(order: Order) -> News:
    known = dict.fromkeys(order.milestones, 0)
    hunt = Hunt(
        order.base,
        order.seed,
        order.network,
        batches=order.batch,
        words=dict.fromkeys(order.words, 0),
        parents=list(order.parents),
        milestones=known.copy(),
    )
    failures: list[Failure] = []
    while not failures and hunt.batches < order.batch + order.batches:
        failures += hunt.batch()
    words: dict[int, set[Word]] = {}
    for word, run in hunt.words.items():
        if run:
            words.setdefault(run, set()).add(word)
    fresh = hunt.parents[len(order.parents) :]  # one for each run with new words, in the order of the runs
    return News(
        hunt.batches - order.batch,
        hunt.runs,
        hunt.seconds,
        hunt.judging_s,
        tuple((run, parent, frozenset(words[run])) for parent, run in zip(fresh, sorted(words), strict=True)),
        tuple((name, run) for name, run in hunt.milestones.items() if name not in known),
        tuple(sorted(hunt.changes.items())),
        tuple(failures),
    )


def remembered(parents: Sequence[T]) -> tuple[T, ...]:
    """Those of which an order knows."""
    return tuple(parents[-PARENTS:])
