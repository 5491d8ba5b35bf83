"""The words that other parts of the testbed give meaning to: properties and metrics. Imported when they are needed."""

from __future__ import annotations


def properties() -> frozenset[str]:
    """The properties that there are judges for."""
    from harness.judges import judges

    return frozenset(judge.property for judge in judges())


def metrics() -> frozenset[str]:
    """The metrics that can be computed from captures."""
    from captures.metrics import METRICS

    return frozenset(METRICS)
