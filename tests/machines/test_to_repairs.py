"""What random schedules found to be missing in TO: each repair taken out again, on a schedule that shows it.

A schedule is a seed of test_to_adversity.complaints, without farewells, or of busy_returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nodes.to.live import LiveTo
from nodes.to.machine import To
from nodes.to.options import ToOptions
from nodes.to.stop import JoinRecord
from nodes.to.views import ViewMode
from nodes.wire import Pdu
from nodes.wire.st import DataBlock, SnapshotBlock
from nodes.wire.to import JoinBlock, StopBlock, ToRcv
from tests.helpers.cluster import SLOT, TD, Restless, failures
from tests.machines.test_to_adversity import LIVE, busy_returns, complaints

admit_joiners, begin_again, flush, replay = To._admit_joiners, To._begin_again, To._flush, To._replay_buffered


def false_witness(self: To, known: tuple[int, ...]) -> None:
    """A joiner shows the view it joins as committed: another joiner takes that for its own admission."""
    begin_again(self, known)
    self.committed = tuple([0 if k == self.index else code for k, code in enumerate(known)])


def forgotten_join(self: To) -> None:
    """Who enters the next join forgets the one that others may have committed."""
    self._joined = None
    admit_joiners(self)


def no_learning(self: To, x: Any) -> None:
    """A stop that others have committed is not learnt."""


def moving_report(self: To) -> list[int]:
    """A recovery round completes what was reported of a stopped entity."""
    return sorted(self.members)


def kept_past(self: To, record: JoinRecord, came: list[int]) -> None:
    """What is left of the stopped stays in the members' logs: the joiner never has it."""
    nobody_stopped = tuple([code & ~1 for code in record.v])
    flush(self, JoinRecord(nobody_stopped, record.nxt, record.nxtp), [])


def overtaking(self: To, pdu: Any) -> None:
    """A PDU tells of a stop, which ends a recovery round, and is taken before those that waited for that end."""
    if self.vm is ViewMode.LEFT or not self._admit(pdu):
        return
    self._learn(pdu)
    if isinstance(pdu, DataBlock):
        self._on_data(pdu)
    elif not isinstance(pdu, SnapshotBlock):
        self._on_view(pdu)
    elif self.vm is not ViewMode.JOINING:
        self._on_round(pdu)


def out_of_turn(self: To, *, agreed: bool = False) -> None:
    """What waited for a join that came to nothing is taken behind what came later and did not wait."""
    replay(self, agreed=True)


REPAIRS: list[tuple[str, Callable[..., Any], int, ToOptions | None]] = [
    ("_begin_again", false_witness, 16, None),
    ("_admit_joiners", forgotten_join, 239, None),
    ("_learn_stop", no_learning, 845, None),
    ("_sources_to_complete", moving_report, 24599, None),
    ("_flush", kept_past, 38600, None),
    ("_dispatch", overtaking, 1613, None),
    ("_replay_buffered", out_of_turn, 395, LIVE),
]


@pytest.mark.parametrize(("rule", "broken", "seed", "options"), REPAIRS, ids=[case[1].__name__ for case in REPAIRS])
def test_without_the_repair(
    monkeypatch: pytest.MonkeyPatch, rule: str, broken: Callable[..., Any], seed: int, options: ToOptions | None
) -> None:
    assert complaints(seed, options, kinds="cfklpd") == []
    monkeypatch.setattr(To, rule, broken)
    assert complaints(seed, options, kinds="cfklpd") != []


def moving_point(self: LiveTo) -> None:
    """Another joiner, another point, though the first join may be committed elsewhere."""
    To._freeze(self)
    self._void = False


# What live recovery adds, each rule taken out again, on a seed of test_to_adversity.busy_returns.
LIVE_RULES: list[tuple[str, Callable[..., Any], int]] = [
    ("_sent_in_a_join", lambda self, p: False, 152),  # data may come before the RCV_PACK that says where they belong
    ("_collect_join", To._collect_join, 103),  # points of another epoch count, and show nothing about what waits
    ("_enter", To._enter, 3),  # a round does not void the attempt
    ("_freeze", moving_point, 603),
    ("_sees_the_future", To._sees_the_future, 137),  # what is sent again acknowledges the joiner's earlier life
]


@pytest.mark.parametrize(("rule", "broken", "seed"), LIVE_RULES, ids=[case[0] for case in LIVE_RULES])
def test_live_without_the_rule(
    monkeypatch: pytest.MonkeyPatch, rule: str, broken: Callable[..., Any], seed: int
) -> None:
    assert busy_returns(seed, LIVE) == []
    monkeypatch.setattr(LiveTo, rule, broken)
    assert busy_returns(seed, LIVE) != []


def overtaken_in_a_join() -> list[str]:
    """E3 has the RCV_PACK of E1 and lacks the STOP of E2, so a message of E1 waits there that the others take; E2 has
    never heard of the join, so its next message does not wait."""
    world = Restless(5, ToOptions())
    stop, asunder = world.stop_time(), world.now + 2 * world.stop_time()
    together = asunder + 3 * stop

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        if not asunder <= now < together or pdu.src == receiver:
            return False
        if isinstance(pdu, ToRcv):
            return receiver != 1
        if isinstance(pdu, JoinBlock):
            return (pdu.src, receiver) != (1, 3)
        if isinstance(pdu, StopBlock):
            return receiver in (3, 5)
        return (pdu.src, receiver) == (5, 2)

    world.channel(SLOT, loss)
    world.at(world.now, lambda: world.kill(4))
    world.run(until_ns=asunder + stop // 2)
    suspicion = world.alive()[1]._heard[4] + stop
    together = suspicion + 20 * SLOT
    world.at(suspicion - 12 * SLOT, lambda: world.start_again(4))
    world.at(suspicion + 4 * SLOT, lambda: world.say(1, b"waits at E3"))
    world.at(suspicion + 8 * SLOT, lambda: world.say(2, b"does not"))
    world.run(until_ns=suspicion + 2 * stop)
    assert world.run_until_calm(20 * stop)
    return failures(world, TD)


def test_nothing_is_overtaken_in_a_join_that_comes_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert overtaken_in_a_join() == []
    monkeypatch.setattr(To, "_replay_buffered", out_of_turn)
    assert overtaken_in_a_join() != []
