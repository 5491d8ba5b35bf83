"""`tutti check`: judges a run that was carried out before, by today's properties."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.commands.options import json_option

HELP = "judge a run again, from its captures alone"
EXAMPLES = "  tutti check runs/raw-quiet-s1"


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN."""
    parser.add_argument("run", metavar="RUN", help="a run directory")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """The status says whether all is as expected."""
    from harness.runs import open_run
    from harness.summary import summary
    from harness.terminal import ProgressLine
    from harness.verdict import document, judge_run

    with ProgressLine(arguments.run).during("judging"):
        result = judge_run(open_run(Path(arguments.run)))
    if arguments.json:
        print(json.dumps(document(result), indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print(summary(result))
    return result.status
