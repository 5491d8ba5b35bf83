"""The reference simulations: they know nothing of the machines, and give the tables that lie beside them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.sweep.references import cmd_tags, delta_tags, him_ring
from nodes.him.evaluation import false_success


@pytest.mark.parametrize("name", ["cmd_tags", "delta_tags", "him_ring"])
def test_a_reference_imports_nothing_of_ours(name: str) -> None:
    script = f"""
import sys, harness.sweep.references.{name}
print([n for n in sys.modules if n.split(".")[0] in ("nodes", "captures", "topologies")])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("skew", "load", "max_cb"), list(delta_tags.table())[::6])
def test_the_tags_of_delta(skew: float, load: float, max_cb: int) -> None:
    means, errors = delta_tags.point(load, max_cb, skew, runs=8)
    written, _ = delta_tags.table()[skew, load, max_cb]
    for curve in ("full", "waits", "wait_per_delta", "entries"):
        apart = abs(getattr(means, curve) - getattr(written, curve))
        assert apart <= 5 * getattr(errors, curve) + 1e-4, curve


@pytest.mark.parametrize("load", cmd_tags.LOADS[::3])
def test_the_tags_of_cmd(load: cmd_tags.Load) -> None:
    means, errors = cmd_tags.point(load, runs=8)
    written, _ = cmd_tags.table()[load]
    assert abs(means.pruned - written.pruned) <= 5 * errors.pruned
    assert abs(means.unpruned - written.unpruned) <= 5 * errors.unpruned


@pytest.mark.parametrize(("rules", "n", "loss"), list(him_ring.table())[::3])
def test_the_costs_of_the_ring(rules: str, n: int, loss: float) -> None:
    means, errors = him_ring.point(n, loss, rules, 5000 // n)
    written, _ = him_ring.table()[rules, n, loss]
    assert abs(means.packets - written.packets) <= 5 * errors.packets
    assert abs(means.rounds - written.rounds) <= 5 * errors.rounds


def test_without_loss_the_ring_costs_what_the_paper_says() -> None:
    for rules in him_ring.RULES:
        means, _ = him_ring.point(10, 0.0, rules, 3)
        assert means == him_ring.Cost(2 * 10 + 1 + 1, 1.0)  # 2n+1 and the END


def test_a_test_that_nobody_repeats_misses_more() -> None:
    """The printed rules take a silence that comes from loss for success, and so cost less than the repaired."""
    printed, _ = him_ring.point(20, 0.05, "printed", 400)
    repaired, _ = him_ring.point(20, 0.05, "repaired", 400)
    assert printed.packets < repaired.packets


@pytest.mark.parametrize("loss", [0.01, 0.05, 0.1])
def test_false_successes_of_the_printed_rules_are_those_of_the_exact_formula(loss: float) -> None:
    share, messages = him_ring.false_success(10, 5, loss, "printed", 3000), 3000
    exact = false_success(10, loss, {5}, him_ring.MAXFAIL)
    assert abs(share - exact) <= 4 * (exact * (1 - exact) / messages) ** 0.5
