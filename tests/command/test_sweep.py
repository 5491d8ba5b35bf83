"""Sweeps without runs: the file, its points, intervals against known values, tables, pictures, what moved, progress."""

from __future__ import annotations

import io
import os
import random
import signal
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captures.figures import Curve, Dot, Panel, Picture, draw, numbers
from harness.parallel.pool import run_local
from harness.scenario import ScenarioError, loads
from harness.sweep import tables
from harness.sweep.compare import moves
from harness.sweep.formulas import FORMULAS
from harness.sweep.job import SweepError, store_at
from harness.sweep.load import Point, Spanned, load_sweep, number_of, shipped
from harness.sweep.pictures import beside, picture
from harness.sweep.progress import Progress
from harness.sweep.records import finished, keep
from harness.sweep.statistics import Interval, bootstrap, difference, wilson
from harness.sweep.store import Store
from harness.sweep.tables import Done
from harness.sweep.task import Record, Task, failed, fulfil, lost

SWEEP = """
name = "two-by-two"
scenario = "raw/quiet"
seeds = 2

[set]
workload.payload = 10

[grid]
"topology.nodes" = [2, 3]
"workload.rounds" = [1, 2]

[quick]
seeds = [7]
grid = { "workload.rounds" = [4] }

[[metric]]
name = "delivered"
budget = { at_most = 20 }

[[metric]]
name = "delivered_share"
trials = "delivered"

[[metric]]
name = "noted"
sql = "sum(frames) FILTER (WHERE type = 'note.NOTE')"

[[figure]]
name = "all"
x = "workload.rounds"
y = ["delivered", "noted"]
panels = "topology.nodes"
"""


def written(tmp_path: Path, text: str = SWEEP) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return path


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(ScenarioError) as found:
        load_sweep(written(tmp_path, text))
    return str(found.value)


# The file.


def test_a_sweep_spans_its_grid_with_every_seed(tmp_path: Path) -> None:
    spanned = load_sweep(written(tmp_path))
    assert [point.name for point in spanned.points] == [
        "topology.nodes=2 workload.rounds=1",
        "topology.nodes=2 workload.rounds=2",
        "topology.nodes=3 workload.rounds=1",
        "topology.nodes=3 workload.rounds=2",
    ]
    runs = [(point.number, scenario.seed) for point, scenario in spanned.runs()]
    assert runs == [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (1, 2), (2, 2), (3, 2)]
    assert {scenario.workload.payload for _, scenario in spanned.runs()} == {10}  # type: ignore[union-attr]
    assert [one[0].topology.nodes for one in spanned.scenarios] == [2, 2, 3, 3]


def test_quick_and_set_change_a_sweep(tmp_path: Path) -> None:
    path = written(tmp_path)
    quick = load_sweep(path, quick=True)
    assert [point.name for point in quick.points] == [f"topology.nodes={n} workload.rounds=4" for n in (2, 3)]
    assert [scenario.seed for _, scenario in quick.runs()] == [7, 7]
    more = load_sweep(path, ["seeds=3", "set.workload.payload=99"])
    assert {scenario.seed for _, scenario in more.runs()} == {1, 2, 3}
    assert more.scenarios[0][0].workload.payload == 99  # type: ignore[union-attr]


def test_points_can_be_listed_and_the_scenario_can_stand_in_the_sweep(tmp_path: Path) -> None:
    text = """
name = "listed"
point = [{ topology.nodes = 2, impair.0.loss = "1%" }, { topology.nodes = 5, impair.0.loss = "0.5%" }]
metric = [{ name = "delivered" }]
[scenario]
name = "x"
protocol = "raw"
topology = { kind = "lan", nodes = 3 }
[[scenario.impair]]
on = "receivers"
loss = "9%"
"""
    spanned = load_sweep(written(tmp_path, text))
    found = [(one[0].topology.nodes, one[0].impair[0].impairment.loss) for one in spanned.scenarios]
    assert found == [(2, 0.01), (5, 0.005)]
    assert "sweep.toml:7" in refused(tmp_path, text.replace('"raw"', '"row"'))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('name = "delivered"', 'name = "deliverd"', "toml:18: name: no metric is called 'deliverd'; did you mean"),
        ("seeds = 2", "seeds = 0", "sweep.toml:4: seeds are a number of seeds, or a list"),
        ("seeds = 2", "seed = 2", "sweep.toml:4: a sweep has no key 'seed'; did you mean 'seeds'"),
        ("seeds = 2", "seeds = [1, 1]", "a seed twice"),
        ("sum(frames)", "sum(framez)", "no such column: framez; the table pdus has capture, type"),
        ("sum(frames)", "1; DROP TABLE pdus; sum(frames)", "sql: "),
        ('x = "workload.rounds"', 'x = "workload.round"', "is not varied; did you mean 'workload.rounds'"),
        ('"delivered", "noted"', '"sent"', "figure all: 'sent' is not measured"),
        ("[2, 3]", "2", "topology.nodes must be a list of values"),
        ("workload.payload", "workload.payloud", "--set workload.payloud=10: "),
        ('"raw/quiet"', '"raw/quite"', "did you mean 'raw/quiet'"),
        ('panels = "topology.nodes"', 'formulas = ["000-sorted"]', "there is no '000-sorted'"),
    ],
)
def test_what_is_wrong_with_a_sweep_is_told(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in SWEEP
    assert complaint in refused(tmp_path, SWEEP.replace(old, new, 1))


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("quick", [False, True])
def test_shipped_sweeps_are_right_and_every_formula_says_something(name: str, quick: bool) -> None:
    spanned = load_sweep(shipped()[name], quick=quick)
    drawn = {formula for figure in spanned.sweep.figure for formula in figure.formulas}
    # A soak draws nothing; scenarios stand beside each other; and the paper leaves the choice to experiments.
    assert drawn or not spanned.sweep.figure or spanned.sweep.names or name == "003-choice"
    for formula in drawn:
        values = [FORMULAS[formula].of(one[0]) for one in spanned.scenarios]
        assert any(value is not None for value in values), formula


def test_several_scenarios_are_an_axis() -> None:
    spanned = load_sweep(shipped()["peers"], quick=True)
    assert spanned.sweep.axes == ("scenario", "fault.0.loss")
    protocols = {
        point.value("scenario"): of_seed[0].protocol
        for point, of_seed in zip(spanned.points, spanned.scenarios, strict=True)
    }
    assert (protocols["peers/st.toml"], protocols["peers/etcd.toml"]) == ("st", "program")


def test_a_figure_over_several_parameters_has_a_panel_for_each_and_holds_the_others_fast() -> None:
    spanned = load_sweep(shipped()["003-choice"])
    (figure,) = [one for one in spanned.sweep.figure if one.name == "003-choice-time"]
    values = {"metric": "decision_p50_ms", "value": 1.0, "low": 0.5, "high": 1.5}
    drawn = picture(spanned, figure, [{"point": point.number, **values} for point in spanned.points])
    assert [panel.title for panel in drawn.panels] == ["maxfail", "q", "rtry"]
    for panel, xs in zip(drawn.panels, ([0, 1, 2, 3, 5], [1, 2, 3], [1, 2, 3, 5]), strict=True):
        assert [curve.label for curve in panel.curves] == ["fault = none", "fault = crash 300ms n6"]
        assert [[dot.x for dot in curve.dots] for curve in panel.curves] == [xs, xs]


def test_quantities_become_numbers() -> None:
    found = [number_of(value) for value in (7, 0.5, "2%", "5ms", "100/s", "1.5", "ring", True, [1])]
    assert found == [7.0, 0.5, 0.02, 5.0, 100.0, 1.5, None, None, None]


# Intervals.


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (29, 29, 0.8830, 1.0)],
)  # Newcombe 1998, table I, method 3
def test_wilson_against_published_values(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    assert found.value == successes / trials
    assert found.low == pytest.approx(low, abs=6e-5)
    assert found.high == pytest.approx(high, abs=6e-5)


def test_a_difference_against_published_values() -> None:
    found = difference(wilson(56, 70), wilson(48, 80))  # Newcombe 1998, table II (a), method 10
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.0524, abs=6e-5)
    assert found.high == pytest.approx(0.3339, abs=6e-5)


def test_the_bootstrap_is_as_wide_as_the_normal_theory_says_and_follows_from_its_name() -> None:
    draw_ = random.Random(5)
    values = [draw_.gauss(10, 2) for _ in range(200)]
    found = bootstrap(values, "a")
    assert found == bootstrap(values, "a") != bootstrap(values, "b")
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2 / 200**0.5, rel=0.15)
    assert found.low < found.value < found.high
    assert bootstrap([3.0], "a") == Interval(3.0)


def test_the_bootstrap_covers_the_truth_as_often_as_it_says() -> None:
    draw_ = random.Random(6)
    hits = 0
    for trial in range(200):
        found = bootstrap([draw_.expovariate(1) for _ in range(40)], str(trial))
        assert found.low is not None and found.high is not None
        hits += found.low <= 1 <= found.high
    assert 175 <= hits <= 199


def test_a_bootstrap_of_few_runs_covers_the_truth_as_well() -> None:
    """Six runs of a sweep: without the correction it would be 86 %."""
    draw_ = random.Random(7)
    hits = 0
    for trial in range(400):
        found = bootstrap([draw_.gauss(0, 1) for _ in range(6)], str(trial))
        assert found.low is not None and found.high is not None
        hits += found.low <= 0 <= found.high
    assert 0.91 < hits / 400 < 0.97


# Processes.

SCENARIO = loads('name = "x"\nprotocol = "raw"\ntopology = { kind = "lan", nodes = 3 }\n')


def _work(task: Task) -> tuple[Record, bytes]:
    if task.key == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if task.key == "exits":
        os._exit(3)
    return {"outcome": "pass", "key": task.key}, b"kept"


def test_a_run_that_dies_is_a_row_and_takes_nobody_along() -> None:
    tasks = [Task(key, SCENARIO) for key in ("a", "dies", "b", "exits", "c")]
    found = {task.key: result for task, result in run_local(tasks, 2, _work, lost)}
    assert found["dies"] == (failed("the process of this run died (signal SIGKILL)"), b"")
    assert found["exits"] == (failed("the process of this run died (exit status 3)"), b"")
    assert {key for key, (record, _) in found.items() if record["outcome"] == "pass"} == {"a", "b", "c"}


class _Interrupted:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_ends_it_even_where_python_ignores_exceptions() -> None:
    with pytest.raises(KeyboardInterrupt):
        for _ in run_local([Task(key, SCENARIO) for key in "ab"], 1, _work, lost):
            _Interrupted()


def test_a_run_that_cannot_be_carried_out_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTTI_KERNEL", "/nonexistent")
    record, kept = fulfil(Task("k", SCENARIO))
    assert record["outcome"] == "failed" and "/nonexistent" in record["reason"] and kept == b""


@pytest.mark.parametrize("where", ["{0}/out", "file://{0}/out", "mock:///out"])
def test_a_store_is_a_directory_or_what_arrow_reaches(tmp_path: Path, where: str) -> None:
    store = store_at(where.format(tmp_path))
    assert store.read("tables/a") is None and store.names("tables") == []
    store.write("tables/a", b"one")
    store.write("tables/a.gz", bytes(range(256)))  # bytes as they are, whatever the name says
    store.write("tables/a", b"two")
    assert (store.read("tables/a"), store.read("tables/a.gz")) == (b"two", bytes(range(256)))
    assert store.names("tables") == ["a", "a.gz"]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(Path(__file__), "captures/n1.pcap")
    store.unpack("runs/k", packed.getvalue())
    if store.here is None:
        assert store.read("runs/k.tar.gz") == packed.getvalue()
    else:
        assert (tmp_path / "out/runs/k/captures/n1.pcap").read_bytes() == Path(__file__).read_bytes()


def test_a_store_that_cannot_be_reached_says_so() -> None:
    with pytest.raises(SweepError, match=r"^nowhere://x cannot be reached: .*nowhere"):
        store_at("nowhere://x")


def test_what_failed_is_tried_again_and_what_ran_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    keep(store, "a", {"outcome": "pass"})
    keep(store, "b", failed("no memory"))
    (tmp_path / "out/records/.c.json.partial").write_text("{")  # a sweep that died while it wrote
    assert finished(store, ["a", "b", "c"]) == {"a": {"outcome": "pass"}}


# Tables.


def done(spanned: Spanned, seed: int = 1) -> list[Done]:
    """Records as runs might give them."""
    draw_ = random.Random(seed)
    found = []
    for point, scenario in spanned.runs():
        size = 10 * (point.number + 1)
        record: Record = {
            "outcome": "pass",
            "reason": "",
            "violated": [],
            "metrics": {"delivered": size + draw_.randrange(3), "delivered_share": 0.9},
            "pdus": [["n1", "note.NOTE", "in", None, size, size * 50], ["n1", None, "out", None, 1, 60]],
        }
        if point.number == 3 and scenario.seed == 2:
            record = failed("no memory")
        found.append(Done(point, scenario.seed, f"{point.number}-{scenario.seed}", record))
    return found


def summary(spanned: Spanned, runs: list[Done]) -> tuple[pa.Table, tables.Rows]:
    values = tables.table(tables.value_rows(runs, spanned.sweep.metric), tables.VALUES)
    return values, tables.point_rows(spanned, tables.summarised(values), runs)


def test_points_have_values_intervals_failures_and_budgets(tmp_path: Path) -> None:
    spanned = load_sweep(written(tmp_path))
    runs = done(spanned)
    _, rows = summary(spanned, runs)
    found = {(row["point"], row["metric"]): row for row in rows}
    first = [one.record["metrics"]["delivered"] for one in runs if one.point.number == 0]
    assert found[0, "delivered"]["value"] == sum(first) / 2
    assert found[0, "noted"]["value"] == 10
    assert found[0, "delivered"]["budget"] == "kept" and found[2, "delivered"]["budget"] == "left"
    assert (found[3, "delivered"]["runs"], found[3, "delivered"]["failed"]) == (1, 1)
    assert found[3, "delivered"]["low"] is None and found[3, "delivered"]["interval"] == ""
    share = found[0, "delivered_share"]
    assert share["interval"] == "Wilson" and share["low"] == wilson(0.9 * sum(first), sum(first)).low
    failed_rows = [row for row in tables.run_rows(runs) if row["outcome"] == "failed"]
    assert [(row["point"], row["seed"], row["reason"]) for row in failed_rows] == [(3, 2, "no memory")]


def test_tables_do_not_depend_on_the_order_of_the_runs(tmp_path: Path) -> None:
    spanned = load_sweep(written(tmp_path))
    runs = done(spanned)
    shuffled = runs[:]
    random.Random(3).shuffle(shuffled)

    def files(some: list[Done]) -> dict[str, bytes]:
        values, rows = summary(spanned, some)
        pdus = tables.table(tables.pdu_rows(some), tables.PDUS)
        return {
            "points": tables.parquet(tables.table(rows, tables.POINTS)),
            "runs": tables.parquet(tables.table(tables.run_rows(some), tables.RUNS)),
            **tables.partitions(values),
            **{f"pdus/{name}": data for name, data in tables.partitions(pdus).items()},
            "csv": tables.csv_of(spanned, rows).encode(),
        }

    assert files(runs) == files(shuffled)
    other = done(spanned, seed=2)
    assert files(other) != files(runs)


def test_tables_read_back_from_their_partitions(tmp_path: Path) -> None:
    spanned = load_sweep(written(tmp_path))
    pdus = tables.table(tables.pdu_rows(done(spanned)), tables.PDUS)
    for name, data in tables.partitions(pdus).items():
        path = tmp_path / "pdus" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    back = pq.read_table(tmp_path / "pdus")
    assert back.num_rows == pdus.num_rows == 14
    frames: Any = [pdus["frames"].to_pylist(), back["frames"].to_pylist()]
    assert sum(frames[0]) == sum(frames[1]) > 0
    assert pq.read_table(io.BytesIO(tables.parquet(pdus))).schema.names == tables.PDUS.names


# Pictures.


def test_a_figure_has_a_curve_for_each_metric_and_a_panel_for_each_value(tmp_path: Path) -> None:
    spanned = load_sweep(written(tmp_path))
    _, rows = summary(spanned, done(spanned))
    found = picture(spanned, spanned.sweep.figure[0], rows)
    assert [panel.title for panel in found.panels] == ["n = 2", "n = 3"]
    assert [curve.label for curve in found.panels[0].curves] == ["delivered", "noted"]
    assert found.panels[1].curves[1].dots == (Dot(1, 30, 30, 30), Dot(2, 40))


def test_formulas_stand_beside_what_they_are_about() -> None:
    spanned = load_sweep(shipped()["000-figures"])
    point = next(
        one
        for one in spanned.points
        if one.name.startswith("workload.destinations.fraction=0.5 impair.0.loss=1% topology.nodes=10")
    )
    row: dict[str, Any] = {
        "point": point.number,
        "metric": "retransmitted_per_data",
        "value": 0.06,
        "low": 0.05,
        "high": 0.07,
    }
    found = {one["formula"]: one for one in beside(spanned, [row])}
    # paper 000 §5 as printed, per entity; per channel it is 1 - F, and a little more until all have it
    assert found["000-selective-printed"]["expected"] == pytest.approx(0.0245, abs=5e-5)
    repeated = found["000-selective-repeated"]
    assert 0.0490 < repeated["expected"] < 0.0560 and repeated["inside"]
    assert not found["000-selective-printed"]["inside"]
    go_back = {name: FORMULAS[name].of(spanned.scenarios[point.number][0]) for name in FORMULAS if "go-back" in name}
    assert go_back["000-go-back-printed"] == pytest.approx(0.0493, abs=5e-5)
    assert go_back["000-go-back-channel"] == pytest.approx(0.2336, abs=5e-5)


def test_false_success_is_drawn_for_the_node_that_is_down() -> None:
    def drawn(*settings: str) -> list[float | None]:
        spanned = load_sweep(shipped()["003-false-success"], settings)
        found = [FORMULAS["003-false-success"].of(one[0]) for one in spanned.scenarios]
        return [None if value is None else round(value, 3) for value in found]

    assert drawn() == [0.104, 0.419, 0.645, None, None, None]
    assert drawn("set.fault.0.node=n2") == [0, 0, 0, None, None, None], "the sender itself tests n2"
    # n5's messages are reported by n5 itself, those of n1 by somebody else
    assert drawn('set.workload.senders=["n1", "n5"]') == [0.052, 0.209, 0.322, None, None, None]


def test_equal_numbers_draw_equal_pictures() -> None:
    def one(y: float) -> Picture:
        curves = (
            Curve("measured", "measured", (Dot(1, y, 0.5, 2), Dot(10, 3))),
            Curve("printed: x", "printed", (Dot(1, 1), Dot(10, 2))),
        )
        return Picture("p", "A title", "x", "y", (Panel("a", curves), Panel("b", curves[:1])), log_x=True, log_y=True)

    files = draw(one(1.0))
    assert files == draw(one(1.0)) and files["svg"] != draw(one(1.5))["svg"]
    assert files["png"].startswith(b"\x89PNG") and b"<svg" in files["svg"]
    assert files["csv"].decode() == numbers(one(1.0))
    assert numbers(one(1.0)).splitlines()[:3] == [
        "panel,curve,kind,x,y,low,high",
        "a,measured,measured,1,1,0.5,2",
        "a,measured,measured,10,3,,",
    ]


# What moved.


def test_moved_means_that_the_interval_of_the_difference_excludes_0() -> None:
    def row(metric: str, value: float, low: float | None, high: float | None) -> dict[str, Any]:
        return {"parameters": "n=3", "metric": metric, "value": value, "low": low, "high": high}

    old = [
        row("a", 1, 0.9, 1.1),
        row("b", 1, 0.5, 1.5),
        row("c", 1, None, None),
        row("d", 2, None, None),
        row("e", 1, 1, 1),
    ]
    new = [
        row("a", 2, 1.9, 2.1),
        row("b", 1.2, 0.7, 1.7),
        row("c", 1, None, None),
        row("d", 3, None, None),
        row("f", 1, 1, 1),
    ]
    found = {move.metric: move for move in moves(old, new)}
    assert {name: move.moved for name, move in found.items()} == {"a": True, "b": False, "c": False, "d": None}
    assert str(found["a"]) == "n=3: a 1 -> 2: moved, by +1 [+0.8586, +1.141]"


# Progress.


def test_progress_tells_counts_rate_and_what_is_left() -> None:
    now = [100.0]
    progress = Progress("s", 20, 4, clock=lambda: now[0])
    assert progress.line() == "s: 4 of 20 runs, 4 from before"
    now[0] = 104.0
    for bad in (False, True):
        progress.add(failed=bad)
    assert progress.line() == "s: 6 of 20 runs, 4 from before, 1 failed, 0.50 runs/s, 28 s left"
    now[0] = 100 + 36_000.0
    assert progress.line() == "s: 6 of 20 runs, 4 from before, 1 failed, 0 runs/h, 70.0 h left"


def test_points_say_what_they_set() -> None:
    assert Point(0, (("a.b", "2%"), ("c", {"d": True}))).name == "a.b=2% c={ d = true }"
    assert Point(0, ()).name == "all"


def test_all_panels_fit_on_their_one_scale() -> None:
    low, high = (Curve("measured", "measured", (Dot(1, y), Dot(2, y / 2))) for y in (1.0, 100.0))
    files = draw(Picture("p", "", "x", "y", (Panel("a", (low,)), Panel("b", (high,)))))
    assert b">100<" in files["svg"]


def test_a_simulation_has_a_band_of_its_own_and_agrees_within_both_errors() -> None:
    spanned = load_sweep(shipped()["002-fig-4"])
    point = next(one for one in spanned.points if one.name.startswith("delta.max_cb=4 workload.rate=100/s"))

    def inside(value: float) -> bool:
        row: dict[str, Any] = {
            "point": point.number,
            "metric": "cb_full_share",
            "value": value,
            "low": value - 0.01,
            "high": value + 0.01,
        }
        (found,) = beside(spanned, [row])
        assert found["expected"] == 0.28746
        return bool(found["inside"])

    assert inside(0.277) and inside(0.298)  # the reference's own error is 0.005
    assert not inside(0.274) and not inside(0.301)
    figure = next(one for one in spanned.sweep.figure if one.name == "002-fig-4")
    curves = picture(spanned, figure, []).panels[1].curves
    band = next(curve for curve in curves if curve.style == "simulated").dots[3]
    assert band.low is not None and band.high is not None
    assert band.low < 0.283 < band.y == 0.28746 < 0.292 < band.high
