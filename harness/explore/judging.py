"""What is wrong with a case: carried out in memory, judged by the same judges as a run on the network."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from captures.evidence import Frames
from harness.explore.growth import GROWS, growth, is_looked_at
from harness.explore.invariants import INVARIANTS, watch_of
from harness.explore.memory import Endless, Run
from harness.explore.novelty import Novelty
from harness.judges import Outcome, Verdict, judge
from harness.scenario.explore import Explore
from harness.scenario.faults.impair import Change
from harness.scenario.model import Scenario
from nodes.protocols import protocol

_PLAIN = Explore()
LONGER = (2, 5, 11)  # a protocol that beats may not have settled yet; where PDUs are lost for ever it may have to again
ENDLESS, DIED = "endless", "died"  # what no judge sees: the nodes never rest; one of them died by itself
INSIDE = INVARIANTS | {GROWS}  # what nobody sees who does not look into the machines


@dataclass(frozen=True, slots=True)
class Judged:
    """A run, and what was found against it."""

    novelty: Novelty  # what happened, and when first
    against: tuple[Verdict, ...]
    judging_s: float = 0.0

    @property
    def broken(self) -> frozenset[str]:
        """The names of what was violated."""
        return frozenset(verdict.property for verdict in self.against)


def aim_of(broken: frozenset[str]) -> frozenset[str]:
    """For what a smaller case must still fail: for what others can see, too, if there is any such thing."""
    return broken - INSIDE or broken


Judge = Callable[[Scenario, Explore], Judged]


def judge_of(network: bool) -> Judge:
    """Who carries out a case, and judges it."""
    if not network:
        return judged
    from harness.explore.emulated import judged_there  # what it needs is large

    return judged_there


def clock_of(network: bool) -> Callable[[], float]:
    """What measures a case: a guest's time is not that of this process, which others keep from running."""
    return time.monotonic if network else time.process_time


def judged(case: Scenario, space: Explore = _PLAIN) -> Judged:
    """Carry out a case, and judge what its protocol promises, what the space adds, and what the case itself expects."""
    found = judged_run(Run(case), space)
    if found.against or not is_looked_at(case):
        return found
    begin = time.process_time()
    try:
        against = growth(case)
    except Exception as error:
        against = (_died(error),)
    return replace(found, against=against, judging_s=found.judging_s + time.process_time() - begin)


def judged_run(run: Run, space: Explore = _PLAIN) -> Judged:
    """The same for a run that has not begun, at which somebody looks."""
    case, watching = run.scenario, watch_of(run)
    try:
        run.all()
    except Exception as error:
        return Judged(run.novelty, (_died(error),))
    inside = against_of(watching.verdicts(), case, space) if watching is not None else ()
    begin = time.process_time()
    against = against_of(verdicts(run, space.properties), case, space)
    for times in LONGER if run.spec.beats(case.options) else ():
        if against:  # did it only need more time, or was it caught when somebody had just been stopped?
            longer = replace(case, settle_ns=times * case.settle_ns)
            against = against_of(verdicts(Run(longer).all(), space.properties), case, space)
    return Judged(run.novelty, (*against, *inside), time.process_time() - begin)


def _died(error: Exception) -> Verdict:
    """The nodes never come to rest, or one of them dies of an input; the last line of ours says where."""
    if isinstance(error, Endless):
        return Verdict(ENDLESS, Outcome.FAIL, str(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__}: {error} ({frame.filename.rpartition('/')[2]}:{frame.lineno})"
    return Verdict(DIED, Outcome.FAIL, where)


def against_of(found: Iterable[Verdict], case: Scenario, space: Explore) -> tuple[Verdict, ...]:
    """Those of the verdicts that count against a case with these faults; and a mistake of a judge."""
    kinds = {fault.KIND for fault in case.fault} | {Change.KIND for _ in case.impair}
    void = {name for kind, names in space.void if kind in kinds for name in names}
    failed = (one for one in found if one.outcome is Outcome.FAIL or one.is_mistake())
    return tuple(one for one in failed if one.property not in void)


def wanted(case: Scenario, more: Iterable[str] = ()) -> list[str]:
    """The properties for which a case is judged."""
    names = dict.fromkeys((*protocol(case.protocol).properties, *more))
    names.update((expect.property, None) for expect in case.expect if expect.property is not None)
    return list(names)


def verdicts(run: Run, more: Iterable[str] = ()) -> list[Verdict]:
    """The verdicts about a run."""
    case = run.scenario
    capture = run.network.capture
    frames = Frames() if capture is None else capture.frames()
    evidence = replace(run.world.history(), protocol=case.protocol, options=case.options, frames=frames)
    return judge(evidence, wanted(case, more))
