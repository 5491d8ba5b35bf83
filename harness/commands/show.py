"""`tutti show`: the report of a run, a page that is made when somebody wants to see it, or text on a terminal."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from harness.commands.options import json_option
from harness.status import PASS

HELP = "open or print the report of a run"
EXAMPLES = "  tutti show runs/raw-quiet-s1\n  tutti show --text runs/raw-quiet-s1"


def arguments(parser: argparse.ArgumentParser) -> None:
    """RUN."""
    parser.add_argument("run", metavar="RUN", help="a run directory")
    parser.add_argument("--text", action="store_true", help="print it on the terminal")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """Whatever the verdict, it was shown."""
    from harness.report import is_outdated, write_report
    from harness.report.text import as_text
    from harness.rundir import RunDir
    from harness.runs import open_run
    from harness.terminal import ProgressLine
    from harness.verdict import document, judge_run

    path, line = Path(arguments.run), ProgressLine(arguments.run)
    if arguments.text or arguments.json:
        with line.during("judging"):
            result = judge_run(open_run(path))
        if arguments.json:
            print(json.dumps(document(result), indent=1, sort_keys=True, ensure_ascii=False))
        else:
            print(as_text(result))
        return PASS
    where = RunDir(path)
    if is_outdated(where):
        with line.during("drawing the report"):
            write_report(judge_run(open_run(path)))
    print(where.report)
    if sys.stdout.isatty() and os.environ.get("DISPLAY"):
        subprocess.Popen(["xdg-open", str(where.report)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return PASS
