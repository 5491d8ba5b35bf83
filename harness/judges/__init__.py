"""Judges: from the evidence of a run to pass, fail or unknown. Importing the package registers them all.

A new judge is a function with `@judge_of(name, meaning)` in a file here, and histories in one line each that it must
pass, fail and leave undecided in tests/.
"""

import importlib
import pkgutil

from harness.judges.base import Judge, Outcome, Verdict, find_judge, judge, judges

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

__all__ = ["Judge", "Outcome", "Verdict", "find_judge", "judge", "judges"]
