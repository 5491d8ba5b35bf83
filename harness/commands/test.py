"""`tutti test`: tutti's own tests, with the Python that tutti runs in."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NO_TESTS = 5  # pytest found nothing to run: the selection was wrong


def test_command(arguments: argparse.Namespace) -> int:
    """Run pytest; 1 if a test fails, 64 if the selection selects nothing."""
    status = subprocess.run([sys.executable, "-m", "pytest", *arguments.arguments], cwd=ROOT, check=False).returncode
    if status in (4, _NO_TESTS):
        return 64
    return 1 if status else 0
