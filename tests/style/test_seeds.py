"""A random test that fails: all of its seeds are counted, and the command that it prints repeats the failure."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.helpers.seeds import EverySeed

_ODD = """
def test_odd(every_seed):
    every_seed(range(20), lambda seed: f"{seed} is odd" if seed % 2 else 1 // (seed - 4) * 0)
"""


def test_every_seed_is_tried_and_the_failing_ones_are_told() -> None:
    tried: list[int] = []
    every_seed = EverySeed("tests/x.py::test_y[a b]")
    every_seed(range(5), tried.append)
    with pytest.raises(pytest.fail.Exception) as caught:
        every_seed(range(30), lambda seed: f"{seed} is odd" if seed % 2 else "")
    assert tried == [0, 1, 2, 3, 4]
    said = str(caught.value).splitlines()
    assert said[:2] == ["15 of 30 seeds fail: 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, ...", "seed 1: 1 is odd"]
    assert said[2].endswith("./tutti test 'tests/x.py::test_y[a b]' --seed 1")


def test_the_command_repeats_the_failure(tmp_path: Path) -> None:
    """The words behind `./tutti test`, given to the same pytest in a tree with one random test."""
    tests = tmp_path / "tests"
    shutil.copytree(ROOT / "tests" / "helpers", tests / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "conftest.py"):
        shutil.copy(ROOT / "tests" / name, tests)
    (tests / "test_odd.py").write_text(_ODD)

    def pytest_of(*words: str) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        ).stdout

    whole = pytest_of("tests/test_odd.py")
    assert "11 of 20 seeds fail: 1, 3, 4, 5, 7, 9" in whole  # the exception of seed 4 among them
    (command,) = {line.partition("repeat it: ")[2] for line in whole.splitlines() if "repeat it: " in line}
    words = shlex.split(command.partition("./tutti test ")[2])
    assert words[-2:] == ["--seed", "1"]
    assert "AssertionError: 1 is odd" in pytest_of(*words)
    assert "1 passed" in pytest_of(*words[:-1], "2")
