"""`tutti explore`: looks for a schedule that breaks a protocol, shrinks it, keeps it."""

from __future__ import annotations

import argparse
import json
import sys

from harness.commands.options import json_option, set_option
from harness.status import PASS, VIOLATED

HELP = "search for a schedule that breaks a protocol"
EXAMPLES = (
    "  tutti explore cmd --set cmd.rules=printed\n"
    "  tutti explore to --seconds 600 --plateau 5000\n"
    "  tutti explore my.toml --runs 2000 --keep\n"
    "  tutti explore st --systematic 2"
)


SECONDS = 60.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """What is searched, and for how long."""
    parser.add_argument("scenario", metavar="SCENARIO|PROTOCOL", help="a scenario, or a protocol's plain one")
    set_option(parser, "change a value of the scenario, e.g. st.rules=printed or explore.most_faults=2 (repeatable)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the search (default: 1)")
    parser.add_argument("--seconds", type=float, metavar="N", help=f"stop after (default: {SECONDS:.0f})")
    parser.add_argument("--runs", type=int, metavar="N", help="stop after so many runs")
    parser.add_argument(
        "--plateau", type=int, metavar="N", help="stop after so many runs without a new change of state or milestone"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--systematic", type=int, metavar="K", help="not by chance: every schedule with at most K faults of single PDUs"
    )
    how.add_argument("--network", action="store_true", help="search on the emulated network, not in memory")
    parser.add_argument("--all", action="store_true", help="go on after a failure, for one of each kind")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--master", metavar="URL", help="search on a Spark cluster")
    parser.add_argument("--keep", action="store_true", help="put what is found into the corpus of the protocol")
    parser.add_argument("--memory-only", action="store_true", help="do not confirm it on the emulated network")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="where scenarios and runs go (default: build/explore/NAME); if given, the search is kept there as well, "
        "and the same command goes on with it",
    )
    parser.add_argument("--coverage", metavar="FILE", help="a page of what was reached (with --out: DIR/coverage.html)")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """The status says whether something was found."""
    from pathlib import Path

    from harness.explore.base import base_of
    from harness.explore.coverage import write_coverage
    from harness.explore.job import Afterwards, explore, explore_all
    from harness.explore.search import Bounds, Where
    from harness.explore.told import document, summary, systematic_document, systematic_summary

    base = base_of(arguments.scenario, arguments.settings)
    seconds = arguments.seconds or (None if arguments.systematic is not None else SECONDS)
    bounds = Bounds(seconds, arguments.runs, arguments.plateau, arguments.all)
    where = Where(arguments.jobs, arguments.master, arguments.network)
    afterwards = Afterwards(arguments.out, arguments.keep, not arguments.memory_only, arguments.network)
    if arguments.systematic is not None:
        state, results = explore_all(base, arguments.systematic, bounds, where, afterwards)
        told = (systematic_document if arguments.json else systematic_summary)(base, state, results)
    else:
        tally, results = explore(base, arguments.seed, bounds, where, afterwards)
        for page in (arguments.coverage, arguments.out and f"{arguments.out}/coverage.html"):
            if page:
                write_coverage(Path(page), base, tally)
        told = (document if arguments.json else summary)(base, tally, results)
    print(told if isinstance(told, str) else json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False))
    sys.stdout.flush()
    return VIOLATED if results else PASS
