"""Scenarios by file or by name: those that come with tutti lie in harness/scenarios/<protocol>/<name>.toml."""

from __future__ import annotations

from pathlib import Path

from harness.scenario.problems import Located, ScenarioError, did_you_mean

SHIPPED = Path(__file__).resolve().parents[1] / "scenarios"


def shipped() -> dict[str, Path]:
    """The scenarios that come with tutti, by name: "raw/quiet"."""
    return {f"{path.parent.name}/{path.stem}": path for path in sorted(SHIPPED.glob("*/*.toml"))}


def find(word: str) -> Path:
    """The file meant; a ScenarioError with the nearest name if there is none."""
    path = Path(word)
    known = shipped()
    if path.exists() or word.endswith(".toml"):
        return path
    if word in known:
        return known[word]
    raise ScenarioError(
        [Located(word, 0, f"there is no such file, and no scenario of that name{did_you_mean(word, known)}")]
    )
