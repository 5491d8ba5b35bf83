"""The words that other parts of the testbed give meaning to: properties and metrics.

Each is registered by a decorator, and is looked for in the sources first: to import all judges and metrics takes longer
than everything else that comes before a run. They are imported when a word is not found, to name the nearest.
"""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def is_property(word: str) -> bool:
    """Is there a judge for it?"""
    return word in _registered("harness/judges", "judge_of") or word in properties()


def is_metric(word: str) -> bool:
    """Can it be computed from captures?"""
    return word in _registered("captures/metrics", "metric") or word in metrics()


def properties() -> frozenset[str]:
    """The properties that there are judges for."""
    from harness.judges import judges

    return frozenset(judge.property for judge in judges())


def metrics() -> frozenset[str]:
    """The metrics that can be computed from captures."""
    from captures.metrics import METRICS

    return frozenset(METRICS)


def _registered(package: str, decorator: str) -> set[str]:
    """The words that the sources of a package write out in such a decorator."""
    pattern = re.compile(rf'^@{decorator}\(\s*"([^"]+)"', re.MULTILINE)
    return {word for path in (_ROOT / package).glob("*.py") for word in pattern.findall(path.read_text("utf-8"))}
