"""Sweeps with runs in the private kernel: from the command line to the tables, and killed half-way."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.helpers.guests import child_environment, command, guests, soon, tutti

SWEEP = """
name = "tiny"
seeds = 1
scenario = "raw/quiet"
[set]
workload.every = "1ms"
settle = "10ms"
[grid]
"topology.nodes" = [2, 3]
"workload.rounds" = [1, 2]
[[metric]]
name = "delivered"
[[figure]]
name = "delivered"
x = "workload.rounds"
y = "delivered"
series = "topology.nodes"
"""


@pytest.fixture
def sweep(tmp_path: Path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(SWEEP)
    return str(path)


def tables(out: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(out)): path.read_bytes() for path in (out / "tables").rglob("*.parquet")}
    return found | {name: (out / name).read_bytes() for name in ("points.csv", "figures/delivered.csv")}


def test_a_sweep_killed_half_way_ends_with_the_same_tables(sweep: str, tmp_path: Path) -> None:
    """What was finished is not run again: the records of the first attempt are still the same files."""
    out = tmp_path / "killed"
    process = subprocess.Popen(
        command("sweep", sweep, "--out", str(out), "--jobs", "1"),
        env={**child_environment(), "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert soon(lambda: list(out.glob("records/*.json")) or process.poll() is not None, 300)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    first = {path: path.stat().st_mtime_ns for path in out.glob("records/*.json")}
    assert soon(lambda: not guests(tmp_path)), guests(tmp_path)  # its guest went with it
    again = tutti("sweep", sweep, "--out", str(out), "--json")
    assert again.returncode == 0, again.stderr
    assert f"{len(first)} from before" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in first} == first
    found = json.loads(again.stdout)
    assert found["runs"] == {"pass": 4, "fail": 0, "unknown": 0, "failed": 0}
    # a message of each node to each node and round
    assert {row["parameters"]: row["value"] for row in found["points"]} == {
        f"topology.nodes={n} workload.rounds={rounds}": n * n * rounds for n in (2, 3) for rounds in (1, 2)
    }
    undisturbed = tmp_path / "undisturbed"
    other = tutti("sweep", sweep, "--out", str(undisturbed), "--compare", str(out))
    assert other.returncode == 0 and "4 of 4 have not moved" in other.stdout
    assert tables(undisturbed) == tables(out)
    assert "<svg" in (out / "index.html").read_text() and "http://" not in (out / "points.csv").read_text()


def test_runs_that_fail_and_budgets_that_are_left_decide_the_exit_status(sweep: str, tmp_path: Path) -> None:
    broken = tmp_path / "kernel"
    broken.mkdir()
    (broken / "linux").write_text("#!/bin/sh\nexit 7\n")
    (broken / "linux").chmod(0o755)
    (broken / "info.json").write_text('{"version": "0", "recipe": "broken", "seccomp": false, "forks": false}')
    out = tmp_path / "out"
    ended = tutti("sweep", sweep, "--out", str(out), environment={"TUTTI_KERNEL": str(broken)})
    assert ended.returncode == 2
    runs = pq.read_table(out / "tables/runs.parquet").to_pylist()
    assert {row["outcome"] for row in runs} == {"failed"}
    assert {row["reason"] for row in runs} == {"the run died (exit status 7) before it was over."}
    text = SWEEP.replace('name = "delivered"\n', 'name = "delivered"\nbudget = { at_most = 17 }\n', 1)
    Path(sweep).write_text(text.replace("[2, 3]", "[3]").replace("[1, 2]", "[2]"))
    left = tutti("sweep", sweep, "--out", str(out))  # in the same directory: what failed is run again
    assert left.returncode == 1 and "OUT OF ITS BUDGET" in left.stdout
