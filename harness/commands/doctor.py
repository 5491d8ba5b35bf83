"""`tutti doctor`: what works on this machine, for both engines, and what mends the rest."""

from __future__ import annotations

import argparse
import json

from harness.commands.options import json_option
from harness.status import LACKS, PASS

HELP = "what works on this machine, and what mends the rest"
EXAMPLES = "  tutti doctor"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """69 if the virtual engine cannot run here; the rest is optional."""
    from harness.doctor import examine
    from harness.terminal import painted

    findings = list(examine())
    if arguments.json:
        rows = [{name: getattr(one, name) for name in one.__slots__} for one in findings]
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        for one in findings:
            sign = painted("ok     ", "good") if one.fine else painted("missing", "unsure")
            print(f"{sign}  {one.needed_for:8} {one.what}: {one.detail}")
    return PASS if all(one.fine for one in findings if one.needed_for == "virtual") else LACKS
