"""What was decided, as HTML: the verdict, every property, every failure with its excerpt and frame numbers."""

from __future__ import annotations

from harness.judges import Outcome, Verdict, find_judge
from harness.report.page import badge, escape, table
from harness.summary import limits_as_text
from harness.verdict import Measured, Result

_WORDS = {
    Outcome.PASS: ("✓", "Everything is as expected."),
    Outcome.FAIL: ("✗", "Not as expected."),
    Outcome.UNKNOWN: ("?", "Unknown: the evidence does not suffice."),
}


def failures_of(result: Result) -> list[tuple[Verdict, bool]]:
    """The violated properties, and whether each was expected to be."""
    failed = [one for one in result.properties if one.verdict.outcome is Outcome.FAIL]
    return [(one.verdict, one.outcome is Outcome.PASS) for one in failed]


def header(result: Result) -> str:
    """Name, what it is about, and the verdict."""
    scenario = result.scenario
    rules = getattr(scenario.options, "rules", "")
    facts = [
        scenario.protocol.upper() + (f", {rules} rules" if rules else ""),
        f"{scenario.topology.nodes} nodes, {scenario.topology.kind}",
        f"seed {scenario.seed}",
        f"{scenario.engine} time",
    ]
    sign, sentence = _WORDS[result.outcome]
    counts = {outcome: sum(one.verdict.outcome is outcome for one in result.properties) for outcome in Outcome}
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    about = f'<p class="about">{escape(scenario.description)}</p>' if scenario.description else ""
    return (
        f'<div class="title"><div class="brand"><b>tutti</b> run report</div><h1>{escape(scenario.name)}</h1>'
        f'<div class="soft">{escape("  ·  ".join(facts))}</div>{about}</div>'
        f'<div class="verdict {result.outcome}" id="verdict"><span aria-hidden="true">{sign}</span>'
        f"<span>{escape(sentence)}<br><small class=soft>properties: {escape(counted or 'none')}</small></span></div>"
    )


def section(result: Result) -> str:
    """Everything that was judged or measured against an expectation."""
    failures = [verdict.property for verdict, _ in failures_of(result)]
    rows = []
    for one in result.properties:
        verdict = one.verdict
        expected = " as it should" if one.outcome is Outcome.PASS and verdict.outcome is not Outcome.PASS else ""
        say = f'<div class="sentence">{escape(verdict.sentence)}</div>'
        if verdict.property in failures:
            say += _excerpt(verdict, failures.index(verdict.property), is_open=one.outcome is not Outcome.PASS)
        rows.append(
            [
                f"<b>{escape(verdict.property)}</b>",
                badge(verdict.outcome, verdict.outcome + expected),
                say,
                f'<span class="soft">{escape(find_judge(verdict.property).meaning)}</span>',
            ]
        )
    parts = ["<h2>Verdict</h2>", table(("property", "", "what was found", "what it asks"), rows)]
    if result.metrics:
        parts.append(_metrics(result.metrics))
    if result.never:
        sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in result.never)
        parts.append(f"<h3>Faults that did not happen</h3><ul>{sentences}</ul>")
    if result.evidence.holes:
        holes = "".join(f"<li>{escape(hole)}</li>" for hole in result.evidence.holes)
        parts.append(f"<h3>Holes in the evidence</h3><ul>{holes}</ul>")
    return "".join(parts)


def _excerpt(verdict: Verdict, number: int, *, is_open: bool) -> str:
    """One event per line: capture and frame first, so that it is found in Wireshark."""
    lines = [[escape(part) for part in line.split("  ", 4)] for line in verdict.excerpt]
    width = max(map(len, lines), default=0)
    rows = [[*line, *[""] * (width - len(line))] for line in lines]
    return (
        f'<p class="screen"><button type="button" data-failure="{number}">show it in the diagram</button></p>'
        f"<details class=paper{' open' if is_open else ''}><summary>the {len(rows)} events that show it</summary>"
        f"{table((), rows, classes='excerpt')}</details>"
    )


def _metrics(metrics: tuple[Measured, ...]) -> str:
    rows = []
    for one in metrics:
        value = "none" if one.value is None else f"{one.value:.6g}"
        limits = escape(limits_as_text(one.expect))
        rows.append([f"<b>{escape(one.expect.metric)}</b>", badge(one.outcome), value, limits])
    return table(("metric", "", "measured", "expected"), rows, numbers=(2, 3))
