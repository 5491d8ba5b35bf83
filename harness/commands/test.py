"""`tutti test`: tutti's own tests, with the Python that tutti runs in; all of them on all cores, a selection on one."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from harness.status import PASS, USAGE, VIOLATED

HELP = "run tutti's own tests"
EXAMPLES = "  tutti test\n  tutti test -k scenario"

ROOT = Path(__file__).resolve().parents[2]
_NO_TESTS = 5  # pytest found nothing to run: the selection was wrong
_ALL = ["-n", "auto", "--dist", "worksteal"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Whatever pytest takes."""
    parser.usage = "tutti test [-h] [ARG ...]"


def call(arguments: argparse.Namespace) -> int:
    """Run pytest; 1 if a test fails, 64 if the selection selects nothing."""
    words = arguments.passed_on or _ALL
    status = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, check=False).returncode
    if status in (4, _NO_TESTS):
        return USAGE
    return VIOLATED if status else PASS
