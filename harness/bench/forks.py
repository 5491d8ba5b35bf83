"""Runs as forks of a template: is each of a thousand equal to the first?"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from harness.bench.row import Row
from harness.closure import ROOT
from harness.engines.engine import engine_of
from harness.engines.outcome import EngineOptions
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

_FORKS = 1000
_PROGRAM = ROOT / "docs/own-node/sequencer"


@dataclass(frozen=True, slots=True)
class Forks(Row):
    """Are they all the first one's equals?"""

    scenario: Annotated[str, "{}"]
    forks: Annotated[int, "{} forks"]
    different: Annotated[int, "{} different"]
    failed: Annotated[int, "{} failed"]
    each_s: Annotated[float, "{:.2f} s each"]


def forked(files: Exchange) -> AbstractContextManager[Attended]:
    """A run of the best template that there is."""
    return engine_of("virtual").start(files, EngineOptions())


def carried_out(scenario: Scenario, where: RunDir, start: Start) -> Findings:
    """One run, not judged."""
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
        carried_out(task.scenario, where, forked)
        files = sorted(where.captures.iterdir())
        return {"captured": [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]}, b""
