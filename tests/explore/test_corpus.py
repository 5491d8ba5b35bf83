"""What the search found once (harness/explore/corpus/) fails again as soon as its repair is taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness import setting
from harness.explore.corpus import corpus
from harness.explore.judging import judged
from harness.scenario import load
from harness.scenario.model import Scenario
from nodes.cmd.orders import SRecords
from nodes.delta.machine import Delta
from nodes.delta.tags import Entries
from nodes.him.sender import Sender
from nodes.him.tester import Held
from nodes.him.tester import Tester as Neighbour  # or pytest collects it
from nodes.st.logs import Arrival, ReceiveLog
from nodes.st.recovery import Recovery
from nodes.wire.cmd import CmdData
from nodes.wire.him import HimAnswer, HimQuery
from nodes.wire.st import RETX, DataBlock
from topologies.plan import Plan

AGAIN = "# It fails again with: "
# Other tests take the repair out (test_clocks, test_invariants, test_to_repairs), or it was of the run in memory or of
# a judge, and no rule.
NOT_HERE = {
    *("cmd/clock-back", "him/clock-back", "him/clock-forward"),
    *("to/founder-given-up", "to/heard-when-leaving", "to/point-said-twice", "to/said-before-a-join"),
    *("cmd/sent-in-one-go", "cmd/behind-an-earlier-life", "him/proposed-by-another", "him/told-in-the-same-instant"),
}

take, on_data, hold, not_yet = ReceiveLog.take, Recovery.on_data, Neighbour.hold, Neighbour._not_yet
on_answer, evidence, may_come, deliver = Neighbour.on_answer, Sender.evidence, Delta._condition_1, SRecords.deliver
slot_ns = setting.slot_ns


def by_its_number_alone(self: ReceiveLog, p: DataBlock) -> Arrival:
    """Who holds a PDU does not know it, if it would be the next."""
    pseq = p.pseq[self.slot]
    if pseq == self.preq[p.src - 1]:
        self.held[p.src - 1].discard(pseq)
    return take(self, p)


def when_it_comes_again(self: Recovery, p: DataBlock) -> None:
    """A late copy of what was missing does not end a round."""
    with pytest.MonkeyPatch.context() as patch:
        if not p.flags & RETX:
            patch.setattr(Recovery, "_finish_if_complete", lambda self: None)
        on_data(self, p)


def at_the_pace_of_the_channel(scenario: Scenario, plan: Plan, read_delay_ns: int) -> int:
    """Whatever is slower."""
    return slot_ns(replace(scenario, impair=()), plan, read_delay_ns)


def answered_first(self: Neighbour, *message: Any) -> Held:
    """And delivered then."""
    notes: list[tuple[Any, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(self._core, "log", lambda *what, **more: notes.append((what, more)))
        held = hold(self, *message)
    for what, more in notes:
        self._core.log(*what, **more)
    return held


def no_sooner(self: Neighbour, pdu: HimQuery) -> None:
    """Who is asked again says no when the first question would have it."""
    not_yet(self, replace(pdu, attempt=0))


def while_asked(self: Sender, held: Held, node: int) -> None:
    """Who was served is named if he is still asked."""
    sending = self._open[held.seq]
    if node not in sending.probing:
        sending.served.discard(node)
    evidence(self, held, node)


def he_is_there(self: Neighbour, pdu: HimAnswer) -> None:
    """An answer of the originator begins the wait for his END anew, so that the next question is the last."""
    on_answer(self, pdu)
    held = self.store.get((pdu.origin, pdu.seq))
    if held is not None and held.there:
        self._await_end(held)


def waits_for_itself(self: Delta, mine: Entries, now_ns: int) -> bool:
    """For what its earlier life sent, too."""
    own = mine.get(self._me, 0)
    return may_come(self, mine, now_ns) and (self._deliv[self._me] >= own or own + self._limit_ns < now_ns)


def as_v_counts(self: SRecords, copy: CmdData) -> bool:
    """What a message tells of an earlier life is forgotten when V counts a later one."""
    known, v = dict(self._reached), dict(self.v)
    looks_at_queue = deliver(self, copy)
    for k, life in self._reached:
        if life < self._rules.life(v[k]):
            self._reached[k, life] = known.get((k, life), 0)
    return looks_at_queue


RULES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "cmd/known-of-an-earlier-life": (SRecords, "deliver", as_v_counts),
    "delta/own-earlier-life": (Delta, "_condition_1", waits_for_itself),
    "him/asked-again": (Neighbour, "_not_yet", no_sooner),
    "him/served-at-last": (Sender, "evidence", while_asked),
    "him/told-before-held": (Neighbour, "hold", answered_first),
    "him/two-ends-lost": (Neighbour, "on_answer", he_is_there),
    "st/double-in-a-round": (Recovery, "on_data", when_it_comes_again),
    "st/held-and-doubled": (ReceiveLog, "take", by_its_number_alone),
    "st/slow-way": (setting, "slot_ns", at_the_pace_of_the_channel),
}
INVARIANTS = {"him/told-before-held": "H1", "st/held-and-doubled": "I5"}  # which see it as well


@pytest.mark.parametrize("name", list(corpus()))
def test_what_was_found_once_fails_without_its_repair_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = corpus()[name]
    assert not judged(load(path)).against, f"tutti run {path}"
    switches = [line.removeprefix(AGAIN) for line in path.read_text().splitlines() if line.startswith(AGAIN)]
    assert len(switches) + (name in RULES) + (name in NOT_HERE) == 1
    for without in switches:
        again = load(path, settings=[without])
        broken = judged(again).broken
        assert broken and broken <= {one.property for one in again.expect}, f"tutti run {path} --set {without}"
    if name in RULES:
        monkeypatch.setattr(*RULES[name])
        broken = judged(load(path)).broken
        assert broken & {one.property for one in load(path).expect}
        assert name not in INVARIANTS or INVARIANTS[name] in broken
