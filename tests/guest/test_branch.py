"""`tutti branch`: a run goes on from a moment in other ways, and in its own way if nothing is changed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import rundir
from harness.branching import check, trunk_of
from harness.diff import first_parting
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineOptions
from harness.manifest import read_manifest
from harness.rundir import RunDir
from harness.runs import Run
from harness.scenario import Scenario, ScenarioError, dump, loads
from tests import ROOT
from tests.helpers.guests import child_environment, command, guests, run, soon, tutti
from tests.helpers.replayed import ROUTED, SCENARIOS

OPTIONS = EngineOptions()
MS = 1_000_000
CHOSEN = (ROOT / "harness/scenarios/raw/chosen.toml").read_text()


@pytest.fixture(autouse=True)
def _forks() -> None:
    if not private_kernel().forks:
        pytest.skip("this private kernel cannot be forked")


def branches(trunk: Scenario, at_ns: int, *futures: tuple[Scenario, int | None, Path]) -> Iterator[Run]:
    with trunk_of(trunk, at_ns, OPTIONS, lambda now: None) as one:
        for scenario, seed, out in futures:
            where = rundir.create(scenario.name, scenario.seed, out)
            yield one.carry_out(scenario, seed, where, lambda now: None)


def parts_ns(one: RunDir, other: RunDir) -> int | None:
    """When two runs part, from the start of the first; None if they do not."""
    found, manifest = first_parting(one.path, other.path), read_manifest(one)
    assert manifest is not None and manifest.findings.t0_ns is not None
    return None if found is None else found.time_ns - manifest.findings.t0_ns


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_branch_in_which_nothing_is_changed_is_the_run_itself(name: str, tmp_path: Path) -> None:
    scenario = loads(SCENARIOS[name])
    first, _ = run(SCENARIOS[name], tmp_path / "run")
    for at_ns in (0, 200 * MS, 333 * MS):  # at the second one everybody submits
        (branch,) = branches(scenario, at_ns, (scenario, None, tmp_path / str(at_ns)))
        assert parts_ns(first, branch.where) is None
        assert branch.manifest is not None and branch.manifest.branch is not None


def test_a_pdu_that_is_not_lost(tmp_path: Path) -> None:
    lost = loads(CHOSEN)
    kept = loads(CHOSEN.replace('kind = "drop"\n', 'kind = "drop"\nat = "10s"\n'))
    away = loads(CHOSEN[: CHOSEN.index("[[fault]]")] + CHOSEN[CHOSEN.index('[[fault]]\nkind = "delay"') :])
    first, _ = run(CHOSEN, tmp_path / "run")
    for number, branch in enumerate(
        branches(lost, 115 * MS, (kept, None, tmp_path / "kept"), (away, None, tmp_path / "away"))
    ):
        parted_ns = parts_ns(first, branch.where)
        assert parted_ns is not None and parted_ns >= 115 * MS
        done = tutti("check", str(branch.where.path), "--json")
        found = {one["property"]: one["outcome"] for one in json.loads(done.stdout)["properties"]}
        assert found["ST-4"] == "pass", (number, found)


def test_faults_of_the_future(tmp_path: Path) -> None:
    trunk = loads(ROUTED)
    crash = '[[fault]]\nat = "700ms"\nkind = "crash"\nnode = "n2"\n'
    first, _ = run(ROUTED, tmp_path / "run")
    futures = [loads(ROUTED + crash), loads(ROUTED.replace('loss = "2%"', 'loss = "90%"'))]
    crashed, lossy = branches(trunk, 500 * MS, *((one, None, tmp_path / str(id(one))) for one in futures))
    assert 700 * MS <= (parts_ns(first, crashed.where) or 0) < 720 * MS
    assert 500 * MS <= (parts_ns(first, lossy.where) or 0) < 600 * MS
    whole, _ = run(ROUTED + crash, tmp_path / "whole")
    assert parts_ns(whole, crashed.where) is None  # as if it had been said from the beginning


def test_other_chance_from_the_moment_on(tmp_path: Path) -> None:
    trunk = loads(ROUTED)
    first, _ = run(ROUTED, tmp_path / "run")
    found = [
        one.where for one in branches(trunk, 500 * MS, *((trunk, seed, tmp_path / f"{seed}") for seed in (1, 2, 3)))
    ]
    for where in found:
        assert (parts_ns(first, where) or 0) >= 500 * MS
    assert parts_ns(found[0], found[1]) and parts_ns(found[1], found[2])
    assert len({read_manifest(where).identity for where in (first, *found)}) == 4  # type: ignore[union-attr]
    again = tutti("branch", str(found[1].path), "--out", str(tmp_path / "again"))
    assert again.returncode in (0, 1), again.stderr
    assert parts_ns(found[1], RunDir(tmp_path / "again")) is None  # from its manifest alone


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        ([], 64, "say the moment"),
        (["--at", "soon"], 64, "is not a time"),
        (["--at", "130s"], 64, "by then the run has done all that its scenario says"),
        (["--at", "120ms", "--set", "topology.nodes=4"], 64, "topology was used before 120ms"),
        (
            ["--at", "120ms", "--set", "fault.1.by=1ms", "--set", "fault.3={kind='crash', node='n1', at='110ms'}"],
            64,
            "is past",
        ),
        (["--at", "120ms", "--without", "fault.7"], 64, "the scenario has no such key"),
    ],
)
def test_what_cannot_be(words: list[str], status: int, complaint: str, tmp_path: Path) -> None:
    done = tutti("branch", "raw/chosen", *words, "--out", str(tmp_path / "out"))
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
    assert complaint in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_fault_whose_moment_has_come_is_past() -> None:
    early = loads(ROUTED + '[[fault]]\nat = "100ms"\nkind = "pause"\nnode = "n2"\nfor = "1s"\n')
    with pytest.raises(ScenarioError, match="a fault of kind pause begins at 100ms, before 500ms"):
        check(early, loads(ROUTED), 500 * MS)
    check(early, early, 500 * MS)


def test_nothing_is_left_when_somebody_loses_patience(tmp_path: Path) -> None:
    scenario = tmp_path / "long.toml"
    text = dump(loads(ROUTED, settings=["limit=1000000s"]))
    scenario.write_text(text + '[[fault]]\nat = "500000s"\nkind = "crash"\nnode = "n1"\n')
    words = command("branch", str(scenario), "--at", "400000s", "--out", str(tmp_path / "o"))
    environment = child_environment(ROOT, {"TMPDIR": str(tmp_path)})
    process = subprocess.Popen(words, cwd=ROOT, env=environment, text=True, stderr=subprocess.PIPE)
    assert soon(lambda: bool(guests(tmp_path)), 60)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in complaint
    assert soon(lambda: not guests(tmp_path)), guests(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]
