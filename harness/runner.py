"""From a scenario to a verdict: run directory, engine, manifest, judges, and what a person is told."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import rundir
from harness.check import checked, document, summary
from harness.engines.kernel import private_kernel, site_packages
from harness.engines.outcome import EngineError, EngineOptions, MachineLacks
from harness.engines.virtual import boot
from harness.report import write_report
from harness.rundir import RunDir
from harness.scenario import Scenario, dump, identity, load
from harness.scenario.find import find
from harness.scenario.program import take_along
from harness.terminal import ProgressLine
from topologies.seeds import seed_for

FORMAT = 1  # of the run directory


def run(scenario: Scenario, where: RunDir, options: EngineOptions, progress: Callable[[str], None]) -> None:
    """Carry out a scenario into a fresh run directory, up to the manifest. EngineError if it could not be done."""
    where.scenario.write_text(dump(take_along(scenario, where.path)))
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


def fresh(scenario: Scenario, out: str | None) -> RunDir:
    """A run directory for this scenario."""
    name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in scenario.name).strip(".-")
    return rundir.create(name or "run", scenario.seed, None if out is None else Path(out))


def run_command(arguments: argparse.Namespace) -> int:
    """`tutti run SCENARIO`."""
    scenario = load(find(arguments.scenario), settings=arguments.settings, seed=arguments.seed, engine=arguments.engine)
    where = fresh(scenario, arguments.out)
    line = ProgressLine(scenario.name)
    begin = time.monotonic()
    try:
        run(scenario, where, EngineOptions(memory_mb=arguments.memory, stall_s=arguments.stall), line)
    except MachineLacks:
        shutil.rmtree(where.path)  # nothing has been run: nothing is left
        raise
    finally:
        line.clear()
    with line.during("judging"):
        result = checked(where.path)
    with line.during("drawing the report"):
        write_report(where.path, result)
    if arguments.json:
        print(json.dumps({"run": str(where.path), **document(result)}, indent=1, sort_keys=True, ensure_ascii=False))
        return result.status
    print(summary(result))
    shown = os.path.relpath(where.path)
    print(f"\n{scenario.name}: seed {scenario.seed}, {time.monotonic() - begin:.1f} s, in {shown}")
    print(f"look closer: {os.environ.get('TUTTI_COMMAND', 'tutti')} show {shown}")
    return result.status
