"""Two runs on one page: the same time axis, one below the other, and the first frame at which they part."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

from harness.diff import Parting, dissect, first_parting
from harness.report import verdict
from harness.report.explorer import SCRIPTS, STYLES, columns_of, explorer, keys
from harness.report.page import asset, badge, escape, page
from harness.report.scene import Scene, common_folding, make_scene
from harness.runs import open_run
from harness.scenario import Scenario
from harness.verdict import judge_captures


def write_pair(left: Path, right: Path, target: Path, found: Parting | None = None) -> Path:
    """Write the page about two runs; `found` is where they part, if that is known already."""
    found = found or first_parting(left, right)
    (one, first), (other, second) = (_scene(run) for run in (left, right))
    folding = common_folding([first, second])
    first, second = replace(first, folding=folding), replace(second, folding=folding)
    time_ns = None if found is None else found.time_ns
    body = "".join(
        (
            _parting(found, (left.name or "left", right.name or "right")),
            keys(),
            *(
                f"<h2>{escape(run.name)} <span class=soft>{escape(scenario.name)}, seed {scenario.seed}</span></h2>"
                + explorer(name, f"space-time diagram of {run.name}", states=False)
                for run, scenario, name in ((left, one, "left"), (right, other, "right"))
            ),
        )
    )
    text = page(
        title=f"{left.name} and {right.name} · tutti",
        header=_header(found, left, right),
        body=body,
        styles=STYLES,
        scripts=SCRIPTS,
        start=asset("report.js"),
        bokeh=True,
        classes="pair",
        data={"left": columns_of(first, time_ns), "right": columns_of(second, time_ns)},
    )
    target.write_text(text, encoding="utf-8")
    return target


def _scene(run: Path) -> tuple[Scenario, Scene]:
    result = judge_captures(open_run(run))
    scene = make_scene(result.scenario, result.evidence, verdict.failures_of(result))
    return result.scenario, scene


def _header(found: Parting | None, left: Path, right: Path) -> str:
    said = badge("pass", "equal: every frame of every capture") if found is None else badge("unknown", "they part")
    return (
        '<div class="title"><div class="brand"><b>tutti</b> two runs compared</div>'
        f'<h1>{escape(left.name)} <span class="soft">and</span> {escape(right.name)}</h1></div>{said}'
    )


def _parting(found: Parting | None, names: tuple[str, str]) -> str:
    if found is None:
        return ""
    sides: tuple[list[str], list[str]] = ([], [])
    for one, other in itertools.zip_longest(dissect(found.left), dissect(found.right), fillvalue=""):
        for side, line in zip(sides, (one, other), strict=True):
            text = escape(line)
            side.append(text if one == other else f'<span class="differs">{text or " "}</span>')
    columns = "".join(
        f"<div><b>{escape(name)}</b><pre>{chr(10).join(side)}</pre></div>"
        for name, side in zip(names, sides, strict=True)
    )
    return (
        f"<h2>Where they part</h2><p>In <code>{escape(found.capture)}</code> at frame {found.frame}, "
        f'{found.time_ns / 1e9:.9f} s; all frames before it are equal.</p><div class="two keep">{columns}</div>'
    )
