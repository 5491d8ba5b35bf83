"""`tutti pytest`: your scenarios as tests, with the Python that tutti runs in."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.commands.test import run_pytest

HELP = "run scenarios as tests: pytest, which collects TOML files"
EXAMPLES = "  tutti pytest my-scenarios\n  tutti pytest my-scenarios --tutti-golden -n auto --junitxml report.xml"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Whatever pytest takes."""
    parser.usage = "tutti pytest [-h] [ARG ...]"


def call(arguments: argparse.Namespace) -> int:
    """1 if a test fails, 64 if there is none."""
    return run_pytest(["-p", "harness.pytest_plugin", *arguments.passed_on], Path.cwd())
