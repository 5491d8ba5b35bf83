"""Every scenario that comes with tutti ends as it expects: the repaired rules hold, the printed ones are caught."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import rundir
from harness.engines.outcome import EngineOptions, MachineLacks
from harness.runs import carry_out
from harness.scenario import load
from harness.scenario.find import SHIPPED
from harness.summary import summary
from harness.verdict import judge_run

# Minutes each, or measured by a sweep; run with TUTTI_THOROUGH=1.
LONG = {"st/soak", "to/soak", "delta/fig-4", "delta/fig-4-hold", "delta/fig-4-unbounded", "him/quiet-50"}
NAMES = sorted(str(path.relative_to(SHIPPED).with_suffix("")) for path in SHIPPED.rglob("*.toml"))

# Printed rules that break a causal order: which messages the judge must name (D-DC-1, -2, -3, -9; D-CM-1, -2, -3, -4).
NAMED = {
    "delta/question-answer-printed": ("DC-1", "n3 delivered 2:1/2 before 1:1/1"),
    "delta/same-instant-printed": ("DC-1", "n3 delivered 2:1/1 before 1:1/2"),
    "delta/paused-receiver-printed": ("DC-1", "n3 delivered 2:1/1 before 1:1/2"),
    "delta/skew-printed": ("DC-1", "n3 delivered 2:1/1 before 1:1/1"),
    "cmd/triangle-clock": ("CD-1", "n3 delivered 2:2 before 1:1"),
    "cmd/common-record-sequence": ("CD-1", "n3 delivered 2:3 before 1:1"),
    "cmd/triangle-queue": ("CD-2", "n3 never delivered 2:2"),
    "cmd/question-answer-multicast": ("CD-1", "n3 delivered 2:2 before 1:1"),
}


def test_the_scenarios_that_are_named_exist() -> None:
    assert set(NAMES) >= LONG | set(NAMED)


@pytest.mark.parametrize("name", NAMES)
def test_scenario_ends_as_it_expects(name: str, tmp_path: Path) -> None:
    if name in LONG and not os.environ.get("TUTTI_THOROUGH"):
        pytest.skip("takes minutes: run with TUTTI_THOROUGH=1")
    scenario = load(SHIPPED / f"{name}.toml")
    where = rundir.create(scenario.name, scenario.seed, tmp_path / "run")
    try:
        run = carry_out(scenario, where, EngineOptions(), lambda now: None)
    except MachineLacks as error:
        if not name.startswith(("peers/", "maelstrom/")):
            raise
        pytest.skip(str(error))
    result = judge_run(run)
    assert result.status == 0, f"{summary(result)}\nto repeat: ./tutti run {name}"
    if name in NAMED:
        said = {one.verdict.property: one.verdict.sentence for one in result.properties}
        property_, sentence = NAMED[name]
        assert said[property_].startswith(sentence)
