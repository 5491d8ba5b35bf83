"""From a scenario to a verdict: run directory, engine, manifest, judges, and what a person is told."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import rundir
from harness.engines.kernel import private_kernel, site_packages
from harness.engines.outcome import EngineError, EngineOptions
from harness.engines.virtual import boot
from harness.rundir import RunDir
from harness.scenario import Scenario, dump, identity
from topologies.seeds import seed_for

FORMAT = 1  # of the run directory


def run(scenario: Scenario, where: RunDir, options: EngineOptions, progress: Callable[[str], None]) -> None:
    """Carry out a scenario into a fresh run directory, up to the manifest. EngineError if it could not be done."""
    where.scenario.write_text(dump(scenario))
    manifest: dict[str, Any] = {"format": FORMAT, "identity": identity(scenario), "engine": scenario.engine}
    try:
        if scenario.engine == "virtual":
            kernel = private_kernel()
            manifest["kernel"] = {"version": kernel.version, "recipe": kernel.recipe, "seccomp": kernel.seccomp}
            boot(kernel, where.path, site_packages(), seed_for(scenario.seed, "guest"), options, progress)
        else:
            from harness.engines.live import run_live

            manifest["kernel"] = run_live(where.path, options, progress)
        findings = json.loads((where.logs / "agent.json").read_text())
        (where.logs / "agent.json").unlink()
        manifest.update(findings)
    except EngineError as error:
        manifest["failed"] = str(error).splitlines()[0]
        raise
    finally:
        rundir.write_json(where.manifest, manifest)
    if "failed" in manifest:
        raise EngineError(f"{manifest['failed']}\n  (the nodes' own words are in {where.logs / 'agent.txt'})")


class ProgressLine:
    """One line on a terminal that is written over; silent elsewhere."""

    def __init__(self, what: str, of_s: float | None) -> None:
        self._what, self._of = what, of_s
        self._begin = time.monotonic()
        self._shown = False

    def __call__(self, now: str) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self._begin < 1:
            return
        self._shown = True
        text = f"\r{self._what}: {now} of virtual time, {time.monotonic() - self._begin:.0f} s of yours"
        sys.stderr.write(text[: shutil.get_terminal_size().columns - 1] + "\033[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def fresh(scenario: Scenario, out: str | None) -> RunDir:
    """A run directory for this scenario."""
    name = (
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in scenario.name).strip(".") or "run"
    )
    return rundir.create(name, scenario.seed, None if out is None else Path(out))
