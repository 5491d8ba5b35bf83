"""Judges: from the history of a run to pass, fail or unknown. Importing the package registers them all.

A new judge is a function with `@judge_of(name, meaning)` in the file of its family, and histories in one line each
that it must pass, fail and leave undecided in tests/.
"""

from harness.judges import cd, common, dc, hi, moment, order, progress, st, td
from harness.judges.base import Judge, Outcome, Verdict, find_judge, judge, judges

FAMILIES = (cd, common, dc, hi, moment, order, progress, st, td)  # importing them registers their judges

__all__ = ["FAMILIES", "Judge", "Outcome", "Verdict", "find_judge", "judge", "judges"]
