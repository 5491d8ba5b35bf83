"""The pictures of the README, made by the software itself: run, judge, report, open, photograph.

python -m harness.bench.pictures docs/pictures
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.bench.browser import Browser
from harness.bench.emulated import carry_out_below
from harness.report import write_report
from harness.scenario import load
from harness.scenario.find import find
from harness.verdict import judge_run


@dataclass(frozen=True, slots=True)
class Picture:
    """One run, and what of its report is shown."""

    file: str
    scenario: str
    look: str  # a script: what is chosen
    width: int = 1240
    dark: bool = False


_EXPLORER = "tutti.explorers[0]"
PICTURES = (
    Picture(
        "st-loss-recovered.png",
        "st/lost-rst",
        f"(() => {{ const {{ diagram, model }} = {_EXPLORER}, [[first, [later]]] = model.again;"
        " const x0 = model.sx[first], x1 = model.sx[later], span = x1 - x0;"
        " diagram.setRange(x0 - .18 * span, x1 + .55 * span);"
        " diagram.select({ what: 'send', index: later }); })()",
    ),
    Picture("st-printed-rule.png", "st/printed-line", f"{_EXPLORER}.showFailure(0)"),
    Picture("jgroups-overtaken.png", "peers/jgroups-overtakes", f"{_EXPLORER}.showFailure(0)"),
    Picture(
        "him-alarm.png",
        "him/dead-node",
        f"(() => {{ const {{ diagram, model }} = {_EXPLORER}, i = model.notes.kind.indexOf(9);"
        f" for (const node of [7, 8, 9, 10]) model.filter.nodes.delete(node); {_EXPLORER}.filtered();"
        " diagram.select({ what: 'note', index: i }); })()",
    ),
)
_BOX = """(() => {
  const [stage, under, legend] = ['.stage', '.under', '.legend']
    .map((name) => document.querySelector(name).getBoundingClientRect());
  const height = under.bottom - legend.top + 12;
  return { x: stage.x - 8, y: legend.y - 6 + scrollY, width: stage.width + 16, height };
})()"""


def take(picture: Picture, directory: Path, browser: Browser) -> Path:
    """Run the scenario and photograph its diagram."""
    scenario = load(find(picture.scenario))
    with tempfile.TemporaryDirectory(prefix="tutti-picture-") as name:
        result = judge_run(carry_out_below(Path(name), scenario))
        browser.dark(picture.dark)
        browser.open(write_report(result))
        browser.run(picture.look)
        browser.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 300))))"
        )
        directory.mkdir(parents=True, exist_ok=True)
        target = directory / picture.file
        target.write_bytes(browser.picture(browser.run(_BOX), whole=True))
    return target


def main(directory: Path) -> None:
    """All pictures."""
    for picture in PICTURES:
        with Browser(picture.width, 1000) as browser:
            path = take(picture, directory, browser)
        sys.stderr.write(f"{path}: {path.stat().st_size // 1000} kB\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
