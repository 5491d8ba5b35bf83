"""`tutti check`: from the captures of a run and its scenario to verdict.json, whenever, wherever, with equal bytes.

What is judged: the properties of the protocol and those that the scenario expects, then the expected metrics. A
property is expected to pass unless the scenario says "fail": the printed rules of the papers are kept as the proof
that the judges see.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captures.history import Event, History
from captures.run_history import load_history
from harness.judges import Outcome, Verdict, judge
from harness.metrics import measure
from harness.rundir import RunDir, RunDirError, write_json
from harness.scenario import Scenario, load
from harness.scenario.model import Expect
from harness.terminal import ProgressLine, painted
from nodes.protocols import protocol

PASS, VIOLATED, UNKNOWN = 0, 1, 2
FORMAT = 1  # of verdict.json
EXACT = frozenset({"PROMPT"})  # properties of virtual time, which no machine keeps in real time


@dataclass(frozen=True, slots=True)
class Judged:
    """One property and what was expected of it."""

    verdict: Verdict
    expected: Outcome

    @property
    def outcome(self) -> Outcome:
        """Is it as expected?"""
        if self.verdict.outcome is self.expected:
            return Outcome.PASS  # also where a scenario expects that nobody can tell: a run that never falls silent
        return Outcome.UNKNOWN if self.verdict.outcome is Outcome.UNKNOWN else Outcome.FAIL


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric and what was expected of it."""

    expect: Expect
    value: float | None
    complete: bool  # measured on evidence without holes

    @property
    def outcome(self) -> Outcome:
        """Is it as expected?"""
        if self.value is None or not self.complete:
            return Outcome.UNKNOWN
        return Outcome.PASS if self.expect.holds(self.value) else Outcome.FAIL


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that was decided about a run."""

    scenario: Scenario
    history: History
    properties: tuple[Judged, ...]
    metrics: tuple[Measured, ...]

    @property
    def outcome(self) -> Outcome:
        """All is as expected; or something is not; or it cannot be told."""
        outcomes = [one.outcome for one in self.properties] + [one.outcome for one in self.metrics]
        if Outcome.FAIL in outcomes:
            return Outcome.FAIL
        if Outcome.UNKNOWN in outcomes or self.history.holes:
            return Outcome.UNKNOWN
        return Outcome.PASS

    @property
    def status(self) -> int:
        """The exit status that says so."""
        return {Outcome.PASS: PASS, Outcome.FAIL: VIOLATED, Outcome.UNKNOWN: UNKNOWN}[self.outcome]


def check(run: Path | str) -> int:
    """Judge a run directory, write its verdict.json, return the exit status."""
    return checked(run).status


def checked(run: Path | str) -> Result:
    """Judge a run directory and write its verdict.json."""
    where = RunDir(Path(run))
    if not where.scenario.is_file() or not where.captures.is_dir():
        raise RunDirError(f"{run} is no run directory: it needs scenario.toml and captures/")
    result = evaluate(load(where.scenario, judged=True), where.captures, _manifest(where.manifest))
    write_json(where.verdict, document(result))
    return result


def _manifest(path: Path) -> Mapping[str, Any]:
    """What the harness noted about the run; nothing if there is no manifest."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise RunDirError(f"{path} is no JSON: {error}") from None
    return found if isinstance(found, dict) else {}


def evaluate(scenario: Scenario, captures: Path, manifest: Mapping[str, Any]) -> Result:
    """Judge the captures of a scenario."""
    history = load_history(
        captures,
        nodes=range(1, scenario.topology.nodes + 1),
        counters=manifest.get("captures", {}),
        settings=settings_of(scenario.options),
        segments=protocol(scenario.protocol).transport == "tcp",
        protocol=scenario.protocol,
        options=scenario.options,
    )
    if "failed" in manifest:
        reason = "manifest.json: the run was not carried out to its end"
        history = dataclasses.replace(history, holes=(*history.holes, reason))
    expected = dict.fromkeys(protocol(scenario.protocol).properties, Outcome.PASS)
    for expect in scenario.expect:
        if expect.property is not None and not (expect.property in EXACT and scenario.engine == "live"):
            expected[expect.property] = Outcome(expect.verdict or "pass")
    verdicts = judge(history, expected)
    properties = [Judged(verdict, expected[verdict.property]) for verdict in verdicts]
    metrics = [
        Measured(expect, measure(history, expect.metric), not history.holes)
        for expect in scenario.expect
        if expect.metric is not None
    ]
    return Result(scenario, history, tuple(properties), tuple(metrics))


def settings_of(options: Any) -> dict[str, int | float | str]:
    """The protocol's options that are plain values, by their field names."""
    found = {one.name: getattr(options, one.name) for one in dataclasses.fields(options)}
    return {name: value for name, value in found.items() if isinstance(value, int | float | str)}


# verdict.json. No path, no time of this machine: equal captures give equal bytes.


def document(result: Result) -> dict[str, Any]:
    """The verdict as it is written."""
    history = result.history
    return {
        "format": FORMAT,
        "outcome": result.outcome,
        "scenario": result.scenario.name,
        "protocol": result.scenario.protocol,
        "seed": result.scenario.seed,
        "evidence": {
            "holes": list(history.holes),
            "notes": len(history.events),
            "frames": len(history.transmissions),
        },
        "properties": [_judged(one) for one in result.properties],
        "metrics": [_measured(one) for one in result.metrics],
    }


def _judged(one: Judged) -> dict[str, Any]:
    return {
        "property": one.verdict.property,
        "outcome": one.verdict.outcome,
        "expected": one.expected,
        "as_expected": one.outcome,
        "sentence": one.verdict.sentence,
        "events": [_event(event) for event in one.verdict.events],
        "excerpt": list(one.verdict.excerpt),
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "node": event.node,
        "kind": event.kind.name,
        "about": event.about,
        "seq": event.seq,
        "time_ns": event.time_ns,
        "capture": event.capture,
        "frame": event.frame,
    }


def _measured(one: Measured) -> dict[str, Any]:
    limits = {name: getattr(one.expect, name) for name in ("near", "tolerance", "at_most", "at_least")}
    return {
        "metric": one.expect.metric,
        "value": one.value,
        "as_expected": one.outcome,
        **{name: value for name, value in limits.items() if value is not None},
    }


# For people.

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
        value = "no value" if measured.value is None else f"{measured.value:.6g}"
        lines.append(
            f"{_sign(measured.outcome)} {measured.expect.metric}: {value}, expected {_limits(measured.expect)}"
        )
    for hole in result.history.holes:
        lines.append(f"hole     {hole}")
    _, all_in_all, colour = _SIGNS[result.outcome]
    lines.append(painted(all_in_all, colour))
    return "\n".join(lines)


def _limits(expect: Expect) -> str:
    parts = []
    if expect.near is not None:
        parts.append(f"{expect.near:g} within {100 * (expect.tolerance or 0):g}%")
    if expect.at_least is not None:
        parts.append(f"at least {expect.at_least:g}")
    if expect.at_most is not None:
        parts.append(f"at most {expect.at_most:g}")
    return " and ".join(parts)


def check_command(arguments: argparse.Namespace) -> int:
    """`tutti check RUN`."""
    with ProgressLine(arguments.run).during("judging"):
        result = checked(arguments.run)
    if arguments.json:
        print(json.dumps(document(result), indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print(summary(result))
    return result.status
