"""Runs: carried out now, or opened again long after."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from harness import rundir
from harness.engines.engine import engine_of
from harness.engines.outcome import EngineError, EngineOptions, NodeDied, Progress
from harness.engines.watch import Attended
from harness.exchange import Exchange, exchange
from harness.manifest import Manifest, read_manifest, write_manifest
from harness.rundir import RunDir, RunDirError
from harness.scenario import Scenario, dump, identity, load
from harness.scenario.program import take_along
from harness.shape import shape_of


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is over."""

    where: RunDir
    scenario: Scenario  # as it stands in the run directory
    manifest: Manifest | None  # None: somebody took it away, and the captures have to do


def carry_out(
    scenario: Scenario,
    where: RunDir,
    options: EngineOptions,
    progress: Progress,
    meanwhile: Callable[[], None] = lambda: None,
) -> Run:
    """Carry out a scenario into a fresh run directory. EngineError if it could not be done to its end.

    `meanwhile` is done here once the agent is at work."""
    engine = engine_of(scenario.engine)
    engine.get_ready(options, shape_of(scenario))
    manifest = Manifest(identity=identity(scenario), engine=scenario.engine, kernel=engine.kernel)
    return carried_out(scenario, where, manifest, lambda files: engine.start(files, options), progress, meanwhile)


def carried_out(
    scenario: Scenario,
    where: RunDir,
    manifest: Manifest,
    start: Callable[[Exchange], AbstractContextManager[Attended]],
    progress: Progress,
    meanwhile: Callable[[], None] = lambda: None,
) -> Run:
    """The same by whatever starts the agent; the manifest is completed."""
    scenario = take_along(scenario, where.path)
    where.scenario.write_text(dump(scenario))
    manifest = replace(manifest, failed="the run was interrupted")
    try:
        with exchange(where, shape_of(scenario)) as files, start(files) as agent:
            meanwhile()
            agent.wait(progress)
            answer = files.take()
        manifest = replace(manifest, failed=answer.failed, findings=answer.findings)
        if answer.failed:
            failure = NodeDied if answer.died else EngineError
            raise failure(f"{answer.failed}\n  (the nodes' own words are in {files.agent_log})")
    except EngineError as error:
        manifest = replace(manifest, failed=str(error).splitlines()[0])
        raise
    finally:
        # The disk may be full: then that is why it failed, and what is to be said.
        with contextlib.suppress(OSError) if manifest.failed else contextlib.nullcontext():
            write_manifest(where, manifest)
    return Run(where, scenario, manifest)


def fresh(scenario: Scenario, out: str | None) -> RunDir:
    """A run directory for this scenario."""
    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in scenario.name).strip(".-")
    return rundir.create(name or "run", scenario.seed, None if out is None else Path(out))


def open_run(path: Path) -> Run:
    """A run that was carried out before. RunDirError if there is none, or its manifest cannot be read."""
    where = RunDir(path)
    if not where.scenario.is_file() or not where.captures.is_dir():
        raise RunDirError(f"{path} is no run directory: it needs scenario.toml and captures/")
    return Run(where, load(where.scenario, judged=True), read_manifest(where))
