"""Do the tests see it when a protocol is changed? Small changes of its sources, each against its tests in memory.

A mutant is killed by the first test that fails with it. The tests that reach its line are tried, the fastest first;
each may take a multiple of the CPU time that it takes without a mutant. What no test sees is shown with its change.

With a search it is asked whether `tutti explore` sees more than people think of: what the tests with schedules written
by hand let pass, and what changes a golden history, is looked for.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from harness.bench.mutants.golden import histories
from harness.bench.mutants.journal import Journal
from harness.bench.mutants.operators import Mutant, mutants
from harness.bench.mutants.trial import BUILD, Known, apart, broken, explored, killer, measured
from harness.bench.row import Refused, Row
from harness.closure import ROOT, hash_of

PROTOCOLS = ("st", "to", "delta", "him", "cmd")
_LIBRARIES = ("hypothesis.strategies", "numpy", "pyarrow.compute")  # what a trial need not import
_TIMED_OUT = "its time"
_TESTED = ("nodes.protocols", "harness.world")  # on which, beside the tests, it depends what they see ...
_SEARCHED = ("harness.explore.order",)  # ... and what the search sees
# Schedules that no person wrote.
_DRAWN = ("histories", "random", "adversity", "invariants", "states", "tables", "evaluation")
_FIGURES = ("evaluation.py", "options.py")  # formulas and what may be asked for: nothing that a run could break


@dataclass(frozen=True, slots=True)
class Survivor(Row):
    """What is not seen."""

    name: Annotated[str, "SURVIVED {}"]
    tests: Annotated[int, "{} tests reach it"]
    diff: Annotated[str, "\n{}"]


@dataclass(frozen=True, slots=True)
class Found(Row):
    """What no test sees, but the search."""

    name: Annotated[str, "FOUND {}"]
    by: Annotated[str, "by {}"]


@dataclass(frozen=True, slots=True)
class Same(Row):
    """What no test sees, and what is not looked for."""

    name: Annotated[str, "SAME {}: every golden history is as it was"]
    diff: Annotated[str, "\n{}"]


@dataclass(frozen=True, slots=True)
class Killed(Row):
    """What a test saw; shown where single mutants were asked for."""

    name: Annotated[str, "killed {}"]
    by: Annotated[str, "by {}"]


@dataclass(frozen=True, slots=True)
class Share(Row):
    """Of one protocol, or of all."""

    protocol: Annotated[str, "{}"]
    mutants: Annotated[int, "{} mutants"]
    killed: Annotated[int, "{} killed"]
    timed_out: Annotated[int, "{} timed out"]
    same: Annotated[int | None, "{} the same"]
    found: Annotated[int | None, "{} found by the search"]
    survived: Annotated[int, "{} survived: {row.seen:.0%} seen"]

    @property
    def seen(self) -> float:
        return 1 - self.survived / self.mutants if self.mutants else 0.0


@dataclass(frozen=True, slots=True)
class End:
    """What became of a mutant."""

    tests: int  # that reach it
    killed: str  # by which of them; empty: by none
    same: bool  # every golden history is as it was: then there is no search
    found: str  # what the search says; empty: nothing, or it was not asked

    @property
    def survived(self) -> bool:
        """Nobody saw it."""
        return not self.killed and not self.same and not self.found


def bench_mutants(
    *,
    protocol: str | None = None,
    sample: int = 20,
    seed: int = 1,
    jobs: int = 1,
    only: Iterable[str] = (),
    tests: Iterable[str] = (),
    explore: float | None = None,
    journal: str | None = None,
) -> Iterator[Row]:
    """A random sample of all mutants, or those that are named. With `explore`: of those that a run can show, each that
    no test with a schedule of its own sees is looked for by a search of so many seconds of CPU time."""
    for library in _LIBRARIES:
        importlib.import_module(library)
    leave_out = () if explore is None else _FIGURES
    chosen = drawn([protocol] if protocol else PROTOCOLS, sample, seed, set(only), leave_out)
    protocols = dict.fromkeys(mutant.protocol for mutant in chosen)
    reach = {name: known(name, tests, () if explore is None else _DRAWN) for name in protocols}
    golden = {name: [] if explore is None else histories(name) for name in protocols}
    kept = Journal(Path(journal) if journal else None)
    tested, searched = f"{hash_of(_TESTED)} {sorted(tests)} {explore is not None}", f"{hash_of(_SEARCHED)} {seed}"

    def tried(mutant: Mutant) -> tuple[Mutant, End]:
        killed = kept.get(f"{mutant.name} tests {tested}")
        found = reaching(mutant, reach[mutant.protocol])
        if killed is None:
            killed = apart(killer, mutant, found) if found else ""
            kept.add(f"{mutant.name} tests {tested}", killed := _TIMED_OUT if killed is None else killed)
        wanted = explore is not None and not killed
        same = wanted and not changed(mutant)
        end = End(len(found), killed, same, looked_for(mutant) if wanted and not same else "")
        sys.stderr.write(f"{mutant.name}: {end}\n")
        return mutant, end

    def changed(mutant: Mutant) -> bool:
        known = kept.get(f"{mutant.name} histories {tested}")
        if known is None:
            kept.add(f"{mutant.name} histories {tested}", known := apart(killer, mutant, golden[mutant.protocol]) != "")
        return bool(known)

    def looked_for(mutant: Mutant) -> str:
        assert explore is not None
        seconds, found = kept.get(f"{mutant.name} search {searched}") or (0.0, "")
        if not found and seconds < explore:
            found, case = apart(explored, mutant, seed, explore) or ("", "")
            if case and (without := apart(broken, case)):
                found += f"; without it {without}, too, which is a mistake of ours"
            kept.add(f"{mutant.name} search {searched}", (explore, found))
        return str(found)

    ends: dict[str, list[End]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for mutant, end in pool.map(tried, chosen):
            ends.setdefault(mutant.protocol, []).append(end)
            if end.survived:
                yield Survivor(mutant.name, end.tests, mutant.diff(source(mutant.path)))
            elif end.same:
                yield Same(mutant.name, mutant.diff(source(mutant.path)))
            elif end.found:
                yield Found(mutant.name, end.found)
            elif only:
                yield Killed(mutant.name, end.killed)
    for name, those in ends.items():
        yield _share(name, those, explore)
    if len(ends) > 1:
        yield _share("all", [one for those in ends.values() for one in those], explore)


def _share(name: str, ends: list[End], explore: float | None) -> Share:
    timed_out = sum(end.killed == _TIMED_OUT for end in ends)
    found, survived = sum(bool(end.found) for end in ends), sum(end.survived for end in ends)
    same = sum(end.same for end in ends)
    killed = len(ends) - timed_out - same - found - survived
    if explore is None:
        return Share(name, len(ends), killed, timed_out, None, None, survived)
    return Share(name, len(ends), killed, timed_out, same, found, survived)


def source(path: str) -> bytes:
    return (ROOT / path).read_bytes()


def drawn(
    protocols: Iterable[str], sample: int, seed: int, only: set[str], leave_out: Iterable[str] = ()
) -> list[Mutant]:
    """Those that are named, or so many of all (but for some files), drawn with that seed."""
    if not set(protocols) <= set(PROTOCOLS):
        raise Refused(f"mutants are made of {', '.join(PROTOCOLS)}")
    everything = [
        mutant
        for name in ({one.split("/")[1] for one in only if one.count("/") > 1} if only else protocols)
        for path in sorted((ROOT / "nodes" / name).glob("*.py"))
        if only or path.name not in leave_out
        for mutant in mutants(str(path.relative_to(ROOT)), path.read_bytes())
    ]
    if only:
        named = [mutant for mutant in everything if mutant.name in only]
        unknown = only - {mutant.name for mutant in named}
        if unknown:
            raise Refused(f"there is no mutant {min(unknown)}")
        return named
    return random.Random(seed).sample(everything, min(sample, len(everything)))


def reaching(mutant: Mutant, tests: Iterable[Known]) -> list[Known]:
    """The tests that reach the mutant's line, the fastest first; of a line that an import carries out, all."""
    found = sorted(tests, key=lambda test: test.cpu_s)
    exact = [test for test in found if mutant.line in test.lines.get(mutant.path, ())]
    return exact if exact or mutant.in_function else found


def known(protocol: str, files: Iterable[str] = (), leave_out: Iterable[str] = ()) -> list[Known]:
    """All tests, those of these files, or those of files with none of some words in their names, that reach anything
    of a protocol."""
    place = f"nodes/{protocol}/"
    paths = [path for path in test_files(protocol) if not files or path in files]
    if not files:
        paths = [path for path in paths if not any(word in path for word in leave_out)]
    found = [test for path in paths for test in _known_of(path)]
    return [test for test in found if any(path.startswith(place) for path in test.lines)]


def test_files(protocol: str) -> list[str]:
    """Those of its name, and those that have no protocol in their name."""
    room = [*sorted((ROOT / "tests" / "machines").glob("test_*.py")), ROOT / "tests" / "explore" / "test_memory.py"]
    return [str(path.relative_to(ROOT)) for path in room if _protocol_of(path) in (protocol, None)]


def _protocol_of(path: Path) -> str | None:
    name = path.stem.split("_")[1]
    return name if (ROOT / "nodes" / name).is_dir() else None


def _known_of(path: str) -> list[Known]:
    """Measured, if it was not measured before with the same sources."""
    of = _protocol_of(Path(path))
    packages = [f"nodes/{name}" for name in ([of] if of else PROTOCOLS)]
    digest = hashlib.sha256()
    for where in ("harness/world.py", "nodes/*.py", "tests/helpers/*.py", path, *(f"{one}/*.py" for one in packages)):
        for one in sorted(ROOT.glob(where)):
            digest.update(one.read_bytes())
    kept = BUILD / f"{Path(path).stem}-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        sys.stderr.write(f"{path}: which lines its tests reach ...\n")
        BUILD.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(apart(measured, path, packages)))
    return [Known(**one) for one in json.loads(kept.read_text())]
