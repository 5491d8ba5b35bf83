"""The live engine, in the private kernel without virtual time: a machine with root and netem that we always have."""

from __future__ import annotations

import json
import math
from pathlib import Path

from captures.metrics import measure
from harness.engines.guest import boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineOptions
from harness.exchange import exchange
from harness.rundir import RunDir
from harness.runs import open_run
from harness.verdict import Result, judge_run
from nodes.wire.note import NoteKind

CRASH = """
name = "live"
protocol = "raw"
settle = "500ms"
[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "20mbit", delay = "200us" }
[workload]
kind = "steady"
rate = "100/s"
for = "2s"
payload = 50
[[fault]]
at = "500ms"
kind = "crash"
node = "n3"
[[fault]]
at = "1s"
kind = "restart"
node = "n3"
"""

MEASURED = """
name = "measured"
protocol = "raw"
settle = "500ms"
[topology]
kind = "lan"
nodes = 5
[[impair]]
on = "receivers"
delay = "8ms"
loss = "7%"
[[clock]]
node = "n2"
offset = "30ms"
[workload]
kind = "bursts"
rounds = 500
every = "8ms"
payload = 20
destinations = "others"
"""


STARVED = """
name = "starved"
protocol = "raw"
settle = "500ms"
[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "20mbit" }
[workload]
kind = "script"
[[workload.message]]
at = "100ms"
node = "n1"
[[workload.message]]
at = "400ms"
node = "n2"
"""


def _live(text: str, tmp_path: Path, hold_s: float = 0) -> Result:
    """Run a scenario with `tutti run --engine live` inside a guest whose time is real."""
    out = tmp_path / "guest"
    (out / "logs").mkdir(parents=True)
    (out / "live.toml").write_text(text)
    inside = Path("/run/tutti/run")
    words = ["run", str(inside / "live.toml"), "--engine", "live", "--out", str(inside / "run")]
    (out / "words.json").write_text(json.dumps({"words": words, "hold_s": hold_s}))
    agent = "tests.helpers.live_in_guest"
    with (
        exchange(RunDir(out)) as files,
        boot(private_kernel(), files, EngineOptions(), virtual_time=False, agent=agent) as guest,
    ):
        guest.wait(lambda now: None)
    said = json.loads((out / "said.json").read_text())
    log = (out / "logs/agent.txt").read_text()
    assert said["interfaces"] == ["lo"], "the live engine left something behind"
    assert "Traceback" not in log, log
    return judge_run(open_run(out / "run"))


def test_a_live_run_is_judged_like_any_other(tmp_path: Path) -> None:
    result = _live(CRASH + '[[expect]]\nproperty = "ST-3"\n', tmp_path)
    assert not result.evidence.holes, result.evidence.holes
    assert {one.verdict.property: str(one.verdict.outcome) for one in result.properties}["ST-3"] == "pass"
    share = measure(result.evidence, "delivered_share")
    assert share is not None and share > 0.8  # n3 missed what came while it was dead


def test_a_run_is_not_over_while_the_nodes_get_no_processor(tmp_path: Path) -> None:
    result = _live(STARVED, tmp_path, hold_s=2)
    delivered = [event for event in result.evidence.notes if event.kind is NoteKind.DELIVERED]
    assert len(delivered) == 2 * 3
    late = max(event.time_ns for event in delivered) - min(event.time_ns for event in delivered)
    assert late > 1.9e9, "the nodes were not held"


def test_loss_delay_and_skew_are_what_was_asked(tmp_path: Path) -> None:
    result = _live(MEASURED, tmp_path)
    copies = 500 * 5 * 4  # 10,000
    loss = measure(result.evidence, "loss_share")
    assert loss is not None and abs(loss - 0.07) < 4 * math.sqrt(0.07 * 0.93 / copies)
    # Real time: a busy machine adds delay, it never takes any away.
    delay = measure(result.evidence, "delay_p50_ms")
    assert delay is not None and 8.0 <= delay < 12.0
    # A NOTE is seen after the clock was read, on a busy machine long after: the one seen soonest tells its error.
    errors_ms = {
        node: max(one.local_ns - one.time_ns for one in result.evidence.notes if one.node == node) / 1e6
        for node in result.evidence.nodes
    }
    assert 29.0 < errors_ms.pop(2) <= 30.0
    assert all(-1.0 < error <= 0.0 for error in errors_ms.values()), errors_ms


def test_a_moment_is_seen_in_real_time_too_a_little_later(tmp_path: Path) -> None:
    at_a_moment = CRASH.replace('at = "500ms"', "when = { pdu = { src = 3 }, count = 20 }")
    result = _live(at_a_moment, tmp_path)
    crash = next(event for event in result.evidence.notes if event.text == "crash")
    sent = [one.time_ns for one in result.evidence.frames if one.at == "n3" and one.direction == "out"]
    assert sent[19] < crash.time_ns and not result.never
    assert sum(one <= crash.time_ns for one in sent) < 30, "that was not then"
