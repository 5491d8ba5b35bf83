"""pytest with tutti's plugin in an environment of one's own, where nobody has built a kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import ROOT


def _pytest(directory: Path) -> str:
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-p",
        "harness.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-k",
        "TD-1",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "TUTTI_KERNEL"}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stdout


def test_what_a_run_left_that_could_not_be_carried_out_gives_way_to_the_next(tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs" / "regression" / "crash.toml", tmp_path)
    assert "there is no private kernel yet" in _pytest(tmp_path)
    assert "there is no private kernel yet" in _pytest(tmp_path)
    (tmp_path / "runs" / "crash-s1" / "logs").rmdir()  # now it is not known to be ours
    assert "is not empty" in _pytest(tmp_path)
