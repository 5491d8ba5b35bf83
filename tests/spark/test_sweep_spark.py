"""Sweeps on Spark: the same tables from the same records, runs as jobs, SQL over frames."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from captures import samples
from harness.explore.journal import FILE
from harness.parallel.cluster import archive, run_on
from harness.scenario import loads
from harness.sweep import tables
from harness.sweep.task import Record, Task, lost
from nodes.wire import all_pdu_types
from tests.helpers.guests import needs_kernel, soon, tutti
from tests.helpers.spark_cluster import spark_cluster


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from captures.spark_session import spark_session

    session = spark_session("local[2]", "test", {"spark.executorEnv.TUTTI_KERNEL": "."})
    yield session
    session.stop()


def test_spark_makes_the_same_points(spark: Any) -> None:
    draw = random.Random(4)
    rows = [
        {
            "point": point,
            "metric": metric,
            "seed": seed,
            "run": f"{point}-{seed}",
            "value": draw.random(),
            "trials": 100.0 if metric == "b" else None,
        }
        for point in range(3)
        for metric in ("a", "b")
        for seed in range(1, 9)
    ]
    values = tables.table(rows, tables.VALUES)
    draw.shuffle(rows)
    here = tables.summarised(values)
    there = tables.summarised_by(spark, pa.Table.from_pylist(rows, tables.VALUES))
    assert here.num_rows == 6
    assert tables.parquet(there.combine_chunks()) == tables.parquet(here.combine_chunks())


SCENARIO = 'name = "{}"\nprotocol = "raw"\ntopology = {{ kind = "lan", nodes = 3 }}\n'


def _work(task: Task) -> tuple[Record, bytes]:
    if task.key == "raises":
        raise ValueError("what went wrong")
    return {"outcome": "pass", "key": task.key}, task.scenario.name.encode()


def test_a_job_that_fails_is_a_row(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_KERNEL", ".")
    tasks = [Task(key, loads(SCENARIO.format(key * 2))) for key in ("a", "raises", "b")]
    found = {task.key: result for task, result in run_on(spark, tasks, 3, _work, lost)}
    assert found["a"] == ({"outcome": "pass", "key": "a"}, b"aa") and found["b"][1] == b"bb"
    assert found["raises"][0]["outcome"] == "failed" and "what went wrong" in found["raises"][0]["reason"]


def test_sql_over_the_frames_of_many_runs(spark: Any, tmp_path: Path) -> None:
    from captures.measured import over_frames

    draw = random.Random(1)
    runs = {}
    for number in (1, 2, 3):
        captures = tmp_path / "runs" / f"r{number}" / "captures"
        captures.mkdir(parents=True)
        for node in ("n1", "n2"):
            frames = samples.sample_frames(all_pdu_types(), draw) * number
            (captures / f"{node}.pcap").write_bytes(samples.pcap(frames))
        runs[f"r{number}"] = captures
    one = over_frames(spark, {"r1": runs["r1"]}, "count(*)", ["type"])["r1"]
    assert one is not None and one > 10
    found = over_frames(spark, runs, "count_if(capture = 'n1')", ["type"])
    assert found == {f"r{number}": one / 2 * number for number in (1, 2, 3)}
    assert over_frames(spark, {"r2": runs["r2"]}, "max(CASE WHEN type = 'none' THEN 1 END)", ["type"]) == {"r2": None}


# A cluster of processes that are not root, with nothing of this checkout but what is shipped.

SWEEP = """
name = "clustered"
seeds = 2
scenario = "raw/quiet"
[set]
settle = "10ms"
[grid]
"topology.nodes" = [2, 3]
[[metric]]
name = "delivered"
"""


@needs_kernel
def test_what_is_shipped_is_complete_and_nothing_else(tmp_path: Path) -> None:
    import tarfile

    with tarfile.open(archive(tmp_path / "a.tar.gz")) as packed:
        names = packed.getnames()
    assert {"kernel/linux", "kernel/info.json", "code/harness/agent/boot.py", "site/numpy/__init__.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.startswith(("/", "code/tests"))]


@needs_kernel
@pytest.mark.guest
@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "a worker dies"])
def test_a_cluster_gives_the_same_tables(tmp_path_factory: pytest.TempPathFactory, killed: bool) -> None:
    """In a process of its own: a session of this process is bound to its own master."""
    import subprocess
    import tempfile

    from tests.helpers.guests import child_environment, command

    with tempfile.TemporaryDirectory(prefix="tutti-test-") as directory:
        base = Path(directory)
        base.chmod(0o755)  # the cluster below it is not ours
        sweep = base / "clustered.toml"
        sweep.write_text(SWEEP)
        local = tutti("sweep", str(sweep), "--out", str(base / "local"))
        assert local.returncode == 0, local.stderr
        cluster_base = base / "cluster"
        cluster_base.mkdir()
        with spark_cluster(cluster_base) as cluster:
            words = command("sweep", str(sweep), "--master", cluster.url, "--out", str(base / "remote"))
            with (base / "log").open("wb") as log:
                process = subprocess.Popen(words, env=child_environment(), cwd=base, stdout=log, stderr=log)
                if killed:
                    assert soon(
                        lambda: list((base / "remote").glob("records/*.json")) or process.poll() is not None, 300
                    )
                    assert process.poll() is None, (base / "log").read_text()
                    cluster.workers[0].kill()
                assert process.wait(400) == 0, (base / "log").read_text()
            assert list(cluster_base.glob("worker-2/work/*/*/tutti/kernel/linux"))
            assert "4 as expected" in (base / "log").read_text()
        for table in ("runs", "points"):
            name = f"tables/{table}.parquet"
            assert (base / "remote" / name).read_bytes() == (base / "local" / name).read_bytes()
        for table in ("values", "pdus"):
            here = {
                path.relative_to(base / "local"): path.read_bytes()
                for path in (base / "local/tables" / table).rglob("*.parquet")
            }
            there = {
                path.relative_to(base / "remote"): path.read_bytes()
                for path in (base / "remote/tables" / table).rglob("*.parquet")
            }
            assert here and here == there


def test_a_search_is_shared_by_executors(tmp_path: Path) -> None:
    """In a process of its own, as above."""
    words = ["explore", "cmd", "--set", "cmd.printed.clock=true", "--memory-only", "--seconds", "200", "--json"]
    done = tutti(*words, "--master", "local[2]", "--jobs", "2", "--out", str(tmp_path))
    assert done.returncode == 1, done.stderr
    (failure,) = json.loads(done.stdout)["failures"]
    assert "CD-1" in failure["properties"] and failure["faults"] <= 2
    batches = [json.loads(line)["news"]["batches"] for line in (tmp_path / FILE).read_text().splitlines()[1:-1]]
    assert batches and "Traceback" not in done.stderr
