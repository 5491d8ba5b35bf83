"""Every scenario that comes with tutti ends as it expects: the repaired rules hold, the printed ones are caught."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import rundir, runner
from harness.check import checked, summary
from harness.engines.outcome import EngineOptions
from harness.scenario import load
from harness.scenario.find import SHIPPED
from tests.guests import needs_kernel

pytestmark = [pytest.mark.guest, needs_kernel]

# Minutes each, or measured by a sweep; run with TUTTI_THOROUGH=1.
LONG = {"st/soak", "to/soak", "delta/fig-4", "delta/fig-4-hold", "delta/fig-4-unbounded", "him/quiet-50"}
NAMES = sorted(str(path.relative_to(SHIPPED).with_suffix("")) for path in SHIPPED.rglob("*.toml"))


def test_long_scenarios_exist() -> None:
    assert set(NAMES) >= LONG


@pytest.mark.parametrize("name", NAMES)
def test_scenario_ends_as_it_expects(name: str, tmp_path: Path) -> None:
    if name in LONG and not os.environ.get("TUTTI_THOROUGH"):
        pytest.skip("takes minutes: run with TUTTI_THOROUGH=1")
    scenario = load(SHIPPED / f"{name}.toml")
    where = rundir.create(scenario.name, scenario.seed, tmp_path / "run")
    runner.run(scenario, where, EngineOptions(), lambda now: None)
    result = checked(where.path)
    assert result.status == 0, f"{summary(result)}\nto repeat: ./tutti run {name}"
