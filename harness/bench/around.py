"""What `tutti run` takes on this side of the guest: starting, loading, judging, the report.

The guest is at work between the last thing that is written before it is started (scenario.toml) and the first that is
written after its end (manifest.json); the rest of the command's time is ours. It is told against what Python needs to
import the two libraries under our columns, since both suffer alike on a busy machine; the best turn of each counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

from harness.bench.row import Row
from harness.closure import ROOT
from harness.rundir import RunDir

_TURNS = 5


@dataclass(frozen=True, slots=True)
class AroundTheGuest(Row):
    """One command, from the shell's point of view."""

    scenario: Annotated[str, "tutti run {} around the guest"]
    before_s: Annotated[float, "{:.2f} s before it"]
    after_s: Annotated[float, "{:.2f} s after it"]
    guest_s: Annotated[float, "{row.of_guest:.2f} of the guest's own {:.2f} s"]
    libraries_s: Annotated[float, "{row.of_libraries:.2f} of the {:.2f} s of importing numpy and pyarrow"]

    @property
    def of_guest(self) -> float:
        return (self.before_s + self.after_s) / self.guest_s

    @property
    def of_libraries(self) -> float:
        return (self.before_s + self.after_s) / self.libraries_s


@dataclass(frozen=True, slots=True)
class FromTheShell(Row):
    """Whole commands, in turns; medians."""

    scenario: Annotated[str, "tutti run {} from the shell"]
    warm_s: Annotated[float, "{:.2f} s with tutti warm"]
    cold_s: Annotated[float, "{row.of_cold:.2f} of the {:.2f} s without it"]

    @property
    def of_cold(self) -> float:
        return self.warm_s / self.cold_s


def around_the_guest(scenario: str = "raw/quiet") -> AroundTheGuest:
    """The best of some turns."""
    turns = [_turn(scenario) for _ in range(_TURNS)]
    before_s, after_s, guest_s, _ = min(turns, key=lambda turn: turn[0] + turn[1])
    return AroundTheGuest(scenario, before_s, after_s, guest_s, min(turn[3] for turn in turns))


def from_the_shell(scenario: str = "st/loss") -> FromTheShell:
    """A template that was kept warm before is not kept any more afterwards."""
    warm, cold = [], []
    for _ in range(_TURNS):
        _python("-P", "-m", "harness", "warm", "--stop")
        cold.append(_command_s(scenario))
        _python("-P", "-m", "harness", "warm")
        for _ in range(2):  # the first makes the template, the second the deep one
            _command_s(scenario)
        warm.append(_command_s(scenario))
    _python("-P", "-m", "harness", "warm", "--stop")
    return FromTheShell(scenario, median(warm), median(cold))


def _command_s(scenario: str) -> float:
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        begin = time.perf_counter()
        _python("-P", "-m", "harness", "run", scenario, "--out", f"{directory}/run")
        return time.perf_counter() - begin


def _turn(scenario: str) -> tuple[float, float, float, float]:
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        where = RunDir(Path(directory) / "run")
        begin = time.time()
        _python("-P", "-m", "harness", "run", scenario, "--out", str(where.path))
        end = time.time()
        started, ended = (path.stat().st_mtime for path in (where.scenario, where.manifest))
    begin_libraries = time.perf_counter()
    _python("-c", "import numpy, pyarrow")
    return started - begin, end - ended, ended - started, time.perf_counter() - begin_libraries


def _python(*words: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
