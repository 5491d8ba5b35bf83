"""What is watched in random schedules of ST and TO (harness/explore/invariants/st.py), each seen broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest

from nodes.st import recovery, rules
from nodes.st.lines import sort_rear
from nodes.st.logs import Arrival, ReceiveLog
from nodes.st.minima import Minima
from nodes.st.recovery import Recovery
from nodes.st.round import Round
from nodes.wire.st import DataBlock, RoundBlock
from tests.helpers import st_schedules, to_schedules

raise_column, confirm, line, numbers = Minima.raise_column, ReceiveLog.confirm, Round.line, count()
take, said = ReceiveLog.take, Recovery._ack


def hasty_belief(self: Minima, j: int, vector: Sequence[int]) -> None:
    """Who acknowledges is taken to have one PDU more of each source."""
    raise_column(self, j, [value + 1 for value in vector])


def forgetful(self: ReceiveLog) -> list[DataBlock]:
    """What is confirmed is expected once more."""
    confirmed = confirm(self)
    for p in confirmed:
        self.preq[p.src - 1] = p.pseq[self.slot]
    return confirmed


def one_too_early(known: Minima, p: DataBlock) -> int:
    """A PDU is pre-acknowledged that somebody has not acknowledged."""
    return known.minimum[p.src - 1] + 1


def own_line(self: Round, members: frozenset[int]) -> tuple[int, ...] | None:
    """Everybody has a line of its own."""
    agreed = line(self, members)
    return agreed and tuple([c + next(numbers) for c in agreed])


def hasty_delivery(self: ReceiveLog) -> list[DataBlock]:
    """What is confirmed is delivered and yet kept."""
    confirmed = confirm(self)
    self.prl.extend(confirmed)
    return confirmed


def twice(self: ReceiveLog, p: DataBlock) -> Arrival:
    """What is accepted is held twice."""
    arrival = take(self, p)
    if arrival is Arrival.NEXT and self.me in p.dst:
        self.rrl.append(p)
    return arrival


def what_it_has_now(self: Recovery, flags: int) -> RoundBlock:
    """A RST_ACK shows another snapshot than the RST_PAK."""
    return replace(said(self, flags), a_t=tuple(self._transfer.log.treq))


def own_order(rear: Sequence[DataBlock], order: Sequence[int]) -> list[DataBlock]:
    """Everybody sorts in another way."""
    return sort_rear(rear, order)[:: (-1) ** next(numbers)]


BROKEN: list[tuple[str, object, str, Callable[..., object]]] = [
    ("I1", Minima, "raise_column", hasty_belief),
    ("I2", ReceiveLog, "confirm", forgetful),
    ("I3", rules, "least_of_all", one_too_early),
    ("I4", Round, "line", own_line),
    ("I5", ReceiveLog, "confirm", hasty_delivery),
    ("I5", ReceiveLog, "take", twice),
    ("I6", Recovery, "_ack", what_it_has_now),
    ("I7", recovery, "sort_rear", own_order),
]


@pytest.mark.parametrize("complaints", [st_schedules.complaints, to_schedules.complaints], ids=["st", "to"])
@pytest.mark.parametrize(("name", "where", "rule", "broken"), BROKEN, ids=[case[3].__name__ for case in BROKEN])
def test_what_breaks_an_invariant_is_seen(
    monkeypatch: pytest.MonkeyPatch,
    complaints: Callable[[int], list[str]],
    name: str,
    where: object,
    rule: str,
    broken: Callable[..., object],
) -> None:
    monkeypatch.setattr(where, rule, broken)
    assert any(f"{name}:" in word for seed in range(30) for word in complaints(seed))
