"""Every golden capture is repeated by a run of its scenario on this machine's private kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import rundir
from harness.engines.outcome import EngineOptions
from harness.golden import GOLDEN, difference, known
from harness.runs import carry_out, open_run
from harness.scenario import load
from tests.helpers.guests import for_everybody, tutti

NAMES = known()


def test_there_are_some_of_every_protocol() -> None:
    assert {"raw", "st", "to", "delta", "cmd", "him"} <= {name.split("-")[0] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_run_repeats_its_golden_captures(name: str, tmp_path: Path) -> None:
    scenario = load(GOLDEN / name / "scenario.toml")
    where = rundir.create(scenario.name, scenario.seed, tmp_path / "run")
    run = carry_out(scenario, where, EngineOptions(), lambda now: None)
    assert open_run(where.path) == run, "a run opened later is not the one that was carried out"
    changed = difference(GOLDEN / name, where.path)
    assert not changed, f"{changed}\n(if this is meant: ./tutti golden --renew {name})"


def test_what_is_imported_moves_no_run(tmp_path: Path) -> None:
    code = for_everybody(tmp_path)
    agent = code / "harness/agent/run.py"
    agent.write_text(agent.read_text().replace("import heapq\n", "import heapq\nimport decimal, fractions, html\n"))
    scenario = str(GOLDEN / "raw-chosen" / "scenario.toml")
    done = tutti("run", scenario, "--out", str(tmp_path / "run"), code=code)
    assert done.returncode == 0, done.stderr
    changed = difference(GOLDEN / "raw-chosen", tmp_path / "run")
    assert not changed, changed


def test_a_change_is_seen(tmp_path: Path) -> None:
    scenario = load(GOLDEN / "raw-chosen" / "scenario.toml", settings=["fault.0.skip=1"])
    where = rundir.create(scenario.name, scenario.seed, tmp_path / "run")
    carry_out(scenario, where, EngineOptions(), lambda now: None)
    assert difference(GOLDEN / "raw-chosen", where.path)
