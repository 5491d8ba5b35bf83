"""The run directory: what a run is, after it is over.

scenario.toml   resolved: nothing in it is left to a default that might change
manifest.json   what it ran on: versions, kernel, seeds, settings read back, what the captures counted
captures/       the record
verdict.json    a function of the above
report.html     likewise
logs/           for people, when something went wrong
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RUNS = Path("runs")


class RunDirError(RuntimeError):
    """A directory that cannot be used, with the reason."""


@dataclass(frozen=True, slots=True)
class RunDir:
    """The paths of one run."""

    path: Path

    @property
    def scenario(self) -> Path:
        return self.path / "scenario.toml"

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def captures(self) -> Path:
        return self.path / "captures"

    @property
    def verdict(self) -> Path:
        return self.path / "verdict.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def logs(self) -> Path:
        return self.path / "logs"


def create(name: str, seed: int, out: Path | None) -> RunDir:
    """A fresh run directory: the one asked for, which must not hold anything yet, or the next free one in runs/."""
    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            if any(out.iterdir()):
                raise RunDirError(f"{out} is not empty; a run never writes over another (choose another --out)")
            path = out
        else:
            path = _next_free(RUNS, f"{name}-s{seed}")
        (path / "captures").mkdir()
        (path / "logs").mkdir()
    except OSError as error:
        raise RunDirError(f"cannot make a run directory: {error}") from error
    return RunDir(path.resolve())


def begun(path: Path) -> bool:
    """Whether a run was begun there, however it ended."""
    run = RunDir(path)
    return run.captures.is_dir() and run.logs.is_dir()


def _next_free(runs: Path, stem: str) -> Path:
    runs.mkdir(exist_ok=True)
    number = 1
    while True:
        path = runs / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path
