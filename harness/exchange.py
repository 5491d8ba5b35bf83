"""What an engine on this machine and the agent in its kernel pass to each other: files, since they share nothing else.

Handed over    .guest/shape     what is to stand before the run begins
               scenario.toml    what is to be carried out, resolved
               .guest/moment    when the run is to be branched; empty if it is not
               .guest/change    in a branch of it: what is different from there on; empty if nothing is
Comes back     captures/        the record
               logs/agent.txt   the agent's own words, and those of the nodes
               logs/progress    how far the run's clock is, for who waits
               .guest/answer    what was found; it is there when the run is over, and then it is whole

All lie in the run directory, which the agent is given under whatever path its kernel has it. `.guest` is there as long
as the run is under way.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.manifest import Findings
from harness.rundir import RunDir
from harness.shape import Shape
from harness.typed import as_json, from_json


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent has to say when it is through."""

    findings: Findings
    failed: str = ""  # why the run could not be carried out as the scenario says
    died: bool = False  # because a node ended by itself


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in a branch from its moment on, beside what its scenario says."""

    seed: int | None = None  # of the network's chance


@dataclass(frozen=True, slots=True)
class Exchange:
    """The files of one run that is under way."""

    run: RunDir

    @property
    def directory(self) -> Path:
        """For what is gone when the run is over."""
        return self.run.path / ".guest"

    @property
    def agent_log(self) -> Path:
        return self.run.logs / "agent.txt"

    @property
    def kernel_log(self) -> Path:
        return self.run.logs / "kernel.txt"

    @property
    def progress(self) -> Path:
        return self.run.logs / "progress"

    @property
    def shape_file(self) -> Path:
        return self.directory / "shape"

    @property
    def shape(self) -> Shape:
        """That of the run."""
        return from_json(Shape, self.shape_file.read_text())

    @property
    def moment_file(self) -> Path:
        return self.directory / "moment"

    @property
    def change_file(self) -> Path:
        return self.directory / "change"

    @property
    def change(self) -> Change:
        return from_json(Change, self.change_file.read_text())

    @property
    def _answer(self) -> Path:
        return self.directory / "answer"

    def give(self, answer: Answer) -> None:
        """The agent's last deed."""
        partial = self.directory / "answer.partial"
        partial.write_text(as_json(answer))
        partial.replace(self._answer)

    def is_answered(self) -> bool:
        """Is the run over?"""
        return self._answer.exists()

    def take(self) -> Answer:
        """What was given; there must be an answer."""
        return from_json(Answer, self._answer.read_text())


@contextlib.contextmanager
def exchange(run: RunDir, shape: Shape | None = None) -> Iterator[Exchange]:
    """The files for a run of this shape, as long as it is under way. (Other agents than that of a run need none.)"""
    files = Exchange(run)
    files.directory.mkdir()
    try:
        if shape is not None:
            files.shape_file.write_text(as_json(shape))
            files.moment_file.touch()  # what is not there takes time to look for, which must be the same in all runs
            files.change_file.touch()
        yield files
    finally:
        shutil.rmtree(files.directory, ignore_errors=True)
