"""One emulated run for a benchmark: carried out, judged, and its history."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from captures.history import Event, History
from captures.metrics.registry import measure, of_kind
from harness import rundir
from harness.check import Result, checked
from harness.engines.outcome import EngineOptions
from harness.judges import Outcome
from harness.rundir import RunDir
from harness.runner import run
from harness.scenario import Scenario, loads
from nodes.wire.note import NoteKind


@dataclass(frozen=True, slots=True)
class Emulated:
    """What came of a run."""

    result: Result
    wall_s: float

    @property
    def history(self) -> History:
        return self.result.history

    def metric(self, name: str) -> float:
        """Its value in this run; a benchmark's runs have one."""
        value = measure(self.history, name)
        if value is None:
            raise AssertionError(f"the run {self.result.scenario.name} has no {name}")
        return value

    def events(self, kind: NoteKind) -> list[Event]:
        """The NOTEs of one kind."""
        return list(of_kind(self.history, kind))

    @property
    def violated(self) -> tuple[str, ...]:
        """The properties that do not hold, or of which the captures cannot tell."""
        return tuple(one.verdict.property for one in self.result.properties if one.verdict.outcome is not Outcome.PASS)


def complaint(violated: Sequence[str]) -> str:
    """The end of a row: what does not hold, if anything."""
    return f"; VIOLATED {', '.join(violated)}" if violated else ""


def carried_out(scenario: Scenario, directory: Path) -> RunDir:
    """The directory of a run of it, made below this one and not yet judged."""
    where = rundir.create("bench", scenario.seed, directory / "run")
    run(scenario, where, EngineOptions(), lambda now: None)
    return where


def emulated(text: str, seed: int = 1) -> Emulated:
    """Run a scenario's text in the private kernel."""
    scenario = loads(text, seed=seed)
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        begin = time.perf_counter()
        where = carried_out(scenario, Path(directory))
        took = time.perf_counter() - begin
        return Emulated(checked(where.path), took)
