"""The invariants of the rules that no paper has (tests/helpers/invariants.py) hold in what explore draws; and each is
seen broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from harness.explore.base import base_of
from harness.explore.corpus import corpus
from harness.scenario import load
from harness.scenario.faults.clock import ClockChange
from harness.scenario.model import Scenario
from nodes.cmd.machine import Cmd
from nodes.cmd.reliable import Reliable
from nodes.machine import Output, Submit
from tests.helpers.invariants import cmd_broken, delta_broken, drawn
from tests.helpers.seeds import EverySeed

BATCHES = 10
IMPATIENT = ("explore.options.attempts=[3,2]", 'explore.faults=["link","partition","drop"]')

submitted = Cmd._submitted


def within_epsilon(case: Scenario) -> bool:
    """Clocks that run wild promise nothing."""
    return not any(isinstance(fault, ClockChange) and fault.offset_ns is None for fault in case.fault)


def of_delta(seed: int, *settings: str) -> Iterator[str]:
    for case in filter(within_epsilon, drawn(base_of("delta", settings), seed)):
        yield from delta_broken(case)


def of_cmd(seed: int, *settings: str) -> Iterator[str]:
    for case in drawn(base_of("cmd", settings), seed):
        yield from cmd_broken(case)


@pytest.mark.parametrize("settings", [(), IMPATIENT], ids=["all", "impatient"])
def test_cmd_keeps_what_its_own_rules_promise(settings: tuple[str, ...], every_seed: EverySeed) -> None:
    every_seed(range(BATCHES), lambda seed: next(of_cmd(seed, *settings), None))


def test_delta_keeps_what_its_own_rules_promise(every_seed: EverySeed) -> None:
    every_seed(range(BATCHES), lambda seed: next(of_delta(seed), None))


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


def test_without_r8_what_was_given_up_is_delivered() -> None:
    """Where the receiver's clock is set back at the right moment, which is drawn once in a thousand cases."""
    path = corpus()["delta/clock-back"]
    assert not list(delta_broken(load(path)))
    assert any(word.startswith("R8") for word in delta_broken(load(path, settings=["delta.printed.overtaken=true"])))
