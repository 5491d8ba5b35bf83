"""`tutti golden`: repeats the runs of the golden captures and compares; `--renew` puts the new ones in place."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from harness import rundir
from harness.engines.outcome import EngineOptions
from harness.golden import difference, renew
from harness.runner import run
from harness.scenario import load
from harness.scenario.find import find
from harness.terminal import ProgressLine

GOLDEN = Path(__file__).resolve().parents[2] / "captures" / "golden"


def golden_command(arguments: argparse.Namespace) -> int:
    """1 if a run differs from its golden captures (and they are not renewed)."""
    status = 0
    known = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir()) if GOLDEN.is_dir() else []
    for name in arguments.name or known:
        golden = GOLDEN / name.replace("/", "-")
        # A new one is named by a scenario; one that is there repeats the scenario it was made from.
        scenario = load(golden / "scenario.toml" if (golden / "scenario.toml").exists() else find(name))
        line = ProgressLine(golden.name)
        with tempfile.TemporaryDirectory(prefix="tutti-golden-") as directory:
            where = rundir.create(scenario.name, scenario.seed, Path(directory) / "run")
            run(scenario, where, EngineOptions(), line)
            line.clear()
            changed = renew(golden, where.path) if arguments.renew else difference(golden, where.path)
        if changed:
            status = 0 if arguments.renew else 1
        print(f"{golden.name}: {'renewed' if changed and arguments.renew else 'DIFFERENT' if changed else 'equal'}")
        if changed:
            print(changed)
    return status
