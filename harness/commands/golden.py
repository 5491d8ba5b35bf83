"""`tutti golden`: repeats the runs of the golden captures and compares; `--renew` puts the new ones in place."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from harness.status import PASS, VIOLATED

HELP = "repeat the golden captures and compare"
EXAMPLES = "  tutti golden\n  tutti golden --renew raw-chosen"


def arguments(parser: argparse.ArgumentParser) -> None:
    """NAME ..."""
    parser.add_argument("name", nargs="*", metavar="NAME", help="which (default: all); a scenario's adds one")
    parser.add_argument("--renew", action="store_true", help="put the new captures in the place of the old")


def call(arguments: argparse.Namespace) -> int:
    """1 if a run differs from its golden captures (and they are not renewed)."""
    from harness import rundir
    from harness.engines.outcome import EngineOptions
    from harness.golden import GOLDEN, difference, known, renew
    from harness.runs import carry_out
    from harness.scenario import load
    from harness.scenario.find import find
    from harness.terminal import ProgressLine

    status = PASS
    for name in arguments.name or known():
        golden = GOLDEN / name.replace("/", "-")
        # A new one is named by a scenario; one that is there repeats the scenario it was made from.
        scenario = load(golden / "scenario.toml" if (golden / "scenario.toml").exists() else find(name))
        line = ProgressLine(golden.name)
        with tempfile.TemporaryDirectory(prefix="tutti-golden-") as directory:
            where = rundir.create(scenario.name, scenario.seed, Path(directory) / "run")
            carry_out(scenario, where, EngineOptions(), line)
            line.clear()
            changed = renew(golden, where.path) if arguments.renew else difference(golden, where.path)
        if changed:
            status = PASS if arguments.renew else VIOLATED
        print(f"{golden.name}: {'renewed' if changed and arguments.renew else 'DIFFERENT' if changed else 'equal'}")
        if changed:
            print(changed)
    return status
