"""Runs as forks of a template: what one costs beside booting a guest, and whether a thousand of them are equal."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from harness.bench.row import Row
from harness.closure import ROOT
from harness.engines.engine import engine_of
from harness.engines.guest import boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineOptions
from harness.engines.template import new_template
from harness.engines.watch import Attended
from harness.exchange import Exchange, exchange
from harness.manifest import Findings
from harness.parallel.pool import cores, run_local
from harness.rundir import RunDir
from harness.scenario import Scenario, dump, load
from harness.scenario.find import find
from harness.scenario.program import take_along
from harness.shape import shape_of
from harness.sweep.task import Record, Task, get_ready, lost

Start = Callable[[Exchange], AbstractContextManager[Attended]]

_TURNS = 9
_FORKS = 1000
_PROGRAM = ROOT / "docs/own-node/sequencer"


@dataclass(frozen=True, slots=True)
class ForkCost(Row):
    """A run from its files to its answer, in turns; medians."""

    scenario: Annotated[str, "{}"]
    booted_s: Annotated[float, "{:.2f} s booted"]
    forked_s: Annotated[float, "{:.2f} s forked, {row.ratio:.3f} of it"]
    deep_s: Annotated[float, "{:.2f} s forked with all that it begins with, {row.deep_ratio:.3f} of it"]
    virtual_s: Annotated[float, "{row.virtual_per_wall:.1f} virtual seconds per wall second then"]

    @property
    def ratio(self) -> float:
        return self.forked_s / self.booted_s

    @property
    def deep_ratio(self) -> float:
        return self.deep_s / self.booted_s

    @property
    def virtual_per_wall(self) -> float:
        return self.virtual_s / self.deep_s


@dataclass(frozen=True, slots=True)
class Forks(Row):
    """Are they all the first one's equals?"""

    scenario: Annotated[str, "{}"]
    forks: Annotated[int, "{} forks"]
    different: Annotated[int, "{} different"]
    failed: Annotated[int, "{} failed"]
    each_s: Annotated[float, "{:.2f} s each"]


def fork_costs() -> Iterator[ForkCost]:
    """Short and middling."""
    kernel, options = private_kernel(), EngineOptions()
    for name in ("raw/quiet", "st/loss"):
        scenario = load(find(name))
        with (
            contextlib.closing(new_template(kernel, options)) as plain,
            contextlib.closing(plain.deepen(shape_of(scenario))) as deep,
        ):
            ways: list[Start] = [
                partial(boot, kernel, options=options),
                partial(plain.start, options=options),
                partial(deep.start, options=options),
            ]
            _timed(scenario, ways[-1])  # the templates' own time is nobody's
            turns = [[_timed(scenario, way) for way in ways] for _ in range(_TURNS)]
        booted_s, forked_s, deep_s = (
            statistics.median(took_s for took_s, _ in way) for way in zip(*turns, strict=True)
        )
        yield ForkCost(name, booted_s, forked_s, deep_s, turns[0][0][1])


def _forked(files: Exchange) -> AbstractContextManager[Attended]:
    return engine_of("virtual").start(files, EngineOptions())


def _timed(scenario: Scenario, start: Start) -> tuple[float, float]:
    """Wall seconds from the run's files to its answer, and how long it took in virtual time."""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        begin = time.perf_counter()
        findings = _carried_out(scenario, RunDir(Path(directory)), start)
        took_s = time.perf_counter() - begin
    return took_s, ((findings.ended_ns or 0) - (findings.t0_ns or 0)) / 1e9


def _carried_out(scenario: Scenario, where: RunDir, start: Start) -> Findings:
    where.captures.mkdir()
    where.logs.mkdir()
    where.scenario.write_text(dump(take_along(scenario, where.path)))
    with exchange(where, shape_of(scenario)) as files:
        with start(files) as guest:
            guest.wait(lambda now: None)
        answer = files.take()
    if answer.failed:
        raise RuntimeError(f"a run of the benchmark failed: {answer.failed}")
    return answer.findings


def bench_forks(scenarios: Sequence[str] = (), count: int = _FORKS) -> Iterator[Forks]:
    """Many forks of one template, as many at a time as there are cores: a routed multicast, every fault, and a program,
    if no scenarios are named. The first is one of a template for all runs, the others of one in which the network
    stands."""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        for what in scenarios or _usual(Path(directory)):
            scenario = load(find(what))
            begin = time.perf_counter()
            tasks = (Task(str(number), scenario) for number in range(count))
            records = [record for _, (record, _) in run_local(tasks, cores(), _captured, lost, get_ready)]
            found = [record["captured"] for record in records if "captured" in record]
            each_s = (time.perf_counter() - begin) / count
            different = sum(one != found[0] for one in found)
            yield Forks(scenario.name, count, different, count - len(found), each_s)


def _usual(directory: Path) -> Sequence[str]:
    own = Path(shutil.copy(f"{_PROGRAM}.toml", directory))
    subprocess.run(["cc", "-O2", "-o", own.with_suffix(""), f"{_PROGRAM}.c"], check=True)
    return ("raw/tree-multicast", "raw/everything", str(own))


def _captured(task: Task) -> tuple[Record, bytes]:
    """What a run captured, in few bytes."""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        where = RunDir(Path(directory))
        _carried_out(task.scenario, where, _forked)
        files = sorted(where.captures.iterdir())
        return {"captured": [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]}, b""
