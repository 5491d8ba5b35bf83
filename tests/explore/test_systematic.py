"""Every schedule: as many as there are, none twice, and what needs two losses is found with two."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import main
from harness.explore.judging import judged
from harness.explore.memory import carry_out
from harness.explore.search import Where
from harness.explore.systematic import systematic
from harness.scenario import load, loads
from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import Drop, Duplicate
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.restart import Restart
from harness.scenario.faults.when import When
from harness.scenario.model import Scenario
from harness.scenario.pdus import PduMatch
from nodes.wire.note import NoteKind

MS = 1_000_000
BY = 30 * MS  # a tenth of the time of [explore], by which copies are late and the dead come back
TINY = """
name = "tiny"
protocol = "cmd"
topology = {{ kind = "lan", nodes = 2 }}
cmd = {{ retry = "20ms", retry_max = "40ms", attempts = 3 }}
[[impair]]
on = "receivers"
delay = "1ms"
[workload]
kind = "script"
message = [{{ at = "0ms", node = "n1", to = "n2", data = "x" }}]
[explore]
faults = {kinds}
"""


def universe(kinds: list[str]) -> list[tuple[Fault, ...]]:
    """More than can strike: any of the first PDUs of each type and way."""
    found: list[tuple[Fault, ...]] = []
    titles, ways = ("DATA", "ACK", "HELLO", "WELCOME"), ((1, 2), (2, 1))
    for title, (src, to), number in itertools.product(titles, ways, range(1, 8)):
        pdu = PduMatch(types=(title,), src=(src,))
        if "drop" in kinds:
            found.append((Drop(pdu=pdu, towards=(f"n{to}",), skip=number - 1),))
        if "duplicate" in kinds:
            found.append((Duplicate(pdu=pdu, towards=(f"n{to}",), skip=number - 1, by_ns=BY),))
        if "crash" in kinds:
            crash = Crash(when=When(pdu=pdu, count=number), node=(f"n{src}",))
            found += [(crash,), (crash, Restart(when=crash.when, at_ns=BY, node=crash.node))]
    return found


def all_strike(case: Scenario) -> bool:
    """Does each of the faults happen, and is there somebody, now or later, to take each PDU?"""
    back = {int(name[1:]) for fault in case.fault if isinstance(fault, Restart) for name in fault.node}
    down: set[int] = set()
    struck = 0
    for event in carry_out(case).world.events:
        if event.kind is not NoteKind.FAULT or event.fault.kind == "heal":
            continue
        struck += 1
        if event.fault.kind == "crash":
            down |= set(event.peers)
        elif event.fault.kind == "restart":
            down -= set(event.peers)
        elif down & set(event.peers) - back:
            return False
    return struck == len(case.fault)


@pytest.mark.parametrize("kinds", [["drop"], ["drop", "duplicate"], ["drop", "crash"]], ids="-".join)
def test_there_are_as_many_as_brute_force_finds(kinds: list[str]) -> None:
    base = loads(TINY.format(kinds=json.dumps(kinds)))
    state = systematic(base, 2, Where(jobs=1), None, True, lambda now: None)
    for count in (1, 2):
        sets = (tuple(itertools.chain(*some)) for some in itertools.combinations(universe(kinds), count))
        assert state.counts[count] == sum(all_strike(replace(base, explore=None, fault=one)) for one in sets)
    assert state.is_whole and state.counts == state.done and state.counts[2] > state.counts[1]


TWO_LOSSES = """
name = "two-losses"
protocol = "him"
settle = "20s"
livelock = "60s"
limit = "300s"
topology = { kind = "lan", nodes = 4 }
him = { rto_initial = "20ms", printed_report = true, printed_test = true }
workload = { kind = "bursts", rounds = 1, senders = "n1" }
explore = { faults = ["drop"] }
[[impair]]
on = "receivers"
delay = "1ms"
"""


def test_what_needs_two_losses_is_found_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One REPORT, which nobody acknowledges (D-HI-4): the message and the REPORT about it must be lost."""
    scenario = tmp_path / "two-losses.toml"
    scenario.write_text(TWO_LOSSES)
    words = ["explore", str(scenario), "--memory-only", "--jobs", "1", "--out", str(tmp_path / "out"), "--systematic"]
    assert main([*words, "1"]) == 0
    assert "these are all, and nothing is broken" in capsys.readouterr().out
    assert main([*words, "2", "--json"]) == 1
    (failure,) = (told := json.loads(capsys.readouterr().out))["failures"]
    assert "HI-1" in failure["properties"] and failure["faults"] == 2
    assert told["schedules"][1]["done"] == told["schedules"][1]["known"] and not told["all"]
    repaired = load(Path(failure["file"]), settings=["him.printed_report=false", "him.printed_test=false"])
    assert not judged(repaired).broken


def test_who_is_out_of_time_says_that_these_are_not_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explore", "cmd", "--memory-only", "--jobs", "1", "--seconds", "0.001", "--out", str(tmp_path)]
    assert main([*words, "--systematic", "2"]) == 0
    assert "these are not all: ended by enough time" in capsys.readouterr().out
