"""One run of a sweep: from a scenario to a record. The same function runs in a process here or on an executor.

A record holds what sweeps tabulate, a few kilobytes: the verdict, all metrics, frames by capture and type. It has no
time and no path of the machine, so that equal runs give equal records.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from captures.metrics import METRICS
from harness import rundir
from harness.engines.engine import engine_of
from harness.engines.outcome import EngineError, EngineOptions, MachineLacks
from harness.judges import Outcome
from harness.runs import carry_out
from harness.scenario import Scenario, ScenarioError
from harness.shape import shape_of
from harness.verdict import Result, judge_run

Record = dict[str, Any]
Keep = Literal["nothing", "captures", "all"]


@dataclass(frozen=True, slots=True)
class Task:
    """What is handed to whoever carries out the run."""

    key: str  # the hash of all that determines it
    scenario: Scenario
    keep: Keep = "nothing"
    memory_mb: int = 2048


def fulfil(task: Task, scratch: Path | None = None) -> tuple[Record, bytes]:
    """Carry out the run and judge it: its record, and what is kept of its directory as a tar file."""
    with tempfile.TemporaryDirectory(prefix="tutti-run-", dir=scratch) as directory:
        try:
            where = rundir.create(task.scenario.name, task.scenario.seed, Path(directory) / "run")
            run = carry_out(task.scenario, where, EngineOptions(memory_mb=task.memory_mb), lambda now: None)
            record = record_of(judge_run(run))
        except (EngineError, MachineLacks, ScenarioError, rundir.RunDirError) as error:
            return failed(str(error).splitlines()[0]), b""
        except Exception as error:  # a run that fails is a row, whatever the reason
            return failed(f"{type(error).__name__}: {error}".splitlines()[0]), b""
        return record, packed(where.path, task.keep)


def get_ready(task: Task) -> None:
    """Make what its run shares with others, in a process from which theirs are forked. If that fails, so do the runs,
    which say why."""
    with contextlib.suppress(EngineError, MachineLacks, OSError):
        engine_of(task.scenario.engine).get_ready(EngineOptions(memory_mb=task.memory_mb), shape_of(task.scenario))


def failed(reason: str) -> Record:
    """The record of a run that was not carried out."""
    return {"outcome": "failed", "reason": reason}


def lost(reason: str) -> tuple[Record, bytes]:
    """What is left of a run whose process died."""
    return failed(reason), b""


def record_of(result: Result) -> Record:
    """What is tabulated of a run."""
    bad = [one for one in result.properties if one.outcome is Outcome.FAIL]
    measured = {name: metric.measure(result.evidence) for name, metric in METRICS.items()}
    return {
        "outcome": str(result.outcome.value),
        "reason": "; ".join([*_words(result), *([] if bad else result.evidence.holes)]),
        "violated": [one.verdict.property for one in bad]
        + [one.expect.metric for one in result.metrics if one.outcome is Outcome.FAIL],
        "properties": {one.verdict.property: str(one.verdict.outcome.value) for one in result.properties},
        "metrics": {name: value for name, value in sorted(measured.items()) if value is not None},
        "pdus": [dataclasses.astuple(one) for one in result.evidence.traffic],
    }


def _words(result: Result) -> list[str]:
    """What is not as expected."""
    properties = [
        f"{one.verdict.property}: {one.verdict.sentence}" for one in result.properties if one.outcome is Outcome.FAIL
    ]
    return properties + [
        f"{one.expect.metric} is {one.value:.6g}"
        for one in result.metrics
        if one.outcome is Outcome.FAIL and one.value is not None
    ]


def packed(run_dir: Path, keep: Keep) -> bytes:
    """The run directory, or only its captures, as a tar file; nothing where nothing is kept."""
    if keep == "nothing":
        return b""
    if keep == "captures":
        shutil.rmtree(run_dir / "logs", ignore_errors=True)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as archive:
        archive.add(run_dir, arcname=".")
    return stream.getvalue()


def key_of(identity: str, code: str, kernel: str) -> str:
    """The hash of everything that determines a run."""
    return hashlib.sha256(f"{identity} {code} {kernel}".encode()).hexdigest()[:16]
