"""`tutti bench`: measures the testbed and the protocols, as ratios within one run (machines are shared and noisy)."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
from collections.abc import Iterable
from typing import Any

from harness.commands.options import json_option
from harness.status import PASS, USAGE

HELP = "measure the testbed and the protocols"
EXAMPLES = (
    "  tutti bench\n  tutti bench st\n  tutti bench forks --scenario peers/etcd -n 100\n"
    "  tutti bench mutants --protocol him --sample 50 --seed 2\n"
    "  tutti bench mutants --only nodes/st/logs.py:61:compare"
)

# What some benchmarks take: parameter -> option
OPTIONS = {
    "largest": "--largest",
    "seeds": "--seeds",
    "scenarios": "--scenario",
    "count": "-n",
    "protocol": "--protocol",
    "sample": "--sample",
    "seed": "--seed",
    "jobs": "--jobs",
    "tests": "--tests",
    "only": "--only",
    "explore": "--explore",
    "journal": "--journal",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """WHAT, and how."""
    parser.add_argument("what", nargs="*", metavar="WHAT", help="which benchmarks (default: all)")
    json_option(parser)
    platform = parser.add_argument_group("platform")
    platform.add_argument("--largest", action="store_true", default=None, help="a network of 500 nodes, too (8 GB)")
    platform.add_argument("--seeds", type=int, metavar="N", help="of the sweep (default: 24)")
    forks = parser.add_argument_group("forks, levels")
    scenario = "repeat this scenario, not the usual ones (repeatable)"
    forks.add_argument("--scenario", dest="scenarios", action="append", metavar="SCENARIO", help=scenario)
    forks.add_argument("-n", dest="count", type=int, metavar="N", help="so many of each")
    mutants = parser.add_argument_group("mutants, explore, levels")
    mutants.add_argument("--protocol", metavar="PROTOCOL", help="of this protocol alone")
    mutants.add_argument("--sample", type=int, metavar="N", help="how many are drawn (default: 20)")
    mutants.add_argument("--seed", type=int, metavar="N", help="of what is drawn (default: 1)")
    mutants.add_argument("--jobs", type=int, metavar="N", help="so many side by side (default: 1)")
    mutants.add_argument("--tests", action="append", metavar="FILE", help="with this file of tests alone (repeatable)")
    explore = "search so many seconds of CPU time for each: what tests written by hand let pass, or a printed rule"
    mutants.add_argument("--explore", type=float, metavar="N", help=explore)
    journal = "what was tried is kept here, and the same command goes on with the rest"
    mutants.add_argument("--journal", metavar="FILE", help=journal)
    only = "this one alone (repeatable); of explore, a switch"
    mutants.add_argument("--only", action="append", metavar="MUTANT", help=only)


def call(arguments: argparse.Namespace) -> int:
    """Run the benchmarks that are named, or all that there are."""
    from harness.bench import BENCHES
    from harness.bench.row import Refused, Row

    unknown = [name for name in arguments.what if name not in BENCHES]
    if unknown:
        sys.stderr.write(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(BENCHES)}\n")
        return USAGE
    options = {name: value for name in OPTIONS if (value := getattr(arguments, name)) is not None}
    if options and not arguments.what:
        sys.stderr.write(f"say which benchmark {OPTIONS[min(options)]} is meant for\n")
        return USAGE
    results: dict[str, Any] = {}
    for name in arguments.what or BENCHES:
        module, function, meaning = BENCHES[name]
        bench = getattr(importlib.import_module(module), function)
        refused = options.keys() - inspect.signature(bench).parameters.keys()
        if refused:
            sys.stderr.write(f"{name} takes no {OPTIONS[min(refused)]}\n")
            return USAGE
        sys.stderr.write(f"{name}: {meaning} ...\n")
        results[name] = []
        try:
            found = bench(**options)
            rows: Iterable[Row] = [found] if isinstance(found, Row) else found
            for row in rows:
                results[name].append(row.document())
                if not arguments.json:
                    print(row, flush=True)
        except Refused as error:
            sys.stderr.write(f"{name}: {error}\n")
            return USAGE
    if arguments.json:
        print(json.dumps(results, indent=1, default=str))
    return PASS
