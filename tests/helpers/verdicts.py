"""What the judges say about an in-memory run, in the short form that machine tests need."""

from __future__ import annotations

from captures.evidence import Event, Evidence
from harness.judges import Outcome, judge


def objections(history: Evidence, *properties: str) -> list[str]:
    """The sentences of the verdicts that are not pass."""
    return [
        f"{verdict.property}: {verdict.sentence}"
        for verdict in judge(history, properties)
        if verdict.outcome is not Outcome.PASS
    ]


def out_of_order(history: Evidence) -> tuple[Event, ...]:
    """Of messages delivered at one node against causal order: the first such pair of deliveries, or none."""
    (verdict,) = judge(history, ["DC-1"])
    assert verdict.outcome is not Outcome.UNKNOWN, verdict.sentence
    return verdict.events
