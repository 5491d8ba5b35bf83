"""The judge of virtual synchrony, on histories in one line each."""

from __future__ import annotations

import pytest

from harness.judges import Outcome, judge
from tests.helpers.notation import history

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN

_ALL = "1[1,2,3#1 2[1,2,3#1 3[1,2,3#1"
_TWO = "1[1,2#2 2[1,2#2"

CASES = [
    (f"{_ALL} 1+a 1-a 2-a 3-a x3 {_TWO} end", PASS),
    (f"{_ALL} 1+a 1-a 2-a x3 {_TWO} end", PASS),  # who has gone owes nothing
    (f"{_ALL} 1+a 1-a 3-a x3 {_TWO} end", FAIL),
    (f"{_ALL} 1+a 1-a 3-a x3 {_TWO} 2-a end", FAIL),  # too late
    (f"{_ALL} 1+a 1+b 1-ab 2-ba x3 {_TWO} end", PASS),  # another property's business
    (f"{_ALL} 1+a 1-a 3-a x3 {_TWO} limit", FAIL),  # both views are there: it is decided
    (f"{_ALL} 1+a 1-a 3-a x3 {_TWO} hole end", UNKNOWN),
    (f"{_ALL} 1+a 1-a 2-a x3 {_TWO} hole end", UNKNOWN),
    (f"1+a 1-a {_ALL} end", PASS),  # before the first view nothing is promised
    (f"{_ALL} 1+a 1-a end", PASS),  # nor as long as the next one is not there
    (f"{_ALL} 1+a 1-a 3-a 1[1,2#2 2[1,2#2 3[3#2 end", FAIL),
    (f"{_ALL} 1+a 1-a 2-a 1[1,2#2 2[1,2#2 3[3#2 end", PASS),  # cut off: another way
    (f"{_ALL} 1+a 1-a 1[1#2 2[2#2 1[1,2#3 2[1,2#3 end", PASS),  # in the end they meet again, by different ways
    (f"{_ALL} {_TWO} 1+a 1-a x2 r2 2[1,2#3 1[1,2#3 end", PASS),  # another life
]


@pytest.mark.parametrize(("line", "outcome"), CASES)
def test_virtual_synchrony(line: str, outcome: Outcome) -> None:
    (one,) = judge(history(line), ["VS"])
    assert one.outcome is outcome, one


def test_it_says_who_lacks_what() -> None:
    (one,) = judge(history(f"{_ALL} 1+a 1+b 1-ab 2-a x3 {_TWO} end"), ["VS"])
    assert (
        one.sentence
        == "n1 and n2 went to the view 2 {1,2} from the same view before, but only n1 delivered 1:2 in between"
    )
    assert [event.node for event in one.events] == [1, 1, 2]
