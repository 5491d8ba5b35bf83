"""`tutti show`: the report of a run, a page that opens from the disk, or text on a terminal.

report.html is a function of the run directory: equal runs give equal bytes. It is made when somebody wants to see it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.check import Result, checked, document
from harness.report import asked, verdict
from harness.report.explorer import SCRIPTS, STYLES, columns_of, explorer, keys
from harness.report.page import asset, escape, page
from harness.report.scene import make_scene
from harness.report.text import as_text
from harness.rundir import RunDir
from harness.scenario import dump
from harness.terminal import ProgressLine

__all__ = ["render", "show_command", "write_report"]


def write_report(run_dir: Path, result: Result | None = None) -> Path:
    """Write report.html of a run; judges it (and writes verdict.json) if that has not been done."""
    where = RunDir(Path(run_dir))
    where.report.write_text(render(where, result or checked(where.path)), encoding="utf-8")
    return where.report


def render(where: RunDir, result: Result) -> str:
    """The report as HTML."""
    scenario = result.scenario
    scene = make_scene(scenario, result.history, where.captures, verdict.failures_of(result))
    manifest = manifest_of(where)
    text = dump(scenario)
    body = "".join(
        (
            verdict.section(result),
            f"<h2 class=happened>What happened</h2>{explorer('columns', 'space-time diagram')}{keys()}",
            asked.section(scene, scenario, result.history, manifest),
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


def manifest_of(where: RunDir) -> Mapping[str, Any]:
    """What the harness noted; nothing if there is no (whole) manifest."""
    try:
        found = json.loads(where.manifest.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _replay(manifest: Mapping[str, Any]) -> str:
    kernel = manifest.get("kernel", "")
    of_kernel = f" (kernel {escape(kernel)})" if isinstance(kernel, str) and kernel else ""
    same = "every frame will be the same" if manifest.get("engine") == "virtual" else "its times will differ"
    return (
        f'<h2>Again</h2><p class="soft">In the directory of this run{of_kernel}; {same}.</p>'
        "<pre>tutti run scenario.toml --out again    # the same run\n"
        "tutti diff . again                     # where two runs part\n"
        "tutti check .                          # judge these captures again</pre>"
    )


def show_command(arguments: argparse.Namespace) -> int:
    """`tutti show RUN`."""
    where, line = RunDir(Path(arguments.run)), ProgressLine(arguments.run)
    if arguments.text or arguments.json:
        with line.during("judging"):
            result = checked(where.path)
        if arguments.json:
            print(json.dumps(document(result), indent=1, sort_keys=True, ensure_ascii=False))
        else:
            print(as_text(where, result))
        return 0
    if not where.report.is_file() or _older(where):
        with line.during("drawing the report"):
            write_report(where.path)
    print(where.report)
    if sys.stdout.isatty() and os.environ.get("DISPLAY"):
        subprocess.Popen(["xdg-open", str(where.report)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 0


def _older(where: RunDir) -> bool:
    """Was the run, or were the rules of judging it, changed since the report was made?"""
    made = where.report.stat().st_mtime_ns
    sources = [where.scenario, where.manifest, where.verdict, *where.captures.glob("*.pcap")]
    return any(path.stat().st_mtime_ns >= made for path in sources if path.is_file())
