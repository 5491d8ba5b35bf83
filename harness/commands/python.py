"""`tutti python`: the Python that tutti runs in, with Scapy, Spark and our own packages, to look at captures."""

from __future__ import annotations

import argparse
import os
import sys

HELP = "Python with Scapy, Spark and tutti's own packages"
EXAMPLES = "  tutti python\n  tutti python my-analysis.py runs/st-loss-s1"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Whatever Python takes."""
    parser.usage = "tutti python [-h] [ARG ...]"


def call(arguments: argparse.Namespace) -> int:
    """Become that Python."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *arguments.passed_on])  # noqa: S606
