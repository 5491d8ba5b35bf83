"""One emulated run for a benchmark: carried out, judged, and its evidence."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from captures.evidence import Event, Evidence
from captures.metrics.registry import measure
from harness import rundir
from harness.engines.outcome import EngineOptions
from harness.judges import Outcome
from harness.runs import Run, carry_out
from harness.scenario import Scenario, loads
from harness.verdict import Result, judge_run
from nodes.wire.note import NoteKind


@dataclass(frozen=True, slots=True)
class Emulated:
    """What came of a run."""

    result: Result
    wall_s: float

    @property
    def evidence(self) -> Evidence:
        return self.result.evidence

    def metric(self, name: str) -> float:
        """Its value in this run; a benchmark's runs have one."""
        value = measure(self.evidence, name)
        if value is None:
            raise AssertionError(f"the run {self.result.scenario.name} has no {name}")
        return value

    def events(self, kind: NoteKind) -> list[Event]:
        """The NOTEs of one kind."""
        return list(self.evidence.notes.events(kind))

    @property
    def violated(self) -> tuple[str, ...]:
        """The properties that do not hold, or of which the captures cannot tell."""
        return tuple(one.verdict.property for one in self.result.properties if one.verdict.outcome is not Outcome.PASS)


def carry_out_below(directory: Path, scenario: Scenario, options: EngineOptions | None = None) -> Run:
    """A run of it, in this directory and not yet judged."""
    where = rundir.create("bench", scenario.seed, directory / "run")
    return carry_out(scenario, where, options or EngineOptions(), lambda now: None)


def emulated(text: str, seed: int = 1) -> Emulated:
    """Run a scenario's text in the private kernel."""
    scenario = loads(text, seed=seed)
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        begin = time.perf_counter()
        run = carry_out_below(Path(directory), scenario)
        took = time.perf_counter() - begin
        return Emulated(judge_run(run), took)
