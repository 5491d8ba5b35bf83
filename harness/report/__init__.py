"""The report of a run, a page that opens from the disk.

report.html is a function of the run directory: equal runs give equal bytes.
"""

from __future__ import annotations

from pathlib import Path

from harness.manifest import Manifest
from harness.report import asked, verdict
from harness.report.explorer import SCRIPTS, STYLES, columns_of, explorer, keys
from harness.report.page import asset, escape, page
from harness.report.scene import make_scene
from harness.rundir import RunDir
from harness.scenario import dump
from harness.verdict import Result

__all__ = ["is_outdated", "render", "write_report"]


def write_report(result: Result) -> Path:
    """Write report.html of a run that has been judged."""
    target = result.run.where.report
    target.write_text(render(result), encoding="utf-8")
    return target


def render(result: Result) -> str:
    """The report as HTML."""
    scenario, manifest = result.scenario, result.run.manifest
    scene = make_scene(scenario, result.evidence, verdict.failures_of(result))
    text = dump(scenario)
    body = "".join(
        (
            verdict.section(result),
            f"<h2 class=happened>What happened</h2>{explorer('columns', 'space-time diagram')}{keys()}",
            asked.section(scene, scenario, result.evidence, manifest),
            _replay(manifest),
            '<details class="screen"><summary>the scenario, with all its defaults</summary>'
            f"<pre>{escape(text)}</pre></details>",
        )
    )
    return page(
        title=f"{scenario.name} · tutti",
        header=verdict.header(result),
        body=body,
        styles=STYLES,
        scripts=SCRIPTS,
        data={"columns": columns_of(scene)},
        start=asset("report.js"),
        bokeh=True,
    )


def _replay(manifest: Manifest | None) -> str:
    made_by = "" if manifest is None else f" (tutti {escape(manifest.tutti)}, kernel {escape(manifest.kernel.version)})"
    virtual = manifest is not None and manifest.engine == "virtual"
    same = "every frame will be the same" if virtual else "its times will differ"
    return (
        f'<h2>Again</h2><p class="soft">In the directory of this run{made_by}; {same}.</p>'
        "<pre>tutti run scenario.toml --out again    # the same run\n"
        "tutti diff . again                     # where two runs part\n"
        "tutti check .                          # judge these captures again</pre>"
    )


def is_outdated(where: RunDir) -> bool:
    """Is there no report yet, or was the run, or the rules of judging it, changed since it was made?"""
    if not where.report.is_file():
        return True
    made = where.report.stat().st_mtime_ns
    sources = [where.scenario, where.manifest, where.verdict, *where.captures.glob("*.pcap")]
    return any(path.stat().st_mtime_ns >= made for path in sources if path.is_file())
