"""Cases that once failed: each is carried out again by the tests, and must not fail any more."""

from __future__ import annotations

from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def folder_of(protocol: str) -> Path:
    """Where those of a protocol lie."""
    return CORPUS / protocol


def corpus() -> dict[str, Path]:
    """All of them by name: "cmd/lost-welcome"."""
    return {f"{path.parent.name}/{path.stem}": path for path in sorted(CORPUS.glob("*/*.toml"))}
