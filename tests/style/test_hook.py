"""The hook that looks at what is about to be committed: as it is staged, not as it lies there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT
from tests.helpers.guests import needs_kernel

pytestmark = needs_kernel  # ./tutti finds its Python without installing anything

GOOD = '"""Good."""\n\nVALUE = 1\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the hook, our rules and a file that keeps to them."""
    git(tmp_path, "init", "-q")
    for name in ("pyproject.toml", "requirements.lock", "tutti", "harness"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "good.py").write_text(GOOD)
    git(tmp_path, "config", "core.hooksPath", "harness/provision/hooks")
    return tmp_path


def git(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    who = ("-c", "user.name=tutti", "-c", "user.email=tutti@example.org")
    return subprocess.run(["git", *who, *words], cwd=where, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("bad", ["import os\n", "VALUE = 'x'\n", "value=1\n"])
def test_what_breaks_the_rules_is_not_committed(checkout: Path, bad: str) -> None:
    (checkout / "good.py").write_text(bad)
    git(checkout, "add", "good.py")
    (checkout / "good.py").write_text(GOOD)  # mended, and not staged
    done = git(checkout, "commit", "-m", "x")
    assert done.returncode != 0 and "not committed" in done.stderr, done


def test_what_keeps_to_them_is(checkout: Path) -> None:
    git(checkout, "add", "good.py")
    (checkout / "good.py").write_text("import os\n")  # not to be committed
    done = git(checkout, "commit", "-m", "x")
    assert done.returncode == 0, done
