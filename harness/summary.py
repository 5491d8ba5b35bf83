"""What was decided about a run, for people at a terminal."""

from __future__ import annotations

from harness.judges import Outcome
from harness.scenario.model import Expect
from harness.terminal import painted
from harness.verdict import Measured, Result

_SIGNS = {
    Outcome.PASS: ("ok", "all as expected", "good"),
    Outcome.FAIL: ("NOT OK", "NOT as expected", "bad"),
    Outcome.UNKNOWN: ("unknown", "unknown", "unsure"),
}


def _sign(outcome: Outcome) -> str:
    word, _, colour = _SIGNS[outcome]
    return painted(f"{word:8}", colour)


def summary(result: Result) -> str:
    """What a person is told."""
    lines = []
    for judged in result.properties:
        expected = "" if judged.expected is Outcome.PASS else " (as it should)" * (judged.outcome is Outcome.PASS)
        lines.append(
            f"{_sign(judged.outcome)} {judged.verdict.property:9} {judged.verdict.outcome}{expected}: "
            f"{judged.verdict.sentence}"
        )
        if judged.outcome is Outcome.FAIL:
            lines += [f"             {line}" for line in judged.verdict.excerpt]
    for measured in result.metrics:
        lines.append(f"{_sign(measured.outcome)} {measured_as_text(measured)}")
    lines += [f"{painted('never', 'unsure')}    {sentence}" for sentence in result.never]
    for hole in result.evidence.holes:
        lines.append(f"hole     {hole}")
    _, all_in_all, colour = _SIGNS[result.outcome]
    lines.append(painted(all_in_all, colour))
    return "\n".join(lines)


def measured_as_text(measured: Measured) -> str:
    """A metric, its value, and what was expected of it."""
    value = "no value" if measured.value is None else f"{measured.value:.6g}"
    return f"{measured.expect.metric}: {value}, expected {limits_as_text(measured.expect)}"


def limits_as_text(expect: Expect) -> str:
    """What a metric may be."""
    parts = []
    if expect.near is not None:
        parts.append(f"{expect.near:g} within {100 * (expect.tolerance or 0):g}%")
    if expect.at_least is not None:
        parts.append(f"at least {expect.at_least:g}")
    if expect.at_most is not None:
        parts.append(f"at most {expect.at_most:g}")
    return " and ".join(parts)
