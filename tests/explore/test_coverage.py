"""The coverage page: what of docs/states.md was reached, and which milestones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from harness.cli import main
from harness.explore.base import base_of
from harness.explore.coverage import coverage
from harness.explore.diagrams import drawn
from harness.explore.search import Tally


def test_what_was_reached_and_what_was_not_stand_on_the_diagram() -> None:
    changes = Counter({("[*]", "DATA", "submit"): 4, ("[*]", "PAKWAIT", "RST"): 2, ("DATA", "PAKWAIT", "RST"): 3})
    text = coverage(base_of("st"), Tally(changes=changes, milestones={"a snapshot was said again": 17}))
    assert "3 of 12" not in text and "2 of 12 changes were reached" in text
    assert "<title>[*] → DATA: 6</title>" in text and "<title>DATA → PAKWAIT: 5</title>" in text
    assert "<title>ACKWAIT → DATA: 0</title>" in text and "run 17" in text and "not drawn" not in text
    for one, other in drawn()["st"]:
        assert f"<title>{one} → {other}: " in text


def test_what_the_diagram_lacks_is_told() -> None:
    text = coverage(base_of("to"), Tally(changes=Counter({("left", "normal", "DATA"): 1})))
    assert "not drawn" in text and "left → normal" in text


@pytest.mark.parametrize("name", ["st", "cmd"])
def test_the_command_writes_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explore", name, "--runs", "40", "--jobs", "1", "--memory-only", "--out", str(tmp_path / "out")]
    words += ["--set", "explore.most_faults=0"]
    assert main([*words, "--coverage", str(tmp_path / "page.html")]) == 0
    told = capsys.readouterr().out
    text = (tmp_path / "page.html").read_text()
    assert text == (tmp_path / "out" / "coverage.html").read_text()
    missed = [line.removeprefix("never came to it: ") for line in told.splitlines() if line.startswith("never came")]
    assert missed and all(f">never</span></td><td>{one}</td>" in text for one in missed)
    assert ("<h2>States</h2>" in text) == (name in drawn())
