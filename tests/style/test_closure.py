"""What a sweep's worker imports, what counts as the code of a run, and that this is read from the imports in truth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.closure import ROOT, closure, imported
from harness.sweep.records import ENTRIES

APART = ("harness.cli", "harness.commands", "harness.report", "harness.bench")


def of_a_worker() -> dict[str, set[str]]:
    return {name: imported(path) for name, path in closure(["harness.sweep.task"]).items()}


def test_a_worker_imports_no_report_no_argument_parser_and_no_library_that_only_they_need() -> None:
    found = of_a_worker()
    assert not [name for name in found if name.startswith(APART)]
    apart = {"argparse", "bokeh", "matplotlib", "pandas", "pyspark", "scapy"}
    assert not [(name, other) for name, others in found.items() for other in others if other.split(".")[0] in apart]


def test_a_scenario_can_be_read_without_a_network_to_run_it_on() -> None:
    found = closure(["harness.scenario"])
    assert {"harness.scenario.faults.crash", "harness.scenario.faults.stage"} <= found.keys()
    carried_out = ("harness.agent", "harness.explore", "harness.world", "topologies.netlink", "topologies.mininet")
    assert not [name for name in found if name.startswith(carried_out)]


def test_a_report_needs_no_mininet() -> None:
    """It takes longer to import than a short run."""
    assert "topologies.mininet_network" not in closure(["harness.report"])


def test_the_code_of_a_run_is_that_of_all_who_take_part() -> None:
    found = closure(ENTRIES)
    names = {
        "harness.agent.run",  # named by nobody, it is started as a program
        "harness.agent.boot",
        "harness.engines.live",  # imported in a function
        "harness.judges.to",
        "captures.metrics.recovery",
        "nodes.st.machine",  # found by the protocol's name
        "nodes.wire.him",
        "topologies.netlink",
    }
    assert names <= found.keys()
    assert not [name for name in found if name.startswith((*APART, "harness.sweep.job", "captures.figures"))]


def test_nothing_is_imported_that_is_not_counted() -> None:
    code = "import sys, harness.sweep.task, harness.agent.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = {
        name for name in done.stdout.split() if name.split(".")[0] in ("nodes", "topologies", "captures", "harness")
    }
    assert len(ours) > 100 and ours <= closure(ENTRIES).keys()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import a.b", "a.b"),
        ("from a import b", "a.b"),
        ("from a.b import c", "a.b"),
        ("def f():\n    from a import b", "a.b"),
        ("if x:\n    import a.b as c", "a.b"),
    ],
)
def test_every_way_to_import_is_seen(line: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(line + "\n")
    assert name in imported(tmp_path / "x.py")
