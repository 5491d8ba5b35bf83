"""The live engine, in the private kernel without virtual time: a machine with root and netem that we always have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.check import checked
from harness.engines.kernel import private_kernel, site_packages
from harness.engines.outcome import EngineOptions
from harness.engines.virtual import boot
from harness.metrics import measure
from tests.guests import needs_kernel

pytestmark = [pytest.mark.guest, needs_kernel]

SCENARIO = """
name = "live"
protocol = "raw"
settle = "500ms"
[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "20mbit", delay = "200us" }
[[impair]]
on = "receivers"
loss = "5%"
[workload]
kind = "steady"
rate = "100/s"
for = "3s"
payload = 50
[[fault]]
at = "1s"
kind = "crash"
node = "n3"
[[fault]]
at = "1500ms"
kind = "restart"
node = "n3"
[[expect]]
property = "ST-3"
[[expect]]
metric = "delivered_share"
near = 0.95
tolerance = "4%"
"""


def test_a_live_run_is_judged_like_any_other(tmp_path: Path) -> None:
    out = tmp_path / "guest"
    (out / "logs").mkdir(parents=True)
    (out / "live.toml").write_text(SCENARIO)
    inside = Path("/run/tutti/run")
    words = ["run", str(inside / "live.toml"), "--engine", "live", "--out", str(inside / "run")]
    (out / "words.json").write_text(json.dumps(words))
    boot(
        private_kernel(), out, site_packages(), 1, EngineOptions(), lambda now: None, virtual_time=False,
        arguments={"TUTTI_MAIN": "tests.live_in_guest"},
    )  # fmt: skip
    said = json.loads((out / "logs/agent.json").read_text())
    log = (out / "logs/agent.txt").read_text()
    assert said["interfaces"] == ["lo"], "the live engine left something behind"
    assert "Traceback" not in log, log
    result = checked(out / "run")
    assert not result.history.holes, result.history.holes
    assert {one.verdict.property: str(one.verdict.outcome) for one in result.properties}["ST-3"] == "pass"
    share = measure(result.history, "delivered_share")
    assert share is not None and share > 0.8  # n3 missed what came while it was dead
