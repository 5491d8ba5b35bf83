"""From a failure to a scenario that a person can read and everybody can repeat: shrunk, told, written, confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.engines.outcome import EngineError, EngineOptions, NodeDied
from harness.explore.brief import brief
from harness.explore.explicit import explicit
from harness.explore.hunt import Failure
from harness.explore.judging import DIED, ENDLESS, INSIDE, aim_of, clock_of, judge_of
from harness.explore.reduce import reduce, stretch
from harness.judges import Outcome
from harness.runs import carry_out, fresh
from harness.scenario import load
from harness.scenario.explore import Explore
from harness.scenario.model import Expect, Scenario, Script
from harness.verdict import judge_run

SHRINK_S = 120.0
_SEEDS = (1, 2, 3)  # of chance, with which a smaller case may fail, too


@dataclass(frozen=True, slots=True)
class Found:
    """One failure, shrunk."""

    case: Scenario
    properties: tuple[str, ...]
    sentence: str  # of the judge
    runs: int  # until it was found
    seconds: float
    shrink_s: float
    drawn: Scenario  # as it was found
    network: bool = False  # and not in memory


@dataclass(frozen=True, slots=True)
class Result:
    """What was made of a failure, to be told."""

    properties: Sequence[str]
    sentence: str
    run: int  # in which it was found
    seconds: float
    shrink_seconds: float
    size: str
    faults: int
    nodes: int
    file: str
    network: str | None  # how the emulated network differs ("": not at all; None: nobody looked)


def result_of(found: Found, path: Path, differs: str | None) -> Result:
    """That of a failure, its file, and what the emulated network said."""
    case = found.case
    return Result(
        properties=found.properties,
        sentence=found.sentence,
        run=found.runs,
        seconds=found.seconds,
        shrink_seconds=found.shrink_s,
        size=size_of(case),
        faults=len(case.fault),
        nodes=len(case.nodes),
        file=str(path),
        network=differs,
    )


def size_of(case: Scenario) -> str:
    """What there is in it."""
    parts = zip(_counts(case), ("fault", "message", "node"), strict=True)
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in parts)


def _counts(case: Scenario) -> tuple[int, int, int]:
    messages = len(case.workload.message) if isinstance(case.workload, Script) else 0
    return len(case.fault), messages, len(case.nodes)


def shrunk(failure: Failure, space: Explore, runs: int, seconds: float, network: bool = False) -> Found:
    """The smaller of two: what does not matter whatever chance does is left out before chance is made explicit, which
    spares a lot, or after it, which keeps a case that takes certain losses."""
    clock, judged = clock_of(network), judge_of(network)
    begin, seconds_at_most = clock(), SHRINK_S * (3 if network else 1)
    fewest, aim = min((*space.nodes, len(failure.case.nodes))), aim_of(failure.broken)

    def broken(case: Scenario) -> bool:
        return len(case.nodes) >= fewest and bool(judged(case, space).broken & aim)

    def smaller(case: Scenario, end: float, seeds: Sequence[int] = ()) -> Scenario:
        return reduce(case, broken, end - clock(), clock, seeds)

    def without_chance(case: Scenario, end: float) -> Scenario:
        certain = explicit(case)
        by_chance = len(certain.fault) - len(case.fault)
        return stretch(certain, by_chance, lambda one: clock() < end and broken(one)) if broken(certain) else case

    case, end = failure.case, begin + seconds_at_most
    if network or failure.broken & {ENDLESS, DIED}:
        case = smaller(case, end)
    else:
        half = begin + seconds_at_most / 2
        early = smaller(case, begin + seconds_at_most / 6, _SEEDS)
        found = smaller(without_chance(early, half), half), smaller(without_chance(case, end), end)
        case = min(found, key=lambda one: sum(_counts(one)))
    if case.workload == Script(message=()):
        case = replace(case, workload=None)
    against = judged(case, space).against
    names = tuple(verdict.property for verdict in against)
    expect = tuple(Expect(property=name) for name in names if name not in {ENDLESS, DIED} | INSIDE)
    case = replace(case, name=f"{case.protocol}-{'-'.join(names)}"[:90], expect=expect, explore=None)
    sentence = "; ".join(f"{verdict.property}: {verdict.sentence}" for verdict in against)
    return Found(case, names, sentence, runs, seconds, clock() - begin, failure.case, network)


def write(found: Found, folder: Path) -> Path:
    """The scenario file, with a comment on how it was found."""
    folder.mkdir(parents=True, exist_ok=True)
    number, path = 1, folder / f"{found.case.name}.toml"
    while path.exists():
        number += 1
        path = folder / f"{found.case.name}-{number}.toml"
    lines = (
        f"Found by `tutti explore` in run {found.runs}, after {found.seconds:.0f} s, and shrunk",
        f"in {found.shrink_s:.0f} s from {size_of(found.drawn)} to {size_of(found.case)}.",
        f"{'On the emulated network' if found.network else 'In memory'} the judges said: {found.sentence}",
    )
    path.write_text("".join(f"# {line}\n" for line in lines) + "\n" + brief(found.case))
    load(path)  # what a person could not run must not be written
    return path


def confirm(path: Path, properties: Sequence[str], out: Path) -> str | None:
    """Carry the file out on the emulated network: "" if it fails there as it does in memory, else what differs; nothing
    if nobody can tell, since it is about what happens inside a process."""
    if INSIDE & set(properties):
        return None
    scenario = load(path)
    try:
        run = carry_out(scenario, fresh(scenario, str(out)), EngineOptions(), lambda now: None)
    except EngineError as error:
        expected = DIED if isinstance(error, NodeDied) else ENDLESS
        return "" if expected in properties else f"it could not be carried out: {error}"
    if DIED in properties:
        return "no node dies there"
    said = {one.verdict.property: one.verdict for one in judge_run(run).properties}
    differing = [name for name in properties if name in said and said[name].outcome is not Outcome.FAIL]
    return "; ".join(f"{name} is {said[name].outcome} there: {said[name].sentence}" for name in differing)
