"""What a sweep costs beside its guests: a second core, the scheduler, and Spark where it aggregates.

Aggregation is measured on the captures of many runs, made by linking those of one run many times, marginally: the time
for all of them less the time for a few, so that the start of Spark is apart. The decoder's own speed is that of one
process on one core for the same columns of the same files.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from captures.load import capture_files
from captures.spark_source import pdus_by_type
from harness.bench.emulated import carry_out_below
from harness.bench.row import Row
from harness.parallel.pool import cores, run_local
from harness.scenario import load
from harness.scenario.find import find
from harness.sweep import tables
from harness.sweep.task import Record, Task, fulfil, get_ready, lost

FIRST = 24  # byte offset of the first record of a pcap
FEW_RUNS = 50  # whose time is taken off


@dataclass(frozen=True, slots=True)
class RunsPerHour(Row):
    """The same runs, one and two at a time."""

    one_at_a_time: Annotated[float, "runs per hour: {:.0f} one at a time"]
    two_at_a_time: Annotated[float, "{:.0f} two at a time: {row.gain:.2f} times (at least 1.8)"]

    @property
    def gain(self) -> float:
        return self.two_at_a_time / self.one_at_a_time


@dataclass(frozen=True, slots=True)
class Scheduler(Row):
    """What an empty run costs: one at a time, and on Spark with as many in flight as a sweep has."""

    processes_ms: Annotated[float, "scheduler: {:.1f} ms an empty run here"]
    spark_alone_ms: Annotated[float, "{:.1f} ms on Spark one at a time"]
    spark_ms: Annotated[float, "{:.1f} ms on Spark as a sweep does it (below 50 ms)"]


def _from(crossover: float | None) -> str:
    return "never faster here" if crossover is None else f"faster from {crossover:,.0f}"


@dataclass(frozen=True, slots=True)
class Aggregation(Row):
    """Frames per second: the decoder alone, one process, and Spark per core, marginally."""

    runs: Annotated[int, "aggregation of {} runs"]
    frames: Annotated[int, "{:,} frames"]
    decoder_per_s: Annotated[float, "decoder {:,.0f} per second"]
    spark_per_s_and_core: Annotated[float, "Spark {:,.0f} per second and core: {row.share:.2f} (at least 0.5)"]
    spark_start_s: Annotated[float, "start {:.1f} s, {row.crossover}"]
    workers_peak_mb: Annotated[float, "a Python worker takes up to {:.0f} MB"]

    @property
    def share(self) -> float:
        """Of the decoder's speed."""
        return self.spark_per_s_and_core / self.decoder_per_s

    @property
    def crossover(self) -> str:
        """From so many frames on Spark on this machine is faster than one process."""
        spark = self.spark_per_s_and_core * cores()
        slower = spark <= self.decoder_per_s
        return _from(None if slower else self.spark_start_s / (1 / self.decoder_per_s - 1 / spark))


@dataclass(frozen=True, slots=True)
class Summaries(Row):
    """Rows of the table of values from which Spark summarises faster than one process, both marginally."""

    rows: Annotated[int, "summary of {:,} values"]
    here_s: Annotated[float, "{:.2f} s here"]
    spark_s: Annotated[float, "{:.2f} s on Spark"]
    start_s: Annotated[float, "after {:.1f} s of start, {row.crossover}"]  # its first job included

    @property
    def crossover(self) -> str:
        """From so many values on Spark on this machine is faster than one process."""
        gain = (self.here_s - self.spark_s) / self.rows
        return _from(None if gain <= 0 else self.start_s / gain)


def bench_sweep(runs: int = 12, captures_of: int = 1000) -> list[Row]:
    """All of it; Spark is started once."""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        base = Path(directory)
        per_hour = runs_per_hour(runs)
        here_ms = empty_runs(lambda tasks: list(run_local(tasks, 1, _empty, lost)), 100)
        begin = time.perf_counter()
        session = _session()
        try:
            session.range(1).count()
            start_s = time.perf_counter() - begin
            alone_ms = empty_runs(lambda tasks: list(_spark_runs(session, tasks, 1)), 60)
            there_ms = empty_runs(lambda tasks: list(_spark_runs(session, tasks, 2 * cores())), 60)
            summaries = summary_times(session, start_s)
            aggregated = aggregation(session, base, captures_of, start_s)
        finally:
            session.stop()
    return [per_hour, Scheduler(here_ms, alone_ms, there_ms), aggregated, summaries]


def _session() -> Any:
    from captures.spark_session import spark_session

    return spark_session(f"local[{cores()}]", "bench", {"spark.driver.memory": "2g"})


def _empty(task: Task) -> tuple[Record, bytes]:
    return {"outcome": "pass"}, b""


def _spark_runs(session: Any, tasks: list[Task], jobs: int) -> Any:
    from harness.parallel.cluster import run_on

    return run_on(session, tasks, jobs, _empty, lost)


def empty_runs(submit: Callable[[list[Task]], Any], count: int) -> float:
    """Milliseconds per run that does nothing."""
    quiet = load(find("raw/quiet"))
    submit([Task("warm", quiet)])
    begin = time.perf_counter()
    submit([Task(str(number), quiet) for number in range(count)])
    return (time.perf_counter() - begin) / count * 1000


def runs_per_hour(runs: int) -> RunsPerHour:
    """A scenario as sweeps have them, one and two at a time, in turns so that a busy machine hits both."""
    scenarios = [load(find("st/loss"), settings=["workload.rounds=20"], seed=seed) for seed in range(1, runs + 1)]
    took = {1: 0.0, 2: 0.0}
    fulfil(Task("warm", scenarios[0]))
    half = max(2, runs // 2)
    for part in (scenarios[:half], scenarios[half:]):
        for jobs in took:
            begin = time.perf_counter()
            tasks = [Task(str(number), one) for number, one in enumerate(part)]
            for _, (record, _) in run_local(tasks, jobs, fulfil, lost, get_ready):
                if record["outcome"] == "failed":
                    raise AssertionError(f"a run of the benchmark failed: {record['reason']}")
            took[jobs] += time.perf_counter() - begin
    return RunsPerHour(*(runs / took[jobs] * 3600 for jobs in (1, 2)))


def aggregation(session: Any, base: Path, runs: int, start_s: float) -> Aggregation:
    """Frames by type over the captures of so many runs."""
    single = base / "one"
    single.mkdir()
    _captured(single)
    files = capture_files(single / "captures")
    for name, count in (("few", FEW_RUNS), ("all", runs)):
        for number in range(count):
            target = base / name / f"r{number}" / "captures"
            target.mkdir(parents=True)
            for file in files:
                os.link(file, target / file.name)
    frames = _here(files)
    repeat = 5
    begin = time.perf_counter()
    for _ in range(repeat):
        _here(files)
    decoder = frames * repeat / (time.perf_counter() - begin)
    _there(session, base / "few")  # the source's own start
    few_s, few = _there(session, base / "few")
    all_s, found = _there(session, base / "all")
    if (few, found) != (frames * FEW_RUNS, frames * runs):
        raise AssertionError(f"Spark counted {found:,} frames, there are {frames * runs:,}")
    marginal = (found - few) / (all_s - few_s) / cores()
    return Aggregation(runs, found, decoder, marginal, start_s, _workers_peak_mb())


def _captured(out: Path) -> None:
    scenario = load(find("delta/fig-4"), settings=["workload.for=1600ms"], seed=1)
    shutil.move(carry_out_below(out, scenario).where.captures, out / "captures")


def _here(files: list[Path]) -> int:
    found = 0
    for file in files:
        batch = pdus_by_type(str(file), None, {"start": FIRST, "stop": None})
        found += sum(batch.column("frames").to_pylist())
    return found


def _there(session: Any, directory: Path) -> tuple[float, int]:
    from pyspark.sql import functions as f

    begin = time.perf_counter()
    frames = session.read.format("pcap").option("aggregate", "pdus_by_type").load(f"{directory}/*/captures")
    per_run = frames.withColumn("run", f.regexp_extract("file", r"/(r\d+)/captures/", 1)).groupBy("run", "type")
    (row,) = per_run.agg(f.sum("frames").alias("frames")).agg(f.sum("frames")).collect()
    return time.perf_counter() - begin, int(row[0])


def _workers_peak_mb() -> float:
    """The most that any Python process of Spark below this one has taken."""
    peak = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                lines = (entry / "status").read_text().splitlines()
            except OSError:
                continue
            if b"pyspark" in words and b"python" in words and b"java" not in words:
                taken = next((line for line in lines if line.startswith("VmHWM")), "VmHWM: 0 kB")
                peak = max(peak, int(taken.split()[1]))
    return peak / 1024


def summary_times(session: Any, start_s: float, rows: int = 400_000) -> Summaries:
    """Values of many points summarised here and there: so many, less the time for a few."""
    few, many = _values(rows // 100), _values(rows)
    here = _took(lambda: tables.summarised(many)) - _took(lambda: tables.summarised(few))
    first = _took(lambda: tables.summarised_by(session, few))
    again = _took(lambda: tables.summarised_by(session, few))
    there = _took(lambda: tables.summarised_by(session, many)) - again
    if not tables.summarised(few).equals(tables.summarised_by(session, few)):
        raise AssertionError("Spark summarised otherwise")
    return Summaries(many.num_rows - few.num_rows, here, there, start_s + first)


def _values(rows: int, seeds: int = 40) -> Any:
    return tables.table(
        [
            {"point": point, "metric": "m", "seed": seed, "run": str(seed), "value": float(seed % 7), "trials": None}
            for point in range(rows // seeds)
            for seed in range(seeds)
        ],
        tables.VALUES,
    )


def _took(action: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
