"""What random schedules found to be missing in TO: each repair taken out again, on a schedule that shows it.

A schedule is a seed of test_to_adversity.complaints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nodes.to.machine import To
from nodes.to.stop import JoinRecord
from tests.test_to_adversity import complaints

admit_joiners, begin_again, flush = To._admit_joiners, To._begin_again, To._flush


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


REPAIRS: list[tuple[str, Callable[..., Any], int]] = [
    ("_begin_again", false_witness, 16),
    ("_admit_joiners", forgotten_join, 239),
    ("_learn_stop", no_learning, 845),
    ("_sources_to_complete", moving_report, 24599),
    ("_flush", kept_past, 38600),
]


@pytest.mark.parametrize(("rule", "broken", "seed"), REPAIRS, ids=[case[1].__name__ for case in REPAIRS])
def test_without_the_repair(monkeypatch: pytest.MonkeyPatch, rule: str, broken: Callable[..., Any], seed: int) -> None:
    assert complaints(seed) == []
    monkeypatch.setattr(To, rule, broken)
    assert complaints(seed) != []
