"""A program in any language as a node on the network: the C example of the documentation, and one that errs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from harness import rundir
from harness.engines.outcome import EngineError, EngineOptions
from harness.runs import carry_out, open_run
from harness.scenario import load
from harness.verdict import judge_run
from nodes.wire.note import NoteKind
from tests import ROOT
from tests.helpers.guests import digest

DOCS = ROOT / "docs"
SCENARIO = """
name = "own"
protocol = "own"
[own]
program = "node"
[topology]
kind = "lan"
nodes = 2
[workload]
kind = "bursts"
rounds = 1
"""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the documentation, compiled as it says."""
    directory = tmp_path_factory.mktemp("own")
    for path in (DOCS / "own-node").glob("*.[ct]*"):
        shutil.copy(path, directory)
    warnings = subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-o", "sequencer", "sequencer.c"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert not warnings
    assert (directory / "sequencer.c").read_text().count("\n") <= 60
    return directory


@pytest.mark.parametrize("name", ["sequencer", "hasty"])
def test_the_example_is_judged_as_it_says_and_repeats(name: str, example: Path, tmp_path: Path) -> None:
    runs = []
    for number, scenario in enumerate((example / f"{name}.toml", tmp_path / "run0/scenario.toml")):
        where = rundir.create(name, 1, tmp_path / f"run{number}")
        result = judge_run(carry_out(load(scenario), where, EngineOptions(), lambda now: None))
        assert result.status == 0, list(result.properties)
        assert len([event for event in result.evidence.notes if event.kind is NoteKind.DELIVERED]) >= 40
        runs.append(where.path)
    assert digest(runs[0]) == digest(runs[1])
    (runs[1] / "program").unlink()
    assert judge_run(open_run(runs[1])).status == 0, "a run is judged without its program"
    assert (runs[0] / "scenario.toml").read_text() == (runs[1] / "scenario.toml").read_text()


def test_a_node_whose_program_talks_nonsense_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "node").write_text("#!/bin/sh\nwhile read -r line; do echo 'deliver 1'; echo .; done\n")
    (tmp_path / "node").chmod(0o755)
    path = tmp_path / "own.toml"
    path.write_text(SCENARIO)
    with pytest.raises(EngineError, match=r"n1 failed: ProgramError: the program answered 'deliver 1' to 'wake \d+'"):
        carry_out(load(path), rundir.create("own", 1, tmp_path / "run"), EngineOptions(), lambda now: None)
