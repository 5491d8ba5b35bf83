"""Every schedule with at most so many faults of single PDUs: each lost, held up or doubled, each sender dying at it.

A schedule is carried out, and whatever comes to a port, and whatever a node puts out, is a place at which one more
fault may strike. What happens before a place does not depend on what happens there. So each schedule is extended behind
its last fault only: every set of faults is made once, in the order in which they strike, and none is made whose PDU
does not exist there. Left out is what cannot differ from a schedule that is not:

* what comes to a node that is down and does not come back: nobody takes it;
* death between two PDUs that a node puts out in one go, without a word in between: no fault strikes there, since a
  moment is noticed when all of them have left.

With a protocol that beats for ever, the places are those until the run counts as quiet.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from captures.evidence import Event
from harness.explore.frame import Carried
from harness.explore.hunt import Failure
from harness.explore.judging import judged_run
from harness.explore.memory import Run
from harness.explore.search import SearchError, Where, at_once
from harness.scenario.explore import Explore
from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import Delay, Drop, Duplicate
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.restart import Restart
from harness.scenario.faults.when import When
from harness.scenario.model import Message, Scenario, Script
from harness.scenario.pdus import PduMatch
from harness.world import Witness
from nodes.machine import Input, Machine, Send
from nodes.wire.fault import FaultNote

CHUNK = 40  # schedules that a process carries out before one hears of it
KINDS = ("drop", "delay", "duplicate", "crash")  # of [explore] faults, those that strike at a PDU


@dataclass(frozen=True, slots=True)
class Schedule:
    """Some faults, in the order in which they strike; `place` is that of the last, counted over the run."""

    faults: tuple[Fault, ...] = ()
    place: int = -1


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What one process is asked to do."""

    base: Scenario
    schedules: tuple[Schedule, ...]
    extend: bool

    def __str__(self) -> str:
        return f"{self.base.name}: {len(self.schedules)} schedules"


@dataclass(frozen=True, slots=True)
class _Carried:
    """What came of one schedule."""

    failure: Failure | None
    extended: tuple[Schedule, ...]
    nobody: int  # places left out since nobody was left to take it


@dataclass(slots=True)
class Systematic:
    """How far it is."""

    most: int  # faults
    kinds: tuple[str, ...]
    counts: list[int] = field(default_factory=list)  # schedules with 0, 1, ... faults, as far as they are known
    done: list[int] = field(default_factory=list)  # of them carried out
    nobody: int = 0
    seconds: float = 0.0
    failures: list[tuple[Failure, int, float]] = field(default_factory=list)
    ended: str = ""  # why before the end

    @property
    def runs(self) -> int:
        """All that were carried out."""
        return sum(self.done)

    @property
    def is_whole(self) -> bool:
        """Were all schedules carried out?"""
        return len(self.counts) > self.most and self.done == self.counts


def small(base: Scenario) -> Scenario:
    """The scenario; one that leaves its messages open gets one of each node to all, a thousandth of the time apart."""
    assert base.explore is not None
    if base.workload is not None:
        return base
    apart_ns = max(1, base.explore.within_ns // 1000)
    messages = [Message(at_ns=number * apart_ns, node=node, data="x") for number, node in enumerate(base.nodes)]
    return replace(base, workload=Script(message=tuple(messages)))


def systematic(
    base: Scenario, most: int, where: Where, seconds: float | None, every: bool, told: Callable[[Systematic], None]
) -> Systematic:
    """Carry out all schedules with at most so many faults, those with fewer first."""
    assert base.explore is not None
    state = Systematic(most, tuple(kind for kind in KINDS if kind in base.explore.faults))
    begin, level = time.monotonic(), [Schedule()]
    with at_once(where, _carry_out) as runner:
        for depth in range(most + 1):
            state.counts.append(len(level))
            state.done.append(0)
            following: list[Schedule] = []
            for chunk, found in runner(_chunks(base, level, depth < most)):
                if isinstance(found, str):
                    raise SearchError(found)
                state.seconds = time.monotonic() - begin
                state.done[-1] += len(chunk.schedules)
                for one in found:
                    following += one.extended
                    state.nobody += one.nobody
                    if one.failure is not None and (every or not state.failures):
                        state.failures.append((one.failure, state.runs, state.seconds))
                told(state)
                if state.failures and not every:
                    state.ended = "a failure"
                    return state
                if seconds is not None and state.seconds >= seconds:
                    state.ended = "enough time"
                    return state
            level = following
    return state


def _chunks(base: Scenario, level: Sequence[Schedule], extend: bool) -> Iterator[_Chunk]:
    for first in range(0, len(level), CHUNK):
        yield _Chunk(base, tuple(level[first : first + CHUNK]), extend)


def _carry_out(chunk: _Chunk) -> list[_Carried] | str:
    try:
        return [_carried(chunk.base, schedule, chunk.extend) for schedule in chunk.schedules]
    except Exception:  # a mistake of ours, which whoever asked must tell
        return traceback.format_exc()


def _carried(base: Scenario, schedule: Schedule, extend: bool) -> _Carried:
    space = base.explore
    assert space is not None
    case = replace(base, explore=None, fault=(*base.fault, *schedule.faults))
    run = Run(case)
    places = _Places(run, space)
    against = judged_run(run, space).against
    failure = Failure(case, frozenset(one.property for one in against), 1) if against else None
    if not extend:
        return _Carried(failure, (), 0)
    behind = list(places.found())[schedule.place + 1 :]
    extended = [
        Schedule((*schedule.faults, *more), number)
        for number, choices in enumerate(behind, schedule.place + 1)
        for more in choices
    ]
    return _Carried(failure, tuple(extended), places.nobody)


Choices = Sequence[tuple[Fault, ...]]  # what may strike at one place


class _Places(Witness):
    """Looks at a run for where a fault might strike, in the order of things."""

    def __init__(self, run: Run, space: Explore) -> None:
        self._run, self._space = run, space
        self._by_ns = max(1, space.within_ns // 10)
        self._found: list[Choices] = []
        self._offered: Counter[tuple[str, int, int]] = Counter()
        self._put_out: Counter[tuple[str, int]] = Counter()
        self._dying: tuple[int, int, Choices] | None = None  # who puts out something in one go, since when
        self.nobody = 0
        run.world.witnesses = [self]
        run.network.offer = self._offer

    def found(self) -> Iterator[Choices]:
        """All places."""
        self._all_out()
        yield from self._found

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        """A machine took an input: what it put out before is out."""
        self._all_out()

    def noted(self, event: Event) -> None:
        """A NOTE stands between two PDUs."""
        self._all_out()

    def struck(self, fault: FaultNote) -> None:
        """A fault strikes behind what has been put out, but one of a single PDU in the middle of it."""
        if not fault.of_one_pdu:
            self._all_out()

    def sent(self, number: int, send: Send) -> None:
        """A node puts out a PDU, the first of some or one more."""
        title, now = send.pdu.TYPE.title, self._run.world.now
        before = self._put_out[title, number]
        self._put_out[title, number] += len(self._run.network.copies(send))
        if self._dying is None or self._dying[:2] != (number, now):
            self._all_out()
            self._dying = number, now, self._deaths(title, number, before + 1)

    def _offer(self, receiver: int, frame: Carried) -> None:
        """A PDU comes to the port towards a node."""
        if self._dying is not None and self._dying[:2] != (frame.src, self._run.world.now):
            self._all_out()
        key = (frame.pdu.TYPE.title, frame.src, receiver)
        skip = self._offered[key]
        self._offered[key] += 1
        if self._is_gone(receiver):
            self.nobody += 1
            self._found.append(())
            return
        kinds, by_ns = self._space.faults, self._by_ns
        what = {"pdu": PduMatch(types=key[:1], src=key[1:2]), "towards": (f"n{receiver}",), "skip": skip}
        faults: list[tuple[Fault, ...]] = []
        if "drop" in kinds:
            faults.append((Drop(**what),))  # type: ignore[arg-type]
        if "delay" in kinds:
            faults.append((Delay(**what, by_ns=by_ns),))  # type: ignore[arg-type]
        if "duplicate" in kinds:
            faults.append((Duplicate(**what, by_ns=by_ns),))  # type: ignore[arg-type]
        self._found.append(faults)

    def _is_gone(self, receiver: int) -> bool:
        """Does it not run, and will not?"""
        name = f"n{receiver}"
        return not self._run.world.runs(receiver) and not any(
            isinstance(fault, Restart) and name in fault.node for fault in self._run.scenario.fault
        )

    def _deaths(self, title: str, number: int, count: int) -> Choices:
        if "crash" not in self._space.faults:
            return ()
        when = When(pdu=PduMatch(types=(title,), src=(number,)), count=count)
        crash = Crash(when=when, node=(f"n{number}",))
        return ((crash,), (crash, Restart(when=when, at_ns=self._by_ns, node=(f"n{number}",))))

    def _all_out(self) -> None:
        if self._dying is not None:
            self._found.append(self._dying[2])
            self._dying = None
