"""`tutti branch`: what would have become of a run from a moment on."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.options import json_option, memory_option, set_option

if TYPE_CHECKING:
    from harness.scenario import Scenario

HELP = "carry out a run up to a moment, and from there on in other ways"
EXAMPLES = """  tutti branch st/chosen-loss --at 290ms --without fault.0
  tutti branch runs/st-loss-s1 --at 600ms --seeds 5
  tutti branch runs/st-loss-s1-branch            repeats it"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, the moment, and what is different from there on."""
    parser.add_argument("run", metavar="RUN", help="a run directory, or a scenario; a branch alone is repeated")
    parser.add_argument("--at", metavar="TIME", help="the moment, from the start of the run, e.g. 1.2s")
    set_option(parser, "a value of the scenario from there on, e.g. fault.0.at=1.5s (repeatable)")
    parser.add_argument(
        "--without", action="append", default=[], metavar="KEY", help="take this away from there on, e.g. fault.0"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="another seed of the network's chance from there on")
    parser.add_argument("--seeds", type=int, metavar="N", help="as many branches, with the seeds 1 to N")
    parser.add_argument("--out", metavar="DIR", help="the run directory, or with --seeds where they are made")
    memory_option(parser)
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """The status is the worst of all branches: 1 before 2 before 0."""
    from harness.branching import check, trunk_of, written
    from harness.engines.outcome import EngineOptions
    from harness.report import write_report
    from harness.runs import fresh
    from harness.status import PASS, UNKNOWN, VIOLATED
    from harness.summary import summary
    from harness.terminal import ProgressLine
    from harness.verdict import document, judge_run

    asked = _asked(arguments)
    scenario = asked.scenario
    check(asked.trunk, scenario, asked.at_ns)
    statuses, told = [], []
    line = ProgressLine(scenario.name)
    with trunk_of(asked.trunk, asked.at_ns, EngineOptions(memory_mb=arguments.memory), line) as trunk:
        for seed in asked.seeds:
            named = replace(scenario, name=f"{scenario.name}-branch", seed=scenario.seed if seed is None else seed)
            several = arguments.out is not None and len(asked.seeds) > 1
            where = fresh(named, str(Path(arguments.out, str(seed))) if several else arguments.out)
            try:
                run = trunk.carry_out(scenario, seed, where, line)
            finally:
                line.clear()
            result = judge_run(run)
            write_report(result)
            statuses.append(result.status)
            shown = os.path.relpath(where.path)
            if arguments.json:
                told.append({"run": str(where.path), "seed": seed, **document(result)})
            else:
                print(summary(result))
                chance = "" if seed is None else f", with the network's chance of seed {seed}"
                print(f"\n{scenario.name}: branched at {written(asked.at_ns)}{chance}, in {shown}")
    if arguments.json:
        print(json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False))
    return next((status for status in (VIOLATED, UNKNOWN) if status in statuses), PASS)


@dataclass(frozen=True)
class _Asked:
    """What is to be branched when, and what follows."""

    trunk: Scenario
    at_ns: int
    scenario: Scenario
    seeds: list[int | None]


def _asked(arguments: argparse.Namespace) -> _Asked:
    from harness.branching import moment
    from harness.runs import open_run
    from harness.scenario import Located, ScenarioError, load, loads
    from harness.scenario.document import parse
    from harness.scenario.find import find
    from harness.scenario.load import resolve
    from harness.scenario.overrides import take_away

    path = find(arguments.run)
    changes = (arguments.at, arguments.settings, arguments.without, arguments.seed, arguments.seeds)
    if path.is_dir():
        run = open_run(path)
        path = run.where.scenario
        branch = None if run.manifest is None else run.manifest.branch
        if branch is not None:
            if any(changes):
                reason = "it is a branch itself: name the run that it is a branch of"
                raise ScenarioError([Located(arguments.run, 0, reason)])
            return _Asked(loads(branch.trunk, str(path)), branch.at_ns, load(path), [branch.seed])
    if arguments.at is None:
        raise ScenarioError([Located(arguments.run, 0, "say the moment from which on things are different: --at 1.2s")])
    trunk = load(path)
    document = parse(path.read_text(), str(path))
    take_away(document, arguments.without)
    seeds = [arguments.seed] if arguments.seeds is None else [*range(1, arguments.seeds + 1)]
    return _Asked(trunk, moment(arguments.at), resolve(document, settings=arguments.settings), seeds)
