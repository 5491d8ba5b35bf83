"""Make a failing case small enough to be read: Hypothesis shrinks the choices of what is left of it.

Every choice is a number whose largest value leaves things as they are, and 0 is what a person would call simplest:
the fault is gone, the time is round, the option has its default. So the case itself is the largest of all choices,
which is where the shrinker starts. Lists are halved before single parts are tried, as delta debugging does.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.internal.conjecture import engine

from harness.explore.chance import from_the_seed_alone
from harness.explore.edit import possible, without_node
from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import PduFault
from harness.scenario.faults.impair import Change
from harness.scenario.faults.partition import Partition
from harness.scenario.model import ClockStart, Impair, Message, Scenario, Script
from topologies.impairments import Impairment, ImpairmentError

T = TypeVar("T")
_KEY = b"case"
_LARGEST, _FOR_EVER = 1_000, 1_000_000_000  # bytes of a choice; seconds
_ROUND_NS = (1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000)
_NUMBERS = ("skip", "count")
_TIMES = ("at_ns", "for_ns", "by_ns", "late_ns", "offset_ns", "step_ns", "read_delay_ns", "every_ns")

Broken = Callable[[Scenario], bool]


class Knobs:
    """Answers "which of these?" from choices, and remembers how many there were."""

    def __init__(self, draw: Callable[[int], int], values: bool = True) -> None:
        self._draw = draw
        self._values = values  # or only: what is there at all

    def one(self, candidates: Sequence[T]) -> T:
        """One of several values, the last of which is the one that is there now."""
        most = len(candidates) - 1
        return candidates[self._draw(most) if most and self._values else most]

    def left(self, parts: Sequence[T]) -> list[T]:
        """Those that stay: all or none of a half, of its halves, and so on."""
        if not parts:
            return []
        stay = self._draw(1)
        if len(parts) == 1:
            return list(parts) if stay else []
        half = len(parts) // 2
        kept = self.left(parts[:half]) + self.left(parts[half:])
        return kept if stay else []

    def some(self, parts: Sequence[T]) -> tuple[T, ...]:
        """Those that stay, but one at least."""
        if len(parts) == 1 or not self._values:
            return tuple(parts)
        return tuple(self.left(parts)) or tuple(parts[:1])

    def time(self, value_ns: int) -> int:
        """Rounder and rounder, then 0."""
        rounded = [round(value_ns / unit) * unit for unit in _ROUND_NS]
        return self.one(list(dict.fromkeys((0, *rounded, value_ns))))


def reduce(
    case: Scenario, broken: Broken, seconds: float, clock: Callable[[], float], seeds: Sequence[int] = ()
) -> Scenario:
    """The smallest case that is found in so many seconds of this clock, and still broken, with its own seed or one of
    these: whatever is left out changes what chance does to the rest."""
    known: dict[Scenario, Scenario | None] = {case: case}
    end, best = clock() + seconds, case

    def still(smaller: Scenario | None) -> bool:
        nonlocal best
        if clock() > end:
            raise _Over
        if smaller is None:
            return False
        if smaller not in known:
            tries = (replace(smaller, seed=seed) for seed in dict.fromkeys((smaller.seed, *seeds)))
            known[smaller] = next(filter(broken, tries), None)
        best = known[smaller] or best  # the shrinker asks about smaller and smaller ones only
        return known[smaller] is not None

    with contextlib.suppress(_Over):
        for values in (False, True):  # first what is there, then how it is: choices are dear
            before = None
            while best != before:
                before = best
                _shrink(best, still, values)
    return best


class _Smaller:
    """No dataclass, which Hypothesis would print with all that is in it: a case may be thousands of faults long."""

    def __init__(self, case: Scenario | None) -> None:
        self.case = case

    def __repr__(self) -> str:
        return "a smaller case"


class _Over(BaseException):
    """There is no time left. (No Exception: Hypothesis would take it for a failure.)"""


def stretch(case: Scenario, count: int, broken: Broken) -> Scenario:
    """Without those of its first faults, in the order of time, that come before or after what matters. It is found by
    halving, with as few runs as Hypothesis takes for a dozen single faults; what lies between is left to that."""

    def between(begin: int, end: int) -> Scenario:
        return replace(case, fault=(*case.fault[begin:end], *case.fault[count:]))

    end = bisect_left(range(count), True, key=lambda end: broken(between(0, end)))
    begins = range(1, end + 1)
    return between(bisect_left(begins, True, key=lambda begin: not broken(between(begin, end))), end)


def _shrink(case: Scenario, still: Callable[[Scenario | None], bool], values: bool) -> None:
    choices: list[int] = []

    def count(most: int) -> int:
        choices.append(most)
        return most

    assert simpler(case, Knobs(count, values)) == case, "the largest choices leave a case as it is"
    database = InMemoryExampleDatabase()
    # One choice too many: what the database has word for word, Hypothesis takes to have been shrunk before.
    database.save(_KEY, choices_to_bytes((*choices, 0)))

    @st.composite
    def smaller(draw: Callable[[st.SearchStrategy[int]], int]) -> _Smaller:
        return _Smaller(simpler(case, Knobs(lambda most: draw(st.integers(0, most)), values)))

    chosen = settings(
        phases=[Phase.reuse, Phase.shrink],
        database=database,
        deadline=None,
        max_examples=1_000_000,
        suppress_health_check=list(HealthCheck),
    )
    from_the_seed_alone()
    engine.BUFFER_SIZE = len(choices) * _LARGEST  # what chance did may be thousands of faults
    engine.MAX_SHRINKING_SECONDS = _FOR_EVER  # the caller says how long
    find(smaller(), lambda one: still(one.case), settings=chosen, database_key=_KEY)


def simpler(case: Scenario, knobs: Knobs) -> Scenario | None:
    """The case that the knobs leave; None if there is none such."""
    try:
        made = replace(
            case,
            fault=_left(case.fault, _fault, knobs),
            impair=_left(case.impair, _impair, knobs),
            clock=_left(case.clock, _clock, knobs),
            options=_options(case.options, knobs),
            seed=knobs.one(list(dict.fromkeys((1, case.seed)))),
        )
        if isinstance(case.workload, Script):
            made = replace(made, workload=Script(message=_left(case.workload.message, _message, knobs)))
        stay = knobs.left(case.nodes) or case.nodes[:1]
        for gone in reversed(case.nodes):
            if gone not in stay:
                made = without_node(made, gone)
        return possible(made)
    except (ValueError, ImpairmentError):  # together these values are none
        return None


def _left(parts: Sequence[T], simplify: Callable[[T, Knobs], T], knobs: Knobs) -> tuple[T, ...]:
    """Those that stay, made simpler. All are asked for, so that the other choices keep their places."""
    return tuple(knobs.left([simplify(one, knobs) for one in parts]))


def _fault(fault: Fault, knobs: Knobs) -> Fault:
    changes: dict[str, Any] = {}
    for one in fields(fault):
        value = getattr(fault, one.name)
        if one.name in _TIMES and value is not None:
            changes[one.name] = knobs.time(value)
        elif one.name in ("node", "towards", "from_", "to") and value:
            changes[one.name] = knobs.some(value)
        elif one.name == "more":
            changes[one.name] = tuple(knobs.left([knobs.time(after_ns) for after_ns in value]))
        elif one.name in _NUMBERS and isinstance(fault, PduFault) and value is not None:
            least = 1 if one.name == "count" else 0
            fewer = [number for k in (3, 2, 1) if least < (number := value >> k) < value]
            changes[one.name] = knobs.one(list(dict.fromkeys((least, *fewer, value))))
    if fault.when is not None and fault.when.count > 1:
        counts = (*range(1, min(fault.when.count, 4)), fault.when.count)
        changes["when"] = replace(fault.when, count=knobs.one(counts))
    if isinstance(fault, Partition) and fault.groups is not None:
        changes["groups"] = tuple(knobs.some(group) for group in fault.groups)
    if isinstance(fault, Change):
        changes["impairment"] = _impairment(fault.impairment, knobs)
    return replace(fault, **changes)


def _impair(impair: Impair, knobs: Knobs) -> Impair:
    return replace(impair, impairment=_impairment(impair.impairment, knobs))


def _impairment(impairment: Impairment, knobs: Knobs) -> Impairment:
    changes: dict[str, Any] = {}
    for name in ("loss", "duplicate", "reorder", "corrupt"):
        value = getattr(impairment, name)
        if value:
            changes[name] = knobs.one((0.0, value))
    for name in ("delay_ns", "jitter_ns"):
        if getattr(impairment, name):
            changes[name] = knobs.time(getattr(impairment, name))
    return replace(impairment, **changes)


def _clock(clock: ClockStart, knobs: Knobs) -> ClockStart:
    return replace(clock, offset_ns=knobs.time(clock.offset_ns))


def _message(message: Message, knobs: Knobs) -> Message:
    return replace(
        message,
        at_ns=knobs.time(message.at_ns),
        to=knobs.some(message.to) if message.to else (),
        data=knobs.one(list(dict.fromkeys(("", message.data)))),
    )


def _options(options: Any, knobs: Knobs) -> Any:
    changes = {}
    for one in fields(options):
        value = getattr(options, one.name)
        if one.default is not MISSING and value != one.default and not one.name.endswith("_ns"):
            changes[one.name] = knobs.one((one.default, value))
    return replace(options, **changes)
