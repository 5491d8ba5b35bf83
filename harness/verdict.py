"""From the captures of a run and its scenario to verdict.json, whenever, wherever, with equal bytes.

What is judged: the properties of the protocol and those that the scenario expects, then the expected metrics. A
property is expected to pass unless the scenario says "fail": the printed rules of the papers are kept as the proof
that the judges see.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from captures.evidence import CHANNEL, Event, Evidence
from captures.load import load_evidence
from captures.metrics import measure
from harness.judges import Outcome, Verdict, judge
from harness.runs import Run
from harness.scenario import Scenario
from harness.scenario.faults.chosen import PduFault
from harness.scenario.model import Expect
from harness.status import PASS, UNKNOWN, VIOLATED
from harness.typed import as_json
from nodes.protocols import protocol
from nodes.wire.note import Never, NoteKind, said

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

    run: Run
    evidence: Evidence
    properties: tuple[Judged, ...]
    metrics: tuple[Measured, ...]

    @property
    def scenario(self) -> Scenario:
        return self.run.scenario

    @property
    def never(self) -> tuple[str, ...]:
        """The faults that did not happen though the scenario has them, in words."""
        notes, hosts = self.evidence.notes, self.scenario.plan().hosts
        done = {event.text for event in notes.events(NoteKind.FAULT)}
        marks = [said(Never, mark.values) for mark in notes.events(NoteKind.MARK) if mark.text == "never"]
        found = []
        for number, fault in enumerate(self.scenario.fault, 1):
            if Never(number) in marks:
                reason = "its moment did not come, or what it was to act on was not there"
            elif isinstance(fault, PduFault) and done.isdisjoint(
                fault.note(one).text for one in fault.towards or hosts
            ):
                reason = "no PDU was as it says"
            else:
                continue
            found.append(f"fault {number} ({fault.KIND}) never happened: {reason}")
        return tuple(found)

    @property
    def outcome(self) -> Outcome:
        """All is as expected; or something is not; or it cannot be told."""
        outcomes = [one.outcome for one in self.properties] + [one.outcome for one in self.metrics]
        if Outcome.FAIL in outcomes:
            return Outcome.FAIL
        if Outcome.UNKNOWN in outcomes or self.evidence.holes:
            return Outcome.UNKNOWN
        return Outcome.PASS

    @property
    def status(self) -> int:
        """The exit status that says so."""
        return {Outcome.PASS: PASS, Outcome.FAIL: VIOLATED, Outcome.UNKNOWN: UNKNOWN}[self.outcome]


def judge_run(run: Run) -> Result:
    """Judge a run and write its verdict.json."""
    result = judge_captures(run)
    run.where.verdict.write_text(as_json(document(result)))
    return result


def judge_captures(run: Run) -> Result:
    """The same, and nothing is written."""
    scenario = run.scenario
    plan = scenario.plan()
    evidence = load_evidence(
        run.where.captures,
        nodes=range(1, scenario.topology.nodes + 1),
        points={*plan.hosts, *plan.routers, CHANNEL, "harness"},
        counters={} if run.manifest is None else run.manifest.findings.captures,
        protocol=scenario.protocol,
        options=scenario.options,
    )
    if run.manifest is not None and run.manifest.failed:
        reason = "manifest.json: the run was not carried out to its end"
        evidence = dataclasses.replace(evidence, holes=(*evidence.holes, reason))
    expected, measures = expectations(scenario)
    properties = [Judged(verdict, expected[verdict.property]) for verdict in judge(evidence, expected)]
    metrics = [Measured(one, measure(evidence, str(one.metric)), not evidence.holes) for one in measures]
    return Result(run, evidence, tuple(properties), tuple(metrics))


def expectations(scenario: Scenario) -> tuple[dict[str, Outcome], list[Expect]]:
    """What is judged of a run, with the outcome it should have; and the expectations about metrics."""
    expected = dict.fromkeys(protocol(scenario.protocol).properties, Outcome.PASS)
    for expect in scenario.expect:
        if expect.property is not None and not (expect.property in EXACT and scenario.engine == "live"):
            expected[expect.property] = Outcome(expect.verdict or "pass")
    return expected, [expect for expect in scenario.expect if expect.metric is not None]


# verdict.json. No path, no time of this machine: equal captures give equal bytes.


def document(result: Result) -> dict[str, Any]:
    """The verdict as it is written."""
    evidence = result.evidence
    return {
        "format": FORMAT,
        "outcome": result.outcome,
        "scenario": result.scenario.name,
        "protocol": result.scenario.protocol,
        "seed": result.scenario.seed,
        "evidence": {
            "holes": list(evidence.holes),
            "never": list(result.never),
            "notes": len(evidence.notes),
            "frames": len(evidence.frames),
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
