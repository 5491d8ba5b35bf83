"""Carries out nothing in a guest: computes for ever, so that virtual time never moves."""

from pathlib import Path

from harness.exchange import Exchange


def carry_out(files: Exchange, state: Path) -> None:
    while True:
        pass
