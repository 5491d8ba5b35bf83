"""Runs judged again from their captures, and runs compared frame by frame."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import main
from harness.diff import dissect, first_parting, records
from harness.rundir import RunDirError
from harness.runs import open_run
from harness.status import PASS, UNKNOWN, VIOLATED
from harness.summary import summary
from harness.verdict import Result, judge_run
from nodes.wire.st import StData
from tests.helpers.captured import Frame, leave_manifest, stopped, timed_pcap, write_captures
from tests.helpers.notation import history

_SENT = "start 1+a=1>2,3 2+b=2>2,3 2^ab 3^ab 2-a#1 2-b#2"
_GOOD = f"{_SENT} 3-a#1 3-b#2 end"
_DISORDER = f"{_SENT} 3-b#2 3-a#1 end"
_SCENARIO = """
name = "checked"
protocol = "st"
seed = 5

[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "10mbit" }
"""


def judged(run: Path) -> Result:
    return judge_run(open_run(run))


def status_of(run: Path) -> int:
    return judged(run).status


def expectation(**keys: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in keys.items()]
    return "\n[[expect]]\n" + "\n".join(lines) + "\n"


def run_dir(path: Path, line: str, *expectations: str) -> Path:
    """A run directory as a run of the scenario would have left it."""
    path.mkdir()
    (path / "scenario.toml").write_text(_SCENARIO + "".join(expectations))
    one = stopped(history(line))
    st = StData(
        src=1, cluster=1, n=3, flags=0, epoch=0, tseq=1, buf=9, dst=(2, 3), ack=(1, 1, 1), pseq=(1, 1, 1), payload=b"x"
    )
    write_captures(path, one, [Frame(1_002_000_100 + index, at, st) for index, at in enumerate(("n1", "n2"))])
    leave_manifest(path)
    return path


@pytest.mark.parametrize(
    ("line", "expectations", "status"),
    [
        (_GOOD, (), PASS),
        (_DISORDER, (), VIOLATED),
        (_DISORDER, (expectation(property="ST-3", verdict="fail"),), PASS),  # as the scenario expects
        (_GOOD, (expectation(property="ST-3", verdict="fail"),), VIOLATED),
        (_GOOD, (expectation(property="PROGRESS"),), PASS),
        (_GOOD, (expectation(property="IP"),), VIOLATED),  # nobody promised that; the scenario expects it
        (_GOOD.replace("end", "limit"), (), UNKNOWN),
        (_DISORDER.replace("end", "limit"), (), VIOLATED),  # certain, however the run ended
        (_GOOD.replace("3^ab ", ""), (), VIOLATED),
        (_GOOD, (expectation(metric="delivered", near=4, tolerance="1%"),), PASS),
        (_GOOD, (expectation(metric="delivered", at_most=3),), VIOLATED),
        (_GOOD, (expectation(metric="frames", at_least=1, at_most=1),), PASS),
        (_GOOD, (expectation(property="ST-1"), expectation(metric="delivered", at_least=5)), VIOLATED),
    ],
)
def test_status(tmp_path: Path, line: str, expectations: tuple[str, ...], status: int) -> None:
    assert status_of(run_dir(tmp_path / "run", line, *expectations)) == status


def test_real_time_promises_no_exact_moments(tmp_path: Path) -> None:
    exact = run_dir(tmp_path / "run", _GOOD, expectation(property="PROMPT"))
    assert status_of(exact) == UNKNOWN  # nobody can tell of ST
    (exact / "scenario.toml").write_text('engine = "live"\n' + (exact / "scenario.toml").read_text())
    assert status_of(exact) == PASS


def test_a_metric_without_a_value_is_unknown(tmp_path: Path) -> None:
    quiet = run_dir(tmp_path / "run", "start 1&a>2 2&b>1 3&c>1 end", expectation(metric="latency_p50_ms", at_most=1))
    assert status_of(quiet) == UNKNOWN


def test_holes_make_everything_that_would_pass_unknown(tmp_path: Path) -> None:
    good = run_dir(tmp_path / "good", _GOOD, expectation(metric="delivered", at_least=1))
    assert status_of(good) == PASS
    leave_manifest(good, dropped={"n2": 3})
    result = judged(good)
    assert result.status == UNKNOWN
    assert "n2.pcap: 3 frames dropped" in summary(result)
    assert {one.outcome for one in (*result.properties,)} == {"unknown"}
    assert {one.outcome for one in result.metrics} == {"unknown"}


def test_a_run_that_was_not_carried_out_is_unknown(tmp_path: Path) -> None:
    good = run_dir(tmp_path / "good", _GOOD)
    leave_manifest(good, failed="a node died")
    assert status_of(good) == UNKNOWN
    (good / "manifest.json").write_text("{")
    with pytest.raises(RunDirError, match="no JSON"):
        status_of(good)


def test_the_verdict_is_a_function_of_the_captures(tmp_path: Path) -> None:
    one = run_dir(tmp_path / "one", _DISORDER, expectation(metric="delivered", at_least=1))
    status_of(one)
    verdict = (one / "verdict.json").read_bytes()
    status_of(one)
    assert (one / "verdict.json").read_bytes() == verdict
    other = tmp_path / "elsewhere" / "other"
    shutil.copytree(one, other)
    (other / "verdict.json").unlink()
    status_of(other)
    assert (other / "verdict.json").read_bytes() == verdict
    assert str(tmp_path).encode() not in verdict
    document = json.loads(verdict)
    (broken,) = [each for each in document["properties"] if each["outcome"] == "fail"]
    assert broken["property"] == "ST-3"
    assert [(event["node"], event["about"], event["capture"]) for event in broken["events"]] == [
        (2, 1, "n2.pcap"),
        (2, 2, "n2.pcap"),
        (3, 2, "n3.pcap"),
        (3, 1, "n3.pcap"),
    ]
    frames = {(event["capture"], event["frame"]): event for event in broken["events"]}
    for (capture, frame), event in frames.items():
        record = list(records(one / "captures" / capture))[frame - 1]
        assert record.time_ns == event["time_ns"]  # the frame named is the one where it happened
        assert f"seq = {event['seq']}" in "\n".join(dissect(record))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_dir(tmp_path / "run", _DISORDER)
    assert main(["check", str(run)]) == VIOLATED
    said = capsys.readouterr().out
    assert "NOT OK   ST-3" in said
    assert "n3.pcap #" in said
    assert main(["check", "--json", str(run)]) == VIOLATED
    assert json.loads(capsys.readouterr().out) == json.loads((run / "verdict.json").read_text())
    assert main(["check", str(tmp_path)]) == 64
    with pytest.raises(RunDirError, match="no run directory"):
        status_of(tmp_path / "nowhere")


# tutti diff.


def test_equal_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = run_dir(tmp_path / "one", _GOOD), run_dir(tmp_path / "other", _GOOD)
    assert main(["diff", str(one), str(other)]) == 0
    assert "equal" in capsys.readouterr().out


def test_the_first_frame_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = run_dir(tmp_path / "one", _GOOD), run_dir(tmp_path / "other", _DISORDER)
    found = first_parting(one, other)
    assert found is not None
    assert found.capture == "n3.pcap"
    assert found.left is not None
    assert found.right is not None
    left, right = dissect(found.left), dissect(found.right)
    assert (left[1], right[1]) == ("note.NOTE from n3", "note.NOTE from n3")
    assert "  about = 1" in left
    assert "  about = 2" in right
    assert main(["diff", str(one), str(other)]) == 1
    said = capsys.readouterr().out
    assert f"in n3.pcap at frame {found.frame}" in said
    (line,) = [line for line in said.splitlines() if "about = 1" in line]
    assert "|" in line
    assert "about = 2" in line
    assert main(["diff", "--json", str(one), str(other)]) == 1
    assert json.loads(capsys.readouterr().out)["parting"]["capture"] == "n3.pcap"


def test_the_earliest_of_several_captures_is_shown(tmp_path: Path) -> None:
    one, other = run_dir(tmp_path / "one", _GOOD), run_dir(tmp_path / "other", _GOOD)
    events = stopped(history(_GOOD)).notes
    changed = {}
    for node, which in ((2, -1), (3, 1)):  # n2 parts at its last frame, n3 at its second
        mine = [event for event in events if event.node == node]
        mine[which] = mine[which]._replace(local_ns=mine[which].local_ns + 1)
        changed[node] = mine[which].time_ns
        frames = [Frame(event.time_ns, f"n{node}", event.note, outgoing=False) for event in mine]
        (other / f"captures/n{node}.pcap").write_bytes(timed_pcap(frames))
        (one / f"captures/n{node}.pcap").write_bytes(
            timed_pcap(
                [
                    replace(frame, pdu=event.note)
                    for frame, event in zip(frames, [event for event in events if event.node == node], strict=True)
                ]
            )
        )
    found = first_parting(one, other)
    assert found is not None
    assert changed[3] < changed[2]
    assert (found.capture, found.frame, found.time_ns) == ("n3.pcap", 2, changed[3])


def test_a_missing_frame_and_a_missing_file(tmp_path: Path) -> None:
    one, other = run_dir(tmp_path / "one", _GOOD), run_dir(tmp_path / "other", _GOOD)
    events = [event for event in stopped(history(_GOOD)).notes if event.node == 3]
    shorter = [Frame(event.time_ns, "n3", event.note, outgoing=False) for event in events[:-1]]
    (other / "captures/n3.pcap").write_bytes(timed_pcap(shorter))
    found = first_parting(one, other)
    assert found is not None
    assert (found.capture, found.frame, found.right) == ("n3.pcap", len(events), None)
    assert dissect(found.right) == ["(no such frame)"]
    (other / "captures/n3.pcap").unlink()
    found = first_parting(one, other)
    assert found is not None
    assert (found.capture, found.frame, found.right) == ("n3.pcap", 1, None)


def test_bytes_behind_the_last_frame_are_a_difference_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = run_dir(tmp_path / "one", _GOOD), run_dir(tmp_path / "other", _GOOD)
    with (other / "captures/n2.pcap").open("ab") as file:
        file.write(b"cut")
    assert main(["diff", str(one), str(other)]) == 1
    assert "n2.pcap differs in its header or behind its last frame" in capsys.readouterr().out


def test_every_protocol_is_dissected_by_the_command_itself(tmp_path: Path) -> None:
    one, other = run_dir(tmp_path / "one", _GOOD), run_dir(tmp_path / "other", _GOOD)
    events = [event for event in stopped(history(_GOOD)).notes if event.node == 2]
    (other / "captures/n2.pcap").write_bytes(
        timed_pcap([Frame(event.time_ns, "n2", event.note, outgoing=False) for event in events])
    )
    # A process of its own: here, other tests have imported every PDU long ago.
    command = [sys.executable, "-m", "harness", "diff", str(one), str(other)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 1, said.stderr
    assert "st.DATA from n1" in said.stdout
    assert "dst = (2, 3)" in said.stdout


def test_a_damaged_pdu_is_shown_as_it_is(tmp_path: Path) -> None:
    one = run_dir(tmp_path / "one", _GOOD)
    path = one / "captures/n1.pcap"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    *_, last = records(path)
    assert dissect(last)[1].startswith("a damaged PDU: check failed")
