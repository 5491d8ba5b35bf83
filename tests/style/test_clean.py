"""ruff and mypy --strict have nothing to say about the tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT


@pytest.mark.parametrize(
    "words",
    [["ruff", "check", "--no-cache", "."], ["ruff", "format", "--no-cache", "--check", "."], ["mypy"]],
    ids=" ".join,
)
def test_clean(words: list[str], tmp_path: Path) -> None:
    if words == ["mypy"]:
        words = ["mypy", "--cache-dir", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
