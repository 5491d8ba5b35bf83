"""The invariants of the rules that no paper has (harness/explore/invariants/) hold in what explore draws; and each is
seen broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from captures.evidence import Event
from harness.explore.base import base_of
from harness.explore.corpus import corpus
from harness.explore.found import confirm
from harness.explore.growth import GROWS
from harness.explore.invariants import watch_of
from harness.explore.invariants.delta import within_epsilon
from harness.explore.invariants.watch import Watch
from harness.explore.judging import aim_of, judged
from harness.explore.memory import Run
from harness.scenario import load
from harness.scenario.faults.chosen import Drop
from harness.scenario.faults.clock import ClockChange
from harness.scenario.faults.link import LinkState
from harness.scenario.faults.pause import Pause
from harness.scenario.faults.when import When
from harness.scenario.model import Message, Script
from harness.scenario.pdus import PduMatch
from harness.world import World
from nodes.cmd.machine import Cmd
from nodes.cmd.reliable import Reliable
from nodes.him.window import Window
from nodes.machine import Machine, Output, Submit
from nodes.to import join
from nodes.to.join import Joins
from nodes.to.joiner import Joiner
from nodes.to.machine import To
from nodes.to.standing import Standing
from nodes.wire.note import NoteKind
from nodes.wire.to import JoinBlock, ToPdu
from tests import ROOT
from tests.helpers.invariants import drawn, watched
from tests.helpers.seeds import EverySeed

BATCHES = 10
MS = 1_000_000
IMPATIENT = ("explore.options.attempts=[3,2]", 'explore.faults=["link","partition","drop"]')

submitted, learn, point = Cmd._submitted, To._learn, Joins._pdu


def of_delta(seed: int, *settings: str) -> Iterator[str]:
    for case in filter(within_epsilon, drawn(base_of("delta", settings), seed)):
        yield from watched(case)


def of_cmd(seed: int, *settings: str) -> Iterator[str]:
    for case in drawn(base_of("cmd", settings), seed):
        yield from watched(case)


def of_to(seed: int) -> Iterator[str]:
    for case in drawn(base_of("to"), seed):
        yield from watched(case)


def of_him(seed: int) -> Iterator[str]:
    for case in drawn(base_of("him"), seed):
        yield from watched(case)


@pytest.mark.parametrize("settings", [(), IMPATIENT], ids=["all", "impatient"])
def test_cmd_keeps_what_its_own_rules_promise(settings: tuple[str, ...], every_seed: EverySeed) -> None:
    every_seed(range(BATCHES), lambda seed: next(of_cmd(seed, *settings), None))


def test_delta_keeps_what_its_own_rules_promise(every_seed: EverySeed) -> None:
    every_seed(range(BATCHES), lambda seed: next(of_delta(seed), None))


def test_to_keeps_what_its_own_rules_promise(every_seed: EverySeed) -> None:
    every_seed(range(BATCHES), lambda seed: next(of_to(seed), None))


def test_him_keeps_what_its_own_rules_promise(every_seed: EverySeed) -> None:
    every_seed(range(BATCHES), lambda seed: next(of_him(seed), None))


def takes_what_it_leaves_for(self: To, x: ToPdu) -> bool:
    """Who leaves for what a PDU shows keeps the PDU."""
    learn(self, x)
    return True


def with_a_moving_point(self: Joins, row: type, flags: int = 0) -> JoinBlock:
    """A point says what comes next."""
    said: JoinBlock = point(self, row, flags)
    return replace(said, nxt=self._transfer.sl.tseq)


# A founder follows one that it has given up.
FOLLOWS = (
    (Joiner, "has_gone_on_without", lambda self, x: False),
    (Standing, "may_learn_from", lambda self, x: True),
)


def silence_goes_on(self: Cmd, event: Submit, now_ns: int) -> list[Output]:
    """A new message does not end the silence of a link."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reliable, "ask_again", lambda self, peer, now_ns: [])
        return submitted(self, event, now_ns)


@pytest.mark.parametrize(
    ("name", "of", "settings", "broken"),
    [
        ("R7", of_delta, ("delta.printed.restart=true",), None),
        ("L1", of_cmd, ("cmd.printed.lives=true",), None),
        ("L2", of_cmd, IMPATIENT, silence_goes_on),
    ],
    ids=["R7", "L1", "L2"],
)
def test_without_its_rule_an_invariant_is_broken(
    name: str,
    of: Callable[..., Iterator[str]],
    settings: tuple[str, ...],
    broken: Callable[..., object] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if broken is not None:
        monkeypatch.setattr(Cmd, "_submitted", broken)
    assert any(word.startswith(name) for seed in range(30) for word in of(seed, *settings))


@pytest.mark.parametrize(
    ("name", "case", "rules"),
    [
        ("T1", "explore/corpus/to/founder-given-up", [*FOLLOWS]),
        ("T2", "scenarios/to/joined-alone", [(Standing, "may_learn_from", lambda self, x: True)]),
        ("T3", "explore/corpus/to/heard-when-leaving", [(To, "_learn", takes_what_it_leaves_for), *FOLLOWS]),
    ],
    ids=["T1", "T2", "T3"],
)
def test_without_its_rule_an_invariant_is_broken_in_a_case(
    name: str, case: str, rules: list[tuple[type, str, Callable[..., object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is drawn too seldom to wait for it. What showed T3 takes two rules now: who left there was a founder."""
    path = ROOT / f"harness/{case}.toml"
    assert not list(watched(load(path)))
    for of, rule, broken in rules:
        monkeypatch.setattr(of, rule, broken)
    assert any(word.startswith(name) for word in watched(load(path)))


@pytest.mark.parametrize(
    ("name", "of", "rule", "broken"),
    [
        ("T4", Joins, "_pdu", with_a_moving_point),
        ("T5", join, "_epoch_of_sender", lambda x: x.epoch - 1),  # everything is of a round
    ],
    ids=["T4", "T5"],
)
def test_where_a_join_begins(
    name: str, of: object, rule: str, broken: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of, rule, broken)
    assert any(word.startswith(name) for seed in range(30) for word in of_to(seed))


def test_the_search_tells_it_and_nobody_confirms_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = base_of("to")
    assert base.explore is not None
    monkeypatch.setattr(Joins, "_pdu", with_a_moving_point)
    failures = (found for seed in range(30) for case in drawn(base, seed) if "T4" in (found := judged(case)).broken)
    assert "in the join to" in next(one.sentence for one in next(failures).against if one.property == "T4")
    assert confirm(tmp_path / "no file", ("T4",), tmp_path) is None


def test_what_is_made_smaller_fails_for_what_a_judge_sees_if_it_did() -> None:
    assert aim_of(frozenset({"T4", "TD-5"})) == {"TD-5"}
    assert aim_of(frozenset({"T4", GROWS})) == {"T4", GROWS}


class Looks(Watch):
    """What is noted from one look to the next."""

    def __init__(self, world: World, options: Any) -> None:
        super().__init__(world, options)
        self.kinds: list[set[NoteKind]] = []

    def look(self, number: int, machine: Machine, noted: Sequence[Event]) -> None:
        self.kinds.append({event.kind for event in noted})


def test_a_step_is_looked_at_as_a_whole() -> None:
    """Also where a fault strikes in the middle of what it puts out, and makes the machine step once more."""
    struck = ClockChange(when=When(pdu=PduMatch(types=("DATA",), src=(1,))), node=("n1",), step_ns=1)
    said = Script(message=(Message(at_ns=0, node="n1"),))
    run = Run(replace(base_of("cmd"), workload=said, fault=(struck,)))
    looks = Looks(run.world, run.scenario.options)
    run.all()
    assert {NoteKind.SUBMITTED, NoteKind.SENT, NoteKind.CLOCK, NoteKind.DELIVERED} in looks.kinds


def seen_by_its_number_alone(self: Window, number: int) -> bool:
    """Whatever is below the highest."""
    return number <= self._highest


def test_what_was_forgotten_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two messages the second has ended, and is forgotten, when the first is sent again to who has missed it."""
    said = Script(message=(Message(at_ns=10 * MS, node="n1"), Message(at_ns=10 * MS, node="n1")))
    lost = Drop(pdu=PduMatch(types=("DATA",), src=(1,)), towards=("n3",))
    paused = Pause(at_ns=11 * MS, node=("n1",), for_ns=60_000 * MS)
    case = replace(base_of("him"), workload=said, fault=(lost, paused))
    assert not list(watched(case))
    monkeypatch.setattr(Window, "__contains__", seen_by_its_number_alone)
    assert any(word.startswith("H2") for word in watched(case))


def test_who_is_removed_was_asked() -> None:
    said = Script(message=(Message(at_ns=10 * MS, node="n1"),))
    cut = LinkState(at_ns=0, link=("n3-s1",), for_ns=10_000 * MS)
    case = replace(base_of("him"), workload=said, fault=(cut,))
    assert not list(watched(case))
    asked_nobody = replace(case, options=replace(case.options, printed_disjoin=True))
    assert any(word.startswith("H3") for word in watched(asked_nobody))


PRINTED = (
    *("st.printed.pal=true", "to.printed.merge=true", "cmd.rules=printed", "delta.printed.restart=true"),
    "him.printed_disjoin=true",
)


@pytest.mark.parametrize("setting", PRINTED)
def test_printed_rules_promise_nothing(setting: str) -> None:
    assert watch_of(Run(base_of(setting.partition(".")[0]))) is not None
    assert watch_of(Run(base_of(setting.partition(".")[0], [setting]))) is None


def test_without_r8_what_was_given_up_is_delivered() -> None:
    """Where the receiver's clock is set back at the right moment, which is drawn once in a thousand cases."""
    path = corpus()["delta/clock-back"]
    assert not list(watched(load(path)))
    assert any(word.startswith("R8") for word in watched(load(path, settings=["delta.printed.overtaken=true"])))
