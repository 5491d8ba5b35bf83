"""`tutti python`: the Python that tutti runs in, with Scapy, Spark and our own packages, to look at captures."""

from __future__ import annotations

import argparse
import os
import sys


def python_command(arguments: argparse.Namespace) -> int:
    """Become that Python."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *arguments.arguments])  # noqa: S606
