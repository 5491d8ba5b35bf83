"""A sweep from beginning to end: what is not there yet is run, then tables, figures and page are made of everything."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from captures.figures import draw
from harness.engines.kernel import private_kernel
from harness.parallel.pool import cores, run_local
from harness.scenario import identity
from harness.shape import Shape, shape_of
from harness.sweep import tables
from harness.sweep.load import Spanned
from harness.sweep.model import Measure
from harness.sweep.outcome import Swept
from harness.sweep.page import sweep_page
from harness.sweep.pictures import beside, picture
from harness.sweep.progress import Progress
from harness.sweep.records import code_hash, encoded, finished, keep
from harness.sweep.store import Store
from harness.sweep.tables import Done, Rows
from harness.sweep.task import Keep, Record, Task, fulfil, get_ready, key_of, lost
from harness.terminal import ProgressLine

# Rows of the table of values from which Spark is taken, if it runs anyway: computed for eight cores from what
# `tutti bench sweep` measures. Two cores are never faster than one process.
SPARK_PAYS_VALUES = 2_000_000

Runner = Callable[[Iterable[Task]], Iterator[tuple[Task, tuple[Record, bytes]]]]


class SweepError(OSError):
    """What was asked for cannot be done here."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where runs are carried out, and where everything goes."""

    out: str
    master: str | None = None
    jobs: int | None = None


def carry_out_sweep(spanned: Spanned, where: Where) -> Swept:
    """Run, tabulate, draw."""
    line = ProgressLine(spanned.sweep.name)
    with ExitStack() as stack:
        session: Any = None
        if where.master is not None:
            from harness.parallel.cluster import cluster_session

            session = stack.enter_context(cluster_session(where.master, spanned.sweep.name))
        store = store_at(where.out)
        runner, jobs = _runner(session, where.jobs)
        done = tuple(_records(spanned, store, runner))
        if any(_over_frames(spanned)):
            with line.during("measuring the frames"):
                session = session or stack.enter_context(_LocalSpark(jobs, spanned.sweep.name))
                _measure_frames(session, spanned, store, done)
        with line.during("making the tables"):
            swept = Swept(spanned, done, _tables(spanned, store, done, session), store)
    with line.during("drawing the figures"):
        _draw(swept)
    return swept


def store_at(out: str) -> Store:
    """The place that --out names."""
    try:
        return Store(out)
    except (OSError, ValueError) as error:
        raise SweepError(f"{out} cannot be reached: {str(error).splitlines()[0]}") from error


# Runs.


def _runner(session: Any, jobs: int | None) -> tuple[Runner, int]:
    if session is None:
        many = jobs or cores()
        return lambda tasks: run_local(tasks, many, fulfil, lost, get_ready), many
    from harness.parallel.cluster import room, run_on

    many = jobs or room(session)
    return lambda tasks: run_on(session, tasks, many, fulfil, lost), many


class _LocalSpark:
    """A session on this machine, for tables only."""

    def __init__(self, jobs: int, name: str) -> None:
        self._jobs, self._name = jobs, name

    def __enter__(self) -> Any:
        from captures.spark_session import spark_session

        self._session = spark_session(f"local[{self._jobs}]", self._name)
        return self._session

    def __exit__(self, *_: object) -> None:
        self._session.stop()


def _records(spanned: Spanned, store: Store, runner: Runner) -> list[Done]:
    """All runs in the order of the sweep; those that are there are not run again."""
    kernel, code = private_kernel().identity.recipe, code_hash()
    found: dict[str, Record] = {}
    planned = []
    for point, scenario in spanned.runs():
        key = key_of(identity(scenario), code, kernel)
        planned.append((point, scenario.seed, key, scenario))
    found = finished(store, [key for _, _, key, _ in planned])
    found = {key: record for key, record in found.items() if _complete(spanned, store, key)}
    what = _what_to_keep(spanned)
    missing = {key: Task(key, one, what) for _, _, key, one in planned if key not in found}
    if missing:
        progress = Progress(spanned.sweep.name, len(planned), len(planned) - len(missing))
        for task, (record, packed) in runner(_by_shape(missing.values())):
            if packed:
                store.unpack(f"runs/{task.key}", packed)
            keep(store, task.key, record)
            found[task.key] = json.loads(encoded(record))
            progress.add(failed=record["outcome"] == "failed")
        progress.end()
    return [Done(point, seed, key, found[key]) for point, seed, key, _ in planned]


def _by_shape(tasks: Iterable[Task]) -> Iterator[Task]:
    """Those of one shape, which share what a run begins with, one after the other."""
    groups: dict[Shape, list[Task]] = {}
    for task in tasks:
        groups.setdefault(shape_of(task.scenario), []).append(task)
    return itertools.chain.from_iterable(groups.values())


def _what_to_keep(spanned: Spanned) -> Keep:
    if spanned.sweep.keep:
        return "all"
    return "captures" if any(_over_frames(spanned)) else "nothing"


# SQL over frames: Spark reads the captures, which are removed afterwards unless they are to be kept.


def _over_frames(spanned: Spanned) -> Iterator[Measure]:
    return (one for one in spanned.sweep.metric if one.sql is not None and one.over == "frames")


def _measured_name(measure: Measure) -> str:
    return f"frames/{hashlib.sha256(str(measure.sql).encode()).hexdigest()[:16]}.json"


def _measured(store: Store, measure: Measure) -> dict[str, float | None]:
    data = store.read(_measured_name(measure))
    found: dict[str, float | None] = {} if data is None else json.loads(data)
    return found


def _complete(spanned: Spanned, store: Store, key: str) -> bool:
    """Are its frames measured, or still there?"""
    missing = [one for one in _over_frames(spanned) if key not in _measured(store, one)]
    if not missing and not spanned.sweep.keep:
        return True
    return any(name.startswith(key) for name in store.names("runs"))


def _measure_frames(session: Any, spanned: Spanned, store: Store, done: Iterable[Done]) -> None:
    if store.here is None:
        raise SweepError("SQL over frames needs captures in a directory that all workers see: give such an --out")
    from captures.measured import over_frames

    runs = {one.key: store.here / "runs" / one.key / "captures" for one in done if one.record["outcome"] != "failed"}
    for measure in _over_frames(spanned):
        values = _measured(store, measure)
        missing = {key: path for key, path in runs.items() if key not in values}
        if missing:
            values.update(over_frames(session, missing, str(measure.sql), measure.columns))
            store.write(_measured_name(measure), encoded(values))
        for one in done:
            if values.get(one.key) is not None:
                one.record["metrics"][measure.name] = values[one.key]
    if not spanned.sweep.keep:
        for key in runs:
            shutil.rmtree(store.here / "runs" / key, ignore_errors=True)


# Tables and pictures.


def _tables(spanned: Spanned, store: Store, done: tuple[Done, ...], session: Any) -> Rows:
    values = tables.table(tables.value_rows(done, spanned.sweep.metric), tables.VALUES)
    summary = summarise(values, session)
    points = tables.point_rows(spanned, summary, done)
    store.write("tables/runs.parquet", tables.parquet(tables.table(tables.run_rows(done), tables.RUNS)))
    store.write("tables/points.parquet", tables.parquet(tables.table(points, tables.POINTS)))
    for name, found in (("values", values), ("pdus", tables.table(tables.pdu_rows(done), tables.PDUS))):
        for file, data in tables.partitions(found).items():
            store.write(f"tables/{name}/{file}", data)
    store.write("points.csv", tables.csv_of(spanned, points).encode())
    return points


def summarise(values: pa.Table, session: Any) -> pa.Table:
    """By Spark where a session is there or would pay, else here."""
    if session is None and values.num_rows < SPARK_PAYS_VALUES:
        return tables.summarised(values)
    if session is not None:
        return tables.summarised_by(session, values)
    with _LocalSpark(cores(), "tutti") as mine:
        return tables.summarised_by(mine, values)


def _draw(swept: Swept) -> None:
    spanned, store = swept.spanned, swept.store
    shown = []
    for figure in spanned.sweep.figure:
        files = draw(picture(spanned, figure, swept.points))
        for ending, data in files.items():
            store.write(f"figures/{figure.name}.{ending}", data)
        shown.append((figure, files["svg"].decode()))
    store.write("sweep.json", encoded(about(swept)))
    store.write("index.html", sweep_page(swept, shown, list(beside(spanned, swept.points))).encode())


def about(swept: Swept) -> dict[str, Any]:
    """What was swept, on what."""
    sweep = swept.spanned.sweep
    return {
        "name": sweep.name,
        "points": len(swept.spanned.points),
        "seeds": list(sweep.seeds),
        "runs": {name: swept.count(name) for name in ("pass", "fail", "unknown", "failed")},
        "code": code_hash(),
        "kernel": dataclasses.asdict(private_kernel().identity),
    }
