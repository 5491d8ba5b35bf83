"""`tutti bench`: measures the testbed and the protocols, as ratios within one run (machines are shared and noisy)."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterable
from typing import Any

from harness.commands.options import json_option
from harness.status import PASS, USAGE

HELP = "measure the testbed and the protocols"
EXAMPLES = "  tutti bench\n  tutti bench st\n  tutti bench forks --scenario peers/etcd -n 100"


def arguments(parser: argparse.ArgumentParser) -> None:
    """WHAT, --scenario, -n."""
    parser.add_argument("what", nargs="*", metavar="WHAT", help="which benchmarks (default: all)")
    scenario = "for forks: repeat this scenario, not the usual ones (repeatable)"
    parser.add_argument("--scenario", dest="scenarios", action="append", metavar="SCENARIO", help=scenario)
    parser.add_argument("-n", dest="count", type=int, metavar="N", help="for forks: so many of each")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """Run the benchmarks that are named, or all that there are."""
    from harness.bench import BENCHES
    from harness.bench.row import Row

    unknown = [name for name in arguments.what if name not in BENCHES]
    if unknown:
        sys.stderr.write(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(BENCHES)}\n")
        return USAGE
    wanted = {name: value for name in ("scenarios", "count") if (value := getattr(arguments, name)) is not None}
    if wanted and arguments.what != ["forks"]:
        sys.stderr.write("--scenario and -n are for `tutti bench forks`\n")
        return USAGE
    results: dict[str, Any] = {}
    for name in arguments.what or BENCHES:
        module, function, meaning = BENCHES[name]
        sys.stderr.write(f"{name}: {meaning} ...\n")
        found = getattr(importlib.import_module(module), function)(**wanted)
        results[name] = []
        rows: Iterable[Row] = [found] if isinstance(found, Row) else found
        for row in rows:
            results[name].append(row.document())
            if not arguments.json:
                print(row, flush=True)
    if arguments.json:
        print(json.dumps(results, indent=1, default=str))
    return PASS
