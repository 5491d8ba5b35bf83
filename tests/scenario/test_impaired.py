"""What impairs a place when several impairments overlap."""

from __future__ import annotations

from topologies.impaired import Impaired
from topologies.impairments import Impairment
from topologies.kinds import build
from topologies.placement import Placement

USUAL, LOSSY, SLOW = Impairment(delay_ns=1), Impairment(loss=0.5), Impairment(delay_ns=1_000_000)
PLAN = build("lan", 2)


class Places:
    """What was put where."""

    def __init__(self) -> None:
        self.now: dict[str, Impairment | None] = {}
        self.turns = 0
        self.impaired = Impaired(PLAN, self._put)

    def _put(self, place: Placement, impairment: Impairment | None) -> None:
        self.now[place.name] = impairment
        self.turns += 1


def test_whichever_of_two_ends_first_what_was_there_before_comes_back() -> None:
    for first_ends_first in (True, False):
        places = Places()
        places.impaired.impair(["s1>n1"], USUAL)
        first = places.impaired.cover(["s1>n1"], LOSSY)
        second = places.impaired.cover(["s1>n1"], SLOW)
        assert places.now == {"s1-eth1": SLOW}
        (first if first_ends_first else second).end()
        assert places.now == {"s1-eth1": SLOW if first_ends_first else LOSSY}
        (second if first_ends_first else first).end()
        assert places.now == {"s1-eth1": USUAL}


def test_what_lies_below_ends_without_touching_what_waits_above() -> None:
    places = Places()
    below = places.impaired.cover(["s1>n1"], LOSSY)
    places.impaired.cover(["s1>n1"], SLOW)
    turns = places.turns
    below.end()
    assert places.turns == turns


def test_where_nothing_was_there_is_nothing_afterwards() -> None:
    places = Places()
    cover = places.impaired.cover(["receivers", "s1>n2"], LOSSY)  # two words for one place
    assert places.now == {"s1-eth1": LOSSY, "s1-eth2": LOSSY}
    cover.end()
    assert places.now == {"s1-eth1": None, "s1-eth2": None}


def test_what_is_usual_changes_below_what_is_there_for_a_while() -> None:
    places = Places()
    cover = places.impaired.cover(["s1>n1"], LOSSY)
    places.impaired.impair(["receivers"], SLOW)
    assert places.now == {"s1-eth1": LOSSY, "s1-eth2": SLOW}
    cover.end()
    assert places.now == {"s1-eth1": SLOW, "s1-eth2": SLOW}
