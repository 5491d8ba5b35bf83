"""Options that several commands have."""

from __future__ import annotations

import argparse

_LEAST_MB = 96  # with less it does not get ready


def json_option(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def scenario_options(parser: argparse.ArgumentParser) -> None:
    """What changes a scenario without editing it."""
    parser.add_argument("--seed", type=int, metavar="N", help="another seed than the scenario's")
    parser.add_argument("--engine", choices=("virtual", "live"), help="another engine than the scenario's")
    set_option(parser, "change a value of the scenario, e.g. topology.nodes=7 or impair.0.loss=5%% (repeatable)")


def set_option(parser: argparse.ArgumentParser, meaning: str) -> None:
    """--set KEY=VALUE."""
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help=meaning)


def memory_option(parser: argparse.ArgumentParser) -> None:
    """--memory MB."""
    parser.add_argument("--memory", type=_megabytes, default=2048, metavar="MB", help="of the guest (default: 2048)")


def _megabytes(text: str) -> int:
    value = int(text)
    if value < _LEAST_MB:
        raise argparse.ArgumentTypeError(f"{text} MB are too little for any guest: it needs {_LEAST_MB}")
    return value
