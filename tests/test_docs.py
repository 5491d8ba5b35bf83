"""The documentation speaks of things that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.scenario import load
from harness.scenario.find import SHIPPED, find

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)
SCENARIO = re.compile(r"(?<![\w/])((?:raw|st|to|delta|cmd|him)/[a-z0-9-]+)\b")


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
    for name in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (page.parent / name).exists(), name


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
