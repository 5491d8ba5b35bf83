"""The documentation speaks of things that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.scenario import load
from harness.scenario.find import SHIPPED, find
from tests import ROOT

PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)
SCENARIO = re.compile(r"(?<![\w/])((?:raw|st|to|delta|cmd|him|peers|maelstrom)/[a-z0-9-]+)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_scenarios_that_are_named_exist(page: Path) -> None:
    for name in sorted(set(SCENARIO.findall(page.read_text()))):
        find(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text()
    for name in sorted(
        set(re.findall(r"`((?:nodes|topologies|harness|captures|tests|docs)/[\w./-]+?\.(?:py|toml|sh|md))`", text))
    ):
        assert "NAME" in name or (ROOT / name).exists(), name
    for path, name in re.findall(r"`([\w/]+\.py):(\w+)`", text):
        assert re.search(rf"^\s*(?:def|class|async def) {name}\b|^{name}\b", (ROOT / path).read_text(), re.MULTILINE), (
            name
        )
    for name in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (page.parent / name).exists(), name


def test_what_running_taught_is_shown_by_tests_that_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    (table,) = re.findall(r"^\| problem \| rule \| test \|\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    for row in table.splitlines()[1:]:
        shown = row.rsplit(" | ", 1)[1]
        files = re.findall(r"`(test_\w+\.py)`(?:: `(\w+)`)?", shown)
        assert files or SCENARIO.findall(shown), row
        for path, name in files:
            source = (ROOT / "tests/machines" / path).read_text()
            assert not name or re.search(rf"^def {name}\b", source, re.MULTILINE), row


def test_every_shipped_scenario_is_valid() -> None:
    found = sorted(SHIPPED.rglob("*.toml"))
    assert len(found) > 100
    for path in found:
        load(path)


def test_the_readme_scenario_is_valid(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    path = tmp_path / "my-first.toml"
    path.write_text(block)
    assert load(path).name == "my-first"


ROW = re.compile(r"^\| (.+?) \| (.+) \| `([\w/]+\.py)` \|$", re.MULTILINE)


def test_the_glossary_names_what_is_there() -> None:
    rows = ROW.findall((ROOT / "docs/glossary.md").read_text())
    assert len(rows) > 60
    for term, words, path in rows:
        text = (ROOT / path).read_text()
        names = re.findall(r"`(\w+)(?:\.\.\.)?`", words)
        assert names, term
        for name in names:
            assert re.search(rf"\b{name}" if name.endswith("_") else rf"\b{name}\b", text), f"{term}: {name}, {path}"


def test_every_finding_is_shown_by_a_scenario_that_says_so() -> None:
    """A row of docs/papers.md: a scenario that fails the property beside it, or runs without one."""
    rows = re.findall(r"^\| (D-\w+-\d+) \|(.*)\|$", (ROOT / "docs/papers.md").read_text(), re.MULTILINE)
    assert len(rows) >= 25
    for finding, rest in rows:
        shown = rest.split(" | ")[3]
        names = SCENARIO.findall(shown)
        assert names or "evaluation.py" in shown, f"{finding}: nothing shows it"
        for name in names:
            expected = {expect.property for expect in load(find(name)).expect if expect.verdict == "fail"}
            claimed = set(re.findall(rf"`{name}`: ((?:[A-Z-]+\d*(?:, )?)+)", shown))
            told = {word for one in claimed for word in one.split(", ") if word}
            assert told == expected, f"{finding}, {name}: the page says {told}, the scenario {expected}"
