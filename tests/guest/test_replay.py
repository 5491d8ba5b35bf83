"""Equal inputs give equal bytes: from other directories, as another user, on a busy machine; other seeds do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.guests import digest, for_everybody, run, tutti
from tests.helpers.replayed import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_equal_inputs_give_equal_bytes(name: str, tmp_path: Path) -> None:
    text = SCENARIOS[name]
    first, _ = run(text, tmp_path / "a")
    expected = digest(first.path)
    assert expected == _elsewhere(text, tmp_path)
    other, _ = run(text, tmp_path / "other seed", seed=8)
    assert digest(other.path) != expected


def _elsewhere(text: str, tmp_path: Path) -> dict[str, str]:
    """The same from a copy of the code at a longer path, as nobody if we are root, while both cores are busy."""
    away = tmp_path / "somewhere else, with a longer name"
    away.mkdir()
    code = for_everybody(away)
    scenario = away / "scenario.toml"
    scenario.write_text(text)
    user = None
    if os.geteuid() == 0:
        user = "nobody"
        shutil.chown(away, user)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        done = tutti("run", str(scenario), "--out", str(away / "run"), cwd=away, code=code, user=user)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert done.returncode in (0, 1), done.stderr
    assert (away / "run" / "verdict.json").exists(), done.stderr
    return digest(away / "run")
