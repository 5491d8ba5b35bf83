"""Which protocols there are. A new one is a package with a PROTOCOL and a line here."""

from __future__ import annotations

import importlib

from nodes.machine import ProtocolSpec

NAMES = ("raw", "st", "to", "delta", "cmd", "him", "own", "tcp")


def protocol(name: str) -> ProtocolSpec:
    """The protocol of that name."""
    spec = importlib.import_module(f"nodes.{name}").PROTOCOL
    assert isinstance(spec, ProtocolSpec)
    return spec
