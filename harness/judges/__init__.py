"""Judges: from the evidence of a run to pass, fail or unknown. Importing the package registers them all.

A new judge is a function with `@judge_of(name, meaning)` in the file of its family, and histories in one line each
that it must pass, fail and leave undecided in tests/.
"""

from harness.judges import cmd, common, delta, him, moment, order, progress, st, to
from harness.judges.base import Judge, Outcome, Verdict, find_judge, judge, judges

FAMILIES = (cmd, common, delta, him, moment, order, progress, st, to)  # importing them registers their judges

__all__ = ["FAMILIES", "Judge", "Outcome", "Verdict", "find_judge", "judge", "judges"]
