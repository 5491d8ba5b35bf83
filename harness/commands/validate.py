"""`tutti validate`: everything that is wrong with scenarios, without running them."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from harness.commands.options import json_option, scenario_options
from harness.status import PASS, USAGE

if TYPE_CHECKING:
    from harness.scenario import Scenario

HELP = "check scenarios without running them"
EXAMPLES = "  tutti validate my.toml\n  tutti validate my.toml --set topology.nodes=9 --resolved"


def arguments(parser: argparse.ArgumentParser) -> None:
    """SCENARIO ..."""
    parser.add_argument("scenario", nargs="+", metavar="SCENARIO", help="files, or names of those that come with tutti")
    scenario_options(parser)
    parser.add_argument("--resolved", action="store_true", help="print the scenario with all its defaults")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """Check each scenario; 64 if any is refused."""
    from harness.scenario import ScenarioError, dump, identity, load
    from harness.scenario.find import find

    results: list[dict[str, Any]] = []
    for word in arguments.scenario:
        try:
            scenario = load(find(word), settings=arguments.settings, seed=arguments.seed, engine=arguments.engine)
        except ScenarioError as error:
            problems = [{"place": one.place, "line": one.line, "reason": one.reason} for one in error.problems]
            results.append({"scenario": word, "valid": False, "problems": problems})
            if not arguments.json:
                sys.stderr.write(f"{error}\n")
            continue
        warned = warnings(scenario)
        results.append(
            {"scenario": word, "valid": True, "identity": identity(scenario), "problems": [], "warnings": warned}
        )
        if arguments.resolved:
            results[-1]["resolved"] = dump(scenario)
        if not arguments.json:
            sys.stderr.writelines(f"{word}: warning: {one}\n" for one in warned)
            print(dump(scenario) if arguments.resolved else f"{word}: {describe(scenario)}")
    if arguments.json:
        print(json.dumps(results, indent=1, ensure_ascii=False))
    return PASS if all(result["valid"] for result in results) else USAGE


def warnings(scenario: Scenario) -> list[str]:
    """What may go wrong with its options that it does not expect to go wrong."""
    from nodes.protocols import protocol

    expected = {one.property for one in scenario.expect if one.verdict not in (None, "pass")}
    doubts = protocol(scenario.protocol).doubts(scenario.options)
    return [f"{reason}: {name} may fail" for name, reason in doubts.items() if name not in expected]


def describe(scenario: Scenario) -> str:
    """A valid scenario in one line."""
    topology = scenario.topology
    parts = [f"{scenario.protocol} on a {topology.kind} of {topology.nodes} node{'s' if topology.nodes > 1 else ''}"]
    if scenario.workload is not None:
        parts.append(scenario.workload.KIND)
    for name, tables in (("impairment", scenario.impair), ("fault", scenario.fault), ("expectation", scenario.expect)):
        if tables:
            parts.append(f"{len(tables)} {name}{'s' if len(tables) > 1 else ''}")
    return f"valid: {', '.join(parts)}"
