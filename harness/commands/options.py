"""Options that several commands have."""

from __future__ import annotations

import argparse


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
