"""The judges of TO with stops and joins, on histories in one line each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from captures.evidence import Notes
from harness.judges import Outcome, judge
from nodes.to.options import ToOptions
from tests.helpers.notation import history

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN

_ABC = "1+a 2+b 3+c"
# 3 crashes after a, comes back and joins after b; c is sent by its second life.
_JOIN = "1+a 1-a 2-a 3-a x3 1[1,2 2[1,2 1+b 1-b 2-b r3 1[1,2,3 2[1,2,3 3[1,2,3 3+c 1-c 2-c 3-c"

# 2 and 3 found the group anew, deliver a, let 1 in, and stop one after the other: nobody is left who was there.
_FOUNDED = "x2 x3 l1 r2 r3 2[2,3#4 3[2,3#4 2+a 2-a 3-a 1[1,2,3#5 2[1,2,3#5 3[1,2,3#5"
_ONE_BY_ONE = "x2 1[1,3#6 3[1,3#6 r2 1[1,2,3#7 2[1,2,3#7 3[1,2,3#7 x3 1[1,2#8 2[1,2#8"

# 2 and 3 crash, come back, and are let in, as is 1, which left because it saw no majority.
_LET_IN = "1[1,2,3 2[1,2,3 3[1,2,3"
_BACK = f"x2 x3 l1 r2 r3 {_LET_IN}"

CASES = [
    # TD-1
    ("TD-1", f"{_ABC} 1-abc 2-abc 3-abc end", PASS),
    ("TD-1", f"{_ABC} 1-abc 2-bac 3-abc end", FAIL),  # order
    ("TD-1", f"{_ABC} 1-abc 2-ac 3-abc end", FAIL),  # a gap
    ("TD-1", f"{_ABC} 1-abc 2-ab 3-abc end", FAIL),  # not equal at the end
    ("TD-1", f"{_ABC} 1-abc 2-ab 3-abc limit", UNKNOWN),
    ("TD-1", f"{_ABC} 1-abc 2-bac 3-abc limit", FAIL),
    ("TD-1", f"{_ABC} 1-abc 2-ac 3-abc hole end", UNKNOWN),
    ("TD-1", f"{_ABC} 1-abc 2-bac 3-abc hole end", FAIL),
    ("TD-1", f"{_ABC} 1-abc 2-abc 3-a x3 end", PASS),
    ("TD-1", f"{_JOIN} end", PASS),
    ("TD-1", "1+a 1-a 2-a 3-a x3 1[1,2 2[1,2 1+b 1-b 2-b r3 1[1,2,3 2[1,2,3 3[1,2,3 3+c 1-c 2-c end", FAIL),
    # TD-2
    ("TD-2", f"{_ABC} 1-abc 2-abc 3-ab x3 end", PASS),
    ("TD-2", f"{_ABC} 1-abc 2-abc 3-b x3 end", FAIL),
    ("TD-2", f"{_ABC} 1-ab 2-ab 3-abc x3 end", FAIL),  # it alone delivered c
    ("TD-2", f"{_ABC} 1-ab 2-ab 3-abc x3 limit", UNKNOWN),
    ("TD-2", f"{_ABC} 1-ab 2-ab 3-ab x3 hole end", UNKNOWN),
    ("TD-2", f"{_ABC} 1-abc 2-abc 3-ba x3 limit", FAIL),
    ("TD-2", f"{_ABC} 1-abc 2-abc 3-abc end", PASS),
    # A majority was down and came back. Of who stopped before nothing is promised, of who stopped after it all is.
    ("TD-2", f"{_ABC} 1-a 2-a 3-ab {_BACK} end", PASS),
    ("TD-2", f"{_ABC} {_BACK} 2+d 1-d 2-d 3-d x3 end", PASS),
    ("TD-2", f"{_ABC} {_BACK} 1+d 2+e 1-d 2-d 3-de x3 end", FAIL),
    ("TD-2", f"{_BACK} 1+d 2+e 1-d 2-d 3-de x3 x2 end", PASS),  # ... and went again
    # 2 and 3 left, and found the group anew; 1 of the old one notices later, or is let in as it was
    ("TD-2", f"{_BACK} 1+a 1-a 2-a 3-a l2 l3 2[2,3#4 3[2,3#4 l1 1[1,2,3#5 2[1,2,3#5 3[1,2,3#5 end", PASS),
    # 2 and 3 were not let in at first, but are up in the end
    ("TD-2", f"x2 x3 l1 r2 r3 l2 l3 {_LET_IN} 1+d 2+e 1-d 2-d 3-de x3 end", FAIL),
    # ... even if it then installs a view of the old one, which the others did not come to
    (
        "TD-2",
        f"{_BACK} 1+a 1-a 2-a 3-a l2 l3 2[2,3#5 3[2,3#5 1[1,2,3#4 l1 1[1,2,3#6 2[1,2,3#6 3[1,2,3#6 end",
        PASS,
    ),
    ("TD-2", f"l1 2[2,3 3[2,3 {_LET_IN} l2 l3 1[1,2,3#4 2[1,2,3#4 3[1,2,3#4 2+b 1+a 1-ba 2-b 3-b l1 end", FAIL),
    ("TD-2", f"{_FOUNDED} {_ONE_BY_ONE} end", PASS),
    ("TD-2", f"{_FOUNDED} 3+b 1-b 2-b 3-b {_ONE_BY_ONE} end", PASS),
    ("TD-2", f"{_FOUNDED} 3+b 2-b 3-b {_ONE_BY_ONE} end", FAIL),
    ("TD-2", f"{_FOUNDED} 3+b 3-b {_ONE_BY_ONE} end", FAIL),
    ("TD-1", f"{_FOUNDED} {_ONE_BY_ONE} 1+c 1-c 2-c end", PASS),
    # TD-3
    ("TD-3", f"3+a 3+b 1-ab 2-a {_BACK} end", PASS),
    ("TD-3", f"{_BACK} 3+a 3+b 1-ab 2-ab x3 end", PASS),
    ("TD-3", f"{_BACK} 3+a 3+b 1-ab 2-a x3 end", FAIL),
    ("TD-3", "3+a 3+b 3+c 1-ab 2-ab x3 end", PASS),
    ("TD-3", "3+a 3+b 3+c 1-ab 2-a x3 end", FAIL),
    ("TD-3", "3+a 3+b 3+c 1-ac 2-ac x3 end", FAIL),  # b is missing before c
    ("TD-3", "3+a 3+b 3+c 1-ab 2-a x3 limit", UNKNOWN),
    ("TD-3", "3+a 3+b 3+c 1-ab 2-a x3 hole end", UNKNOWN),
    ("TD-3", "3+a 3+b 1~b 1-a 2-a x3 end", FAIL),  # pre-acknowledged, then deleted
    ("TD-3", "3+a 3+b 1~b 1-ab 2-ab x3 end", PASS),
    # TD-4
    ("TD-4", "x3 1[1,2 2[1,2 end", PASS),
    ("TD-4", "x3 1[1,2 end", FAIL),
    ("TD-4", "x3 1[1,2 2[1,2 r3 1[1,2,3 2[1,2,3 3[1,2,3 end", PASS),
    ("TD-4", "x3 1[1,2 2[1,2 r3 1[1,2,3 2[1,2 3[1,2,3 end", FAIL),
    ("TD-4", "x3 1[1,2 limit", UNKNOWN),
    ("TD-4", "x3 1[1,2 hole end", UNKNOWN),
    ("TD-4", "1+a end", PASS),
    # TD-5
    ("TD-5", "1+a 3+b 1-a 2-a x3 end", PASS),  # b is of the dead one
    ("TD-5", "1+a 3+b 1-a x3 end", FAIL),
    ("TD-5", "1+a 3+b 1-a x3 limit", UNKNOWN),
    ("TD-5", "1+a 1-a x2 x3 end", PASS),  # a majority is dead
    ("TD-5", "x3 1[1,2 2[1,2 r3 end", FAIL),  # never let in
    ("TD-5", "1[1,2 2[1,2 l3 end", FAIL),  # it runs, and nothing is heard of it any more
    ("TD-5", "1[1,2 2[1,2 l3 x3 end", PASS),  # it does not run
    ("TD-5", "1[1,2 2[1,2 l3 3[1,2,3 end", PASS),  # it is back
    ("TD-5", "x3 r3 3[1,2,3 x2 1+a 1-a 3-a end", PASS),  # two stops, but one after the other
    # A majority was down and came back. Of what was sent before nothing is promised, of what comes after all.
    ("TD-5", f"1+a {_BACK} 1+b 1-b 2-b 3-b end", PASS),
    ("TD-5", f"1+a {_BACK} 1+b 1-b 2-b end", FAIL),
    ("TD-5", f"1+a {_BACK} 1+b end", FAIL),  # nobody delivers any more
    ("TD-5", f"1+a {_BACK} 1&b end", FAIL),  # nobody sends any more
    ("TD-5", "1+a x2 x3 r2 r3 end", FAIL),  # nobody lets anybody in any more
    ("TD-5", f"1+a {_BACK} 1+b 1-b 2-b limit", UNKNOWN),
    ("TD-5", f"1+a {_BACK} 1+b 1-b 2-b hole end", UNKNOWN),
    ("TD-5", f"{_BACK} x2 x3 1&b end", PASS),  # ... and went again
    ("TD-5", "x2 x3 r2 1[1,2 2[1,2 2+b 1-b end", FAIL),  # 1 and 2 are two of three
    ("TD-5", "x2 1+a x3 r3 3[1,2,3 1-a end", PASS),  # 3 was let in after a
    ("TD-5", "cut2 cut3 1+a join2 1+b 1-b 2-b end", PASS),  # 3 is still cut off
    ("TD-5", "cut2 cut3 1+a join2 1+b 1-b end", FAIL),
    ("TD-5", "cut2 cut3 1&a end", PASS),
    # TD-7
    ("TD-7", "1!2,3,no_quorum end", PASS),
    ("TD-7", "1!2,no_quorum end", FAIL),  # 1 and 3 are a majority
    ("TD-7", "1!1,2,no_quorum end", FAIL),  # who says it is there
    ("TD-7", "1!2,no_quorum hole end", FAIL),
    ("TD-7", "1!2,something_else end", PASS),
    ("TD-7", "1!2,3,no_quorum hole end", UNKNOWN),
    # TD-6
    ("TD-6", f"{_JOIN} end", PASS),
    ("TD-6", "1+a 1-a 2-a end", PASS),  # nobody joined
    # 3 misses b, delivered after it was let in
    ("TD-6", "x3 1[1,2 2[1,2 r3 1[1,2,3 2[1,2,3 3[1,2,3 1+b 3+c 1-bc 2-bc 3-c end", FAIL),
    # 3 repeats a, delivered before it was let in
    ("TD-6", "x3 1[1,2 2[1,2 1+a 1-a 2-a r3 1[1,2,3 2[1,2,3 3[1,2,3 3+c 1-c 2-c 3-ac end", FAIL),
    ("TD-6", "x3 1[1,2 2[1,2 r3 1[1,2,3 2[1,2,3 3[1,2,3 1+a 1+b 3+c 1-abc 2-abc 3-ac end", FAIL),  # a gap
    ("TD-6", "x3 1[1,2 2[1,2 r3 1[1,2,3 2[1,2,3 3[1,2,3 1+a 3+c 1-ac 2-ac 3-ca end", FAIL),
    ("TD-6", "x3 1[1,2 2[1,2 r3 1[1,2,3 2[1,2,3 3[1,2,3 1+a 3+c 1-ac 2-ac 3-ca hole end", FAIL),
    ("TD-6", "x3 1[1,2 2[1,2 r3 1[1,2,3 2[1,2,3 3[1,2,3 1+a 3+c 1-ac 2-ac 3-ac hole end", UNKNOWN),
    ("TD-6", "x3 r3 3[1,2,3 1+a 1-a 2-a 3-a end", UNKNOWN),  # no member says where it came in
    # a node that left by itself and came back is a joiner too
    ("TD-6", "1+a 1-a 2-a l3 1[1,2 2[1,2 1+b 1-b 2-b 1[1,2,3 2[1,2,3 3[1,2,3 2+c 1-c 2-c 3-c end", PASS),
    ("TD-6", "1+a 1-a 2-a l3 1[1,2 2[1,2 1+b 1-b 2-b 1[1,2,3 2[1,2,3 3[1,2,3 2+c 1-c 2-c 3-bc end", FAIL),
]


@pytest.mark.parametrize(("name", "line", "outcome"), CASES, ids=lambda value: str(value))
def test_judge(name: str, line: str, outcome: Outcome) -> None:
    (one,) = judge(history(line), [name])
    assert one.outcome is outcome, one


@pytest.mark.parametrize(("name", "line", "outcome"), [case for case in CASES if "x3" in case[1]], ids=lambda v: str(v))
def test_who_is_asked_to_end_is_judged_like_who_crashes(name: str, line: str, outcome: Outcome) -> None:
    crashed = history(line)
    events = [event._replace(text="leave") if event.text == "crash" else event for event in crashed.notes]
    (one,) = judge(replace(crashed, notes=Notes(events)), [name])
    assert one.outcome is outcome, one


def test_who_asks_for_a_larger_quorum_is_promised_less() -> None:
    line = "1+a x3 l1 l2 end"  # two of three are up, and would have let each other in again
    three = replace(history(line), options=ToOptions(quorum=3))
    assert [one.outcome for one in judge(history(line), ["TD-5"])] == [FAIL]
    assert [one.outcome for one in judge(three, ["TD-5"])] == [PASS]


def test_the_split_of_a_muted_node_is_seen_from_both_sides() -> None:
    # TV-TO-4 without a quorum: 3 goes on alone and delivers its own message, the others theirs.
    line = "1+a 3+z 1-a 2-a 3-z end"
    assert [one.outcome for one in judge(history(line), ["TD-1", "TD-5"])] == [FAIL, FAIL]
    (one,) = judge(history(line), ["TD-1"])
    assert "n3" in one.sentence
    assert one.events
