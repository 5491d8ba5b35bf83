"""`tutti test`: tutti's own tests, with the Python that tutti runs in; all of them on all cores, a selection on one."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.status import PASS, USAGE, VIOLATED

HELP = "run tutti's own tests"
EXAMPLES = "  tutti test\n  tutti test -k scenario"

ROOT = Path(__file__).resolve().parents[2]
_NOT_COLLECTED, _MISUSED, _NO_TESTS = 2, 4, 5  # of pytest: a file is no test, an option is none, nothing is selected
_ALL = ["-n", "auto", "--dist", "worksteal"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Whatever pytest takes."""
    parser.usage = "tutti test [-h] [ARG ...]"


def call(arguments: argparse.Namespace) -> int:
    """Run pytest; 1 if a test fails, 64 if the selection selects nothing."""
    return run_pytest(arguments.passed_on or _ALL, ROOT)


def run_pytest(words: Sequence[str], directory: Path) -> int:
    """Run pytest there; its status in our terms."""
    status = subprocess.run([sys.executable, "-P", "-m", "pytest", *words], cwd=directory, check=False).returncode
    if status in (_NOT_COLLECTED, _MISUSED, _NO_TESTS):
        return USAGE
    return VIOLATED if status else PASS
