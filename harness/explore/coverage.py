"""The coverage page of a search: the diagrams of docs/states.md with what was reached and what was not, milestones, and
what came in which phase. Made as the report of a run is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from harness.explore.diagrams import Seen, drawn, svg
from harness.explore.novelty import BEGIN, Change
from harness.explore.search import Tally
from harness.report.page import badge, escape, page, table
from harness.scenario.model import Scenario
from nodes.protocols import protocol


def write_coverage(path: Path, base: Scenario, tally: Tally) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(coverage(base, tally), encoding="utf-8")


def coverage(base: Scenario, tally: Tally) -> str:
    """The page."""
    diagram = drawn().get(base.protocol)
    body = "".join(
        (
            _milestones(base, tally),
            "" if diagram is None else _states(diagram, tally),
            _phases(tally),
        )
    )
    header = (
        f'<div class="title"><div class="brand"><b>tutti</b> explore · coverage</div><h1>{escape(base.name)}</h1>'
        f'<p class="about">{tally.runs} runs in {tally.seconds:.0f} s, {len(tally.words)} different things seen, '
        f"{tally.reached} changes of state among them; the last new one of these, or new milestone, in run "
        f"{tally.newest}; {len(tally.failures)} failures.</p></div>"
    )
    return page(title=f"coverage {base.name} · tutti", header=header, body=body, styles=("coverage.css",))


def _milestones(base: Scenario, tally: Tally) -> str:
    rows = []
    for one in protocol(base.protocol).milestones:
        run = tally.milestones.get(one.name)
        steps = " … ".join(one.steps) + (f" without {', '.join(one.without)}" if one.without else "")
        mark = badge("unknown", "never") if run is None else badge("pass", f"run {run}")
        rows.append([mark, escape(one.name), f"<code>{escape(steps)}</code>"])
    return "<h2>Milestones</h2>" + table(("first reached", "what", "steps of one node"), rows) if rows else ""


def _states(diagram: Seen, tally: Tally) -> str:
    """The diagram, and its changes one by one."""
    seen = as_drawn(diagram, tally.changes)
    counts = Counter[tuple[str, str]]()
    for (one, other, _), count in seen.items():
        counts[one, other] += count
    rows = []
    for change in sorted(diagram.keys() | counts.keys()):
        triggers = sorted(diagram.get(change, set()) | {by for a, b, by in seen if by and (a, b) == change})
        shown = " ".join(_trigger(by, seen[(*change, by)]) for by in triggers)
        mark = badge("pass" if counts[change] else "unknown", "reached" if counts[change] else "never")
        if change not in diagram:
            mark = badge("fail", "not drawn")
        rows.append([mark, escape(f"{change[0]} → {change[1]}"), str(counts[change]), shown])
    missed = sum(not counts[change] for change in diagram)
    told = f"{len(diagram) - missed} of {len(diagram)} changes were reached. The numbers say how often, in all runs; "
    return (
        f'<h2>States</h2><p class="soft">{told}what is dashed was never reached.</p>'
        f'<div class="panel">{svg(diagram, counts)}</div>'
        + table(("", "change", "times", "by what, and how often"), rows, numbers=(2,))
    )


def as_drawn(diagram: Seen, changes: Mapping[Change, int]) -> Counter[Change]:
    """Changes that were seen, as the diagram tells them: where it says in which state a machine begins, the first step
    leaves that one."""
    first = next((other for (one, other), by in diagram.items() if one == BEGIN and not by), None)
    found = Counter[Change]()
    for (one, other, by), count in changes.items():
        if one == BEGIN and first is not None:
            found[BEGIN, first, ""] += count
            if other != first:
                found[first, other, by] += count
        else:
            found[one, other, by] += count
    return found


def _trigger(by: str, count: int) -> str:
    return f'<span class="by{"" if count else " missed"}">{escape(by)} <b>{count}</b></span>'


def _phases(tally: Tally) -> str:
    """What came in which phase: in how many ways it went on (the phase after, and what had struck last)."""
    ways = Counter((word[0], word[1]) for word in tally.words if len(word) == 4)
    inputs = sorted({came for _, came in ways})
    phases = sorted({phase for phase, _ in ways})
    rows = [[escape(phase or "(start)"), *(str(ways[phase, came] or "·") for came in inputs)] for phase in phases]
    return (
        '<h2>Phases</h2><p class="soft">What a machine took in, by the phase in which it was: the number says in how '
        "many different ways it went on (its phase afterwards, and which fault had struck last).</p>"
        + table(("phase", *inputs), rows, numbers=range(1, len(inputs) + 1), classes="phases")
    )
