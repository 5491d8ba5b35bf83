"""`tutti sweep`: a scenario over parameters and seeds, and what came of it."""

from __future__ import annotations

import argparse
import json

from harness.commands.options import json_option, set_option

HELP = "scenario x parameters x seeds on Spark"
EXAMPLES = "  tutti sweep loss.toml\n  tutti sweep loss.toml --master spark://host:7077"


def arguments(parser: argparse.ArgumentParser) -> None:
    """SWEEP, where it runs and where it goes."""
    parser.add_argument("sweep", metavar="SWEEP", help="a sweep file")
    parser.add_argument("--master", metavar="URL", help="a Spark cluster (default: this machine, one guest per core)")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="where the tables and figures go, a directory or hdfs://... (default: build/sweeps/NAME)",
    )
    parser.add_argument("--quick", action="store_true", help="the small variant that the file describes in [quick]")
    set_option(parser, "change a value of the sweep file, e.g. seeds=3 or set.workload.rounds=10 (repeatable)")
    parser.add_argument("--jobs", type=int, metavar="N", help="guests at a time (default: one per core)")
    parser.add_argument("--compare", metavar="OLD", help="tell what moved against an earlier sweep")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """The status says whether all runs are as expected and all metrics in their budgets."""
    from harness.sweep.compare import moves, points_of
    from harness.sweep.job import Where, carry_out_sweep, store_at
    from harness.sweep.load import find_sweep, load_sweep
    from harness.sweep.told import document, status, summary

    spanned = load_sweep(find_sweep(arguments.sweep), arguments.settings, arguments.quick)
    before = None if arguments.compare is None else points_of(store_at(arguments.compare))
    name = spanned.sweep.name + ("-quick" if arguments.quick else "")
    where = Where(arguments.out or f"build/sweeps/{name}", arguments.master, arguments.jobs)
    swept = carry_out_sweep(spanned, where)
    moved = [] if before is None else list(moves(before, swept.points))
    if arguments.json:
        print(json.dumps(document(swept, moved), indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print("\n".join(summary(swept, moved, before is not None)))
    return status(swept)
