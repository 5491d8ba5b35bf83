"""Faults that wait for a moment come exactly then, on the emulated network and in memory alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from captures.evidence import Event, Evidence
from harness.explore.memory import carry_out
from harness.report.verdict import section
from harness.scenario.find import SHIPPED
from harness.summary import summary
from harness.verdict import Result, document
from nodes.wire.note import NoteKind
from tests.helpers.guests import run

HARNESS = (NoteKind.FAULT, NoteKind.MARK)


def _told(events: Evidence) -> list[tuple[int, ...] | str]:
    """What the harness did, and between its words what the nodes sent."""
    return [
        f"{event.text} {event.peers} {tuple(event.values)}" if not event.node else (event.node, event.seq)
        for event in events.notes
        if (event.kind in HARNESS and not event.text.startswith(("probe", "heal", "end")))
        or event.kind is NoteKind.SENT
    ]


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run((SHIPPED / "raw/moments.toml").read_text(), tmp_path_factory.mktemp("moments") / "run")[1]


def _of(result: Result, text: str) -> Event:
    return next(event for event in result.evidence.notes if event.text == text)


def test_a_node_dies_with_the_pdu_that_it_was_to_die_with(moments: Result) -> None:
    assert moments.status == 0, summary(moments)
    crash = _of(moments, "crash")
    frames = moments.evidence.frames
    sent = [one.time_ns for one in frames if one.at == "n3" and one.direction == "out" and one.time_ns <= crash.time_ns]
    assert len(sent) == 2 and crash.time_ns - sent[-1] < 10_000
    first_life = [one for one in moments.evidence.notes if one.node == 3 and one.incarnation == 1]
    assert max(one.time_ns for one in first_life) < crash.time_ns
    assert _of(moments, "restart").time_ns - crash.time_ns == pytest.approx(50e6, abs=10_000)


def test_a_node_is_stopped_before_it_reads_the_pdu_that_has_come(moments: Result) -> None:
    pause, resume = _of(moments, "pause"), _of(moments, "resume")
    taken = [e for e in moments.evidence.notes if (e.node, e.kind, e.about) == (1, NoteKind.DELIVERED, 2)]
    assert sum(event.time_ns < pause.time_ns for event in taken) == 4
    assert not [event for event in taken if pause.time_ns <= event.time_ns < resume.time_ns]


def test_the_same_happens_in_memory(moments: Result) -> None:
    in_memory = carry_out(moments.scenario)
    assert _told(in_memory.world.history()) == _told(moments.evidence)


NEVER = """
name = "never"
protocol = "raw"
[topology]
kind = "lan"
nodes = 3
[workload]
kind = "steady"
rate = "100/s"
for = "100ms"
[[fault]]
kind = "crash"
node = "n1"
when = { pdu = { src = 2 }, count = 1000 }
[[fault]]
at = "50ms"
kind = "restart"
node = "n1"
[[fault]]
kind = "drop"
pdu = { src = 2, payload = "nobody sends this" }
"""


def test_what_never_came_is_said(tmp_path: Path) -> None:
    _, result = run(NEVER, tmp_path / "run")
    why = "never happened: its moment did not come, or what it was to act on was not there"
    assert document(result)["evidence"]["never"] == [
        f"fault 1 (crash) {why}",
        f"fault 2 (restart) {why}",
        "fault 3 (drop) never happened: no PDU was as it says",
    ]
    assert "fault 1 (crash) never happened" in summary(result)
    assert "fault 1 (crash) never happened" in section(result)
    assert _told(carry_out(result.scenario).world.history()) == _told(result.evidence)


FORGED = """
name = "forged"
protocol = "raw"
[topology]
kind = "lan"
nodes = 2
outsiders = 1
[workload]
kind = "steady"
rate = "100/s"
for = "100ms"
[[fault]]
kind = "forge"
from = "n3"
when = { pdu = { src = 2 }, count = 3 }
at = "1ms"
heard = { type = "DATA", src = 2 }
count = 2
every = "500ms"
"""


def test_an_outsider_waits_for_its_moment_and_the_run_for_the_outsider(tmp_path: Path) -> None:
    _, result = run(FORGED, tmp_path / "run")
    third = [one.time_ns for one in result.evidence.notes if (one.node, one.kind) == (2, NoteKind.SENT)][2]
    forged = [one.time_ns for one in result.evidence.notes if one.text == "forge from n3 heard DATA"]
    assert [at - third for at in forged] == pytest.approx([1e6, 501e6], abs=20_000)
    assert not result.never


def test_what_a_node_was_about_to_send_goes_with_it(tmp_path: Path) -> None:
    """It has noted the message, and dies before the PDU is out."""
    dies = '[[fault]]\nkind = "crash"\nnode = "n2"\nwhen = { note = { kind = "SENT", src = 2 }, count = 3 }\n'
    _, result = run(NEVER[: NEVER.index("[[fault]]")] + dies, tmp_path / "run")
    for evidence in (result.evidence, carry_out(result.scenario).world.history()):
        of_n2 = [(one.node, one.kind) for one in evidence.notes if one.about == 2]
        assert of_n2.count((2, NoteKind.SENT)) == 3 and of_n2.count((1, NoteKind.DELIVERED)) == 2
