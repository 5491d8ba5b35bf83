"""The words that other parts of the testbed give meaning to: properties and metrics. Imported when they are needed."""

from __future__ import annotations

from nodes.machine import ProtocolSpec


def properties(spec: ProtocolSpec | None) -> frozenset[str]:
    """The properties that there are judges for."""
    from harness.judges import judges

    return frozenset(judge.property for judge in judges()) | frozenset(spec.properties if spec else ())


def metrics() -> frozenset[str]:
    """The metrics that can be computed from captures."""
    from harness.metrics import METRICS

    return frozenset(METRICS)
