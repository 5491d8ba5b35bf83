"""Do the tests see it when a protocol is changed? Small changes of its sources, each against its tests in memory.

A mutant is killed by the first test that fails with it. The tests that reach its line are tried, the fastest first;
each may take a multiple of the CPU time that it takes without a mutant. What no test sees is shown with its change.
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

from harness.bench.mutants.operators import Mutant, mutants
from harness.bench.mutants.trial import BUILD, Known, apart, explored, killer, measured
from harness.bench.row import Refused, Row
from harness.closure import ROOT

PROTOCOLS = ("st", "to", "delta", "him", "cmd")
_LIBRARIES = ("hypothesis.strategies", "numpy", "pyarrow.compute")  # what a trial need not import


@dataclass(frozen=True, slots=True)
class Survivor(Row):
    """What no test sees."""

    name: Annotated[str, "SURVIVED {}"]
    tests: Annotated[int | None, "{} tests reach it"]
    diff: Annotated[str, "\n{}"]


@dataclass(frozen=True, slots=True)
class Killed(Row):
    """What was seen; shown where single mutants were asked for."""

    name: Annotated[str, "killed {}"]
    by: Annotated[str, "by {}"]


@dataclass(frozen=True, slots=True)
class Share(Row):
    """Of one protocol, or of all."""

    protocol: Annotated[str, "{}"]
    mutants: Annotated[int, "{} mutants"]
    killed: Annotated[int, "{} killed"]
    timed_out: Annotated[int, "{} timed out"]
    survived: Annotated[int, "{} survived: {row.seen:.0%} seen"]

    @property
    def seen(self) -> float:
        return 1 - self.survived / self.mutants if self.mutants else 0.0


def bench_mutants(
    *,
    protocol: str | None = None,
    sample: int = 20,
    seed: int = 1,
    jobs: int = 1,
    only: Iterable[str] = (),
    tests: Iterable[str] = (),
    explore: float | None = None,
) -> Iterator[Row]:
    """A random sample of all mutants, or those that are named; with `explore`, a search of so many seconds of CPU time
    in place of the tests."""
    for library in _LIBRARIES:
        importlib.import_module(library)
    chosen = drawn([protocol] if protocol else PROTOCOLS, sample, seed, set(only))
    protocols = dict.fromkeys(mutant.protocol for mutant in chosen)
    reach = {name: known(name, tests) for name in protocols} if explore is None else {}

    def tried(mutant: Mutant) -> tuple[Mutant, int | None, str | None]:
        found = reaching(mutant, reach[mutant.protocol]) if explore is None else []
        if explore is not None:
            by = apart(explored, mutant, seed, explore)
        else:
            by = apart(killer, mutant, found) if found else ""
        sys.stderr.write(f"{mutant.name}: {_told(by)}\n")
        return mutant, None if explore is not None else len(found), by

    ends: dict[str, list[str | None]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for mutant, tried_by, by in pool.map(tried, chosen):
            ends.setdefault(mutant.protocol, []).append(by)
            if by == "":
                yield Survivor(mutant.name, tried_by, mutant.diff(source(mutant.path)))
            elif only:
                yield Killed(mutant.name, by or "its time")
    for name, those in ends.items():
        yield _share(name, those)
    if len(ends) > 1:
        yield _share("all", [one for those in ends.values() for one in those])


def _told(by: str | None) -> str:
    return "timed out" if by is None else f"killed by {by}" if by else "SURVIVED"


def _share(name: str, ends: list[str | None]) -> Share:
    survived, timed_out = ends.count(""), ends.count(None)
    return Share(name, len(ends), len(ends) - survived - timed_out, timed_out, survived)


def source(path: str) -> bytes:
    return (ROOT / path).read_bytes()


def drawn(protocols: Iterable[str], sample: int, seed: int, only: set[str]) -> list[Mutant]:
    """Those that are named, or so many of all, drawn with that seed."""
    if not set(protocols) <= set(PROTOCOLS):
        raise Refused(f"mutants are made of {', '.join(PROTOCOLS)}")
    everything = [
        mutant
        for name in ({one.split("/")[1] for one in only if one.count("/") > 1} if only else protocols)
        for path in sorted((ROOT / "nodes" / name).glob("*.py"))
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


def known(protocol: str, files: Iterable[str] = ()) -> list[Known]:
    """All tests, or those of these files, that reach anything of a protocol."""
    place = f"nodes/{protocol}/"
    found = [test for path in test_files(protocol) if not files or path in files for test in _known_of(path)]
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
