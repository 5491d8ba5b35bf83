"""`tutti run`: carries out a scenario, judges it, writes its report."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from harness.commands.options import json_option, memory_option, scenario_options

if TYPE_CHECKING:
    from harness.engines.outcome import MachineLacks

HELP = "run a scenario and judge it"
EXAMPLES = "  tutti run raw/quiet\n  tutti run my.toml --seed 3 --out here --set topology.nodes=7"


def arguments(parser: argparse.ArgumentParser) -> None:
    """SCENARIO and where it goes."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a file, or the name of one that comes with tutti")
    scenario_options(parser)
    parser.add_argument("--out", metavar="DIR", help="the run directory (default: a new one in runs/)")
    memory_option(parser)
    parser.add_argument(
        "--stall",
        type=_positive,
        default=120.0,
        metavar="SECONDS",
        help="give up when the guest's clock stands still for so long of your time, waiting for a processor "
        "not counted (default: 120)",
    )
    json_option(parser)


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def call(arguments: argparse.Namespace) -> int:
    """The status says whether all is as expected."""
    from harness.engines.outcome import EngineOptions, MachineLacks
    from harness.runs import carry_out, fresh
    from harness.scenario import load
    from harness.scenario.find import find
    from harness.terminal import ProgressLine

    scenario = load(find(arguments.scenario), settings=arguments.settings, seed=arguments.seed, engine=arguments.engine)
    where = fresh(scenario, arguments.out)
    line = ProgressLine(scenario.name)
    begin = time.monotonic()
    options = EngineOptions(memory_mb=arguments.memory, stall_s=arguments.stall)
    try:
        run = carry_out(scenario, where, options, line, _prepare)
    except MachineLacks as lack:
        shutil.rmtree(where.path)  # nothing has been run: nothing is left
        if not _mended(lack):
            raise
        return call(arguments)
    finally:
        line.clear()
    from harness.report import write_report
    from harness.summary import summary
    from harness.verdict import document, judge_run

    with line.during("judging"):
        result = judge_run(run)
    with line.during("drawing the report"):
        write_report(result)
    if arguments.json:
        print(json.dumps({"run": str(where.path), **document(result)}, indent=1, sort_keys=True, ensure_ascii=False))
        return result.status
    print(summary(result))
    shown = os.path.relpath(where.path)
    print(f"\n{scenario.name}: seed {scenario.seed}, {time.monotonic() - begin:.1f} s, in {shown}")
    print(f"look closer: {os.environ.get('TUTTI_COMMAND', 'tutti')} show {shown}")
    return result.status


def _mended(lack: MachineLacks) -> bool:
    """Has what is missing been installed, since a person at the terminal wanted it?"""
    from harness.closure import ROOT
    from harness.terminal import agreed

    if not lack.packages or not agreed(f"{lack}\nInstall it now?"):
        return False
    script = ROOT / "harness/provision/packages.sh"
    return subprocess.run([script, "only", *lack.packages], check=False).returncode == 0


def _prepare() -> None:
    """What comes after the guest is imported while it works: afterwards a person waits."""
    import numpy.ma  # noqa: F401  (this and the next pyarrow would import when it first needs them)
    import pyarrow.compute  # noqa: F401

    import harness.summary
    import harness.verdict  # noqa: F401
    from captures.evidence import facets
    from harness.report.page import bokeh_scripts

    facets()
    bokeh_scripts()
