"""The words of expectations: what is found in the sources is what is registered."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.closure import ROOT
from harness.scenario import known


def test_what_the_sources_say_is_registered() -> None:
    written = known._registered("harness/judges", "judge_of")
    assert written == known.properties()
    counted = known._registered("captures/metrics", "metric")
    assert len(counted) > 20 and counted < known.metrics()  # some are made in a loop


@pytest.mark.parametrize("word", ["ST-3", "PROGRESS"])
def test_properties(word: str) -> None:
    assert known.is_property(word) and not known.is_property(word + "x")


@pytest.mark.parametrize("word", ["delivered_share", "frames:raw.DATA"])
def test_metrics(word: str) -> None:
    assert known.is_metric(word) and not known.is_metric(word + "x")


def test_a_scenario_is_loaded_without_judges_and_tables() -> None:
    code = (
        "import sys; from harness.runs import carry_out; from harness.engines.virtual import Virtual; "
        "from harness.scenario import load; from harness.scenario.find import find; "
        "load(find('raw/quiet')); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "harness.scenario.rules" in loaded
    assert not loaded & {
        "harness.judges",
        "harness.report",
        "captures.metrics",
        "pyarrow",
        "numpy",
        "pandas",
        "argparse",
    }
