"""`tutti diff`: tells, shows or draws where two runs part."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.commands.options import json_option
from harness.status import PASS, VIOLATED

HELP = "the first frame at which two runs part"
EXAMPLES = "  tutti diff runs/raw-quiet-s1 runs/raw-quiet-s1-2"


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN and RUN."""
    parser.add_argument("run", nargs=2, metavar="RUN", help="two run directories")
    parser.add_argument("--html", metavar="FILE", help="write both, aligned, as a page")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """0 if the captures of two runs are equal, 1 if not."""
    from harness.diff import explain, first_parting, shown
    from harness.terminal import ProgressLine

    left, right = map(Path, arguments.run)
    with ProgressLine(f"{left}, {right}").during("comparing"):
        found = first_parting(left, right)
    if arguments.html:
        from harness.report.pair import write_pair

        write_pair(left, right, Path(arguments.html), found)
    if arguments.json:
        parting = None if found is None else shown(found)
        print(json.dumps({"equal": found is None, "parting": parting}, indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print(explain(found, (str(left), str(right))))
    return PASS if found is None else VIOLATED
