"""What a run costs: booted, forked, or forked with all that it begins with; in a sweep too."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated

from harness.bench.cpu import CpuClock
from harness.bench.forks import Start, carried_out, forked
from harness.bench.row import Row
from harness.engines.guest import boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineOptions
from harness.engines.share import parents_of_all
from harness.engines.template import new_template
from harness.parallel.pool import cores, run_local
from harness.rundir import RunDir
from harness.scenario import Scenario, load
from harness.scenario.find import find
from harness.shape import shape_of
from harness.sweep.task import Record, Task, get_ready, lost

_TURNS = 9
_LOOKS, _LOOK_S = 3, 0.01  # at memory: so many runs, so often


@dataclass(frozen=True, slots=True)
class RunCost(Row):
    """From a run's files to its answer, in turns; medians."""

    scenario: Annotated[str, "{}"]
    way: Annotated[str, "{}"]
    wall_s: Annotated[float, "{:.2f} s ({row.of_booted:.3f} of booted)"]
    cpu_s: Annotated[float, "{:.2f} s of CPU ({row.cpu_of_booted:.3f})"]
    memory_mb: Annotated[float, "{:.0f} MB of guest memory"]
    virtual_s: Annotated[float, "{row.virtual_per_wall:.1f} virtual seconds per wall second"]
    booted_wall_s: float
    booted_cpu_s: float

    @property
    def of_booted(self) -> float:
        return self.wall_s / self.booted_wall_s

    @property
    def cpu_of_booted(self) -> float:
        return self.cpu_s / self.booted_cpu_s

    @property
    def virtual_per_wall(self) -> float:
        return self.virtual_s / self.wall_s


@dataclass(frozen=True, slots=True)
class SweepCost(Row):
    """Runs that differ in their seed, as many at a time as there are cores."""

    scenario: Annotated[str, "{}"]
    seeds: Annotated[int, "{} seeds"]
    forked_s: Annotated[float, "{:.1f} s forked"]
    booted_s: Annotated[float, "{row.ratio:.2f} of {:.1f} s booted"]

    @property
    def ratio(self) -> float:
        return self.forked_s / self.booted_s


def run_costs() -> Iterator[RunCost]:
    """Short and middling."""
    kernel, options = private_kernel(), EngineOptions()
    for name in ("raw/quiet", "st/loss"):
        scenario = load(find(name))
        with (
            contextlib.closing(CpuClock()) as cpu,
            contextlib.closing(new_template(kernel, options)) as plain,
            contextlib.closing(plain.deepen(shape_of(scenario))) as deep,
        ):
            ways: dict[str, Start] = {
                "booted": partial(boot, kernel, options=options),
                "forked": partial(plain.start, options=options),
                "forked with all that it begins with": partial(deep.start, options=options),
            }
            memory_mb = {way: max(_memory_mb(scenario, start) for _ in range(_LOOKS)) for way, start in ways.items()}
            turns = [[_cost(scenario, start, cpu) for start in ways.values()] for _ in range(_TURNS)]
        of_way = [[median(one) for one in zip(*way, strict=True)] for way in zip(*turns, strict=True)]
        for way, (wall_s, cpu_s, virtual_s) in zip(ways, of_way, strict=True):
            yield RunCost(name, way, wall_s, cpu_s, memory_mb[way], virtual_s, *of_way[0][:2])


def _cost(scenario: Scenario, start: Start, cpu: CpuClock) -> tuple[float, float, float]:
    """Wall and CPU seconds from the run's files to its answer, and how long it took in virtual time."""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        begin, before = time.perf_counter(), cpu.seconds()
        findings = carried_out(scenario, RunDir(Path(directory)), start)
        took = time.perf_counter() - begin, cpu.seconds() - before
    return *took, ((findings.ended_ns or 0) - (findings.t0_ns or 0)) / 1e9


def _memory_mb(scenario: Scenario, start: Start) -> float:
    """How much memory the guest of a run has of its own at the most."""
    others, most, over = set(_guests()), 0, threading.Event()

    def look() -> None:
        nonlocal most
        while not over.wait(_LOOK_S):
            most = max([most, *(size for guest, size in _guests().items() if guest not in others)])

    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        looking = threading.Thread(target=look)
        looking.start()
        carried_out(scenario, RunDir(Path(directory)), start)
        over.set()
        looking.join()
    return most / 1e6


def _guests() -> dict[int, int]:
    """The memory files of all guests that come of this process, and how many bytes are in each."""
    parents, sizes = dict(parents_of_all()), {}
    for process in parents:
        above = process
        while above in parents and above != os.getpid():
            above = parents[above]
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{process}/fd").iterdir() if above == os.getpid() else ():
                if link.readlink().name.startswith("memfd:guest-memory"):
                    found = link.stat()
                    sizes[found.st_ino] = found.st_blocks * 512
    return sizes


def sweep_cost(seeds: int, name: str = "st/loss") -> SweepCost:
    """By forks and by booting."""
    tasks = [Task(str(seed), load(find(name), seed=seed)) for seed in range(1, seeds + 1)]
    begin = time.perf_counter()
    _all(run_local(tasks, cores(), _by_fork, lost, get_ready), seeds)
    middle = time.perf_counter()
    _all(run_local(tasks, cores(), _by_booting, lost), seeds)
    return SweepCost(name, seeds, middle - begin, time.perf_counter() - middle)


def _all(results: Iterator[tuple[Task, tuple[Record, bytes]]], count: int) -> None:
    done: Sequence[Record] = [record for _, (record, _) in results if "done" in record]
    if len(done) < count:
        raise RuntimeError(f"{count - len(done)} runs of the benchmark failed")


def _by_fork(task: Task) -> tuple[Record, bytes]:
    return _done(task, forked)


def _by_booting(task: Task) -> tuple[Record, bytes]:
    return _done(task, partial(boot, private_kernel(), options=EngineOptions()))


def _done(task: Task, start: Start) -> tuple[Record, bytes]:
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        carried_out(task.scenario, RunDir(Path(directory)), start)
    return {"done": True}, b""
