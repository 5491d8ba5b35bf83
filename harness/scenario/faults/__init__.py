"""Faults: what is done to the network and the nodes while a run goes on, one class per kind.

A class says what its keys are (its fields), when it cannot be (`check`, `follow`), what it does to the stage
(stage.py), how it ends, and the words of its NOTEs. A new kind is a new file here: the package imports all of them.
"""

import importlib
import pkgutil

from harness.scenario.faults.base import FAULTS, Fault
from harness.scenario.faults.stage import Stage

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

__all__ = ["FAULTS", "Fault", "Stage"]
