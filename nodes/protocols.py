"""Which protocols there are: every package beside this file but the wire table. A new one is found by its name."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from nodes.facet import ProtocolSpec

_HERE = Path(__file__).parent
NAMES = tuple(one.name for one in pkgutil.iter_modules([str(_HERE)]) if one.ispkg and one.name != "wire")


def protocol(name: str) -> ProtocolSpec:
    """The protocol of that name."""
    spec = importlib.import_module(f"nodes.{name}").PROTOCOL
    assert isinstance(spec, ProtocolSpec)
    return spec
