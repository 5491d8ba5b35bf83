"""The judges of high integrity multicast, on histories in one line each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.judges import Outcome, judge
from nodes.him.options import HimOptions
from tests.helpers.notation import history

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN

_HELD = "1+a 1-a 2-a 3-a"
_MS = 1_000_000
_TIMES = HimOptions(maxfail=1, q=1, rtry=1, rto_min_ns=_MS, rto_initial_ns=_MS, rto_max_ns=_MS, decide_ns=10 * _MS)
_WATCHED = replace(_TIMES, alive_ns=10 * _MS)

CASES = [
    # HI-1
    ("HI-1", f"{_HELD} 1$a end", PASS),
    ("HI-1", "1+a 1-a 2-a 1$a end", FAIL),
    ("HI-1", "1+a 1-a 2-a 1$a 3-a end", FAIL),  # told too early
    ("HI-1", "1+a 1-a 2-a 1$a 3-a hole", FAIL),
    ("HI-1", "1+a 1-a 2-a 1$a hole", UNKNOWN),
    ("HI-1", "1+a 1-a 2-a 1$a:3 end", PASS),  # it was told FAIL
    ("HI-1", "1+a 1-a#5 2-a#5 3-a#6 1$a end", FAIL),  # other bytes
    ("HI-1", "1[1,2 1+a>1,2 1-a 2-a 1$a end", PASS),  # 3 is no member
    ("HI-1", "1+a 1-a 2-a 1[1,2 1$a end", PASS),  # 3 was disjoined before
    # A member that began anew, as the sender knew, has lost what it had; before it was let in nobody could know.
    ("HI-1", f"{_HELD} x3 r3 2[1,2,3#131074 1[1,2,3#131074 3[1,2,3#131074 1$a end", FAIL),
    ("HI-1", f"{_HELD} x3 r3 2[1,2,3#131074 1[1,2,3#131074 3[1,2,3#131074 3-a 1$a end", PASS),
    ("HI-1", f"{_HELD} x3 r3 2[1,2,3#131074 3[1,2,3#131074 1$a 1[1,2,3#131074 end", PASS),
    # HI-2
    ("HI-2", f"{_HELD} 1$a end", PASS),
    ("HI-2", "1+a 1-a 2-a 1$a:3 end", PASS),
    ("HI-2", "1+a 1-a 2-a 1$a end", FAIL),
    ("HI-2", "1+a 1-a 2-a end", FAIL),
    ("HI-2", "1+a 1-a 2-a limit", UNKNOWN),
    ("HI-2", "1+a 1-a 2-a @200 1$a:3 end", FAIL),  # too late
    ("HI-2", "1+a 1-a 2-a @200 1$a:3 hole end", FAIL),
    ("HI-2", "1+a 1-a 2-a hole end", UNKNOWN),
    # 72 ms are allowed, and 2 ms for the questions of each of two rounds; 12 ms more for each view that the sender
    # installs meanwhile.
    ("HI-2", "1+a 1-a 2-a @76 1$a:3 end", PASS),
    ("HI-2", "1+a 1-a 2-a @77 1$a:3 end", FAIL),
    ("HI-2", "1+a 1-a 2-a 1[1,2,3 @77 1$a:3 end", PASS),
    ("HI-2", "1+a 1-a 2-a 1[1,2,3 @89 1$a:3 end", FAIL),
    ("HI-2", "1+a 1-a 2-a 1[1,2,3 1[1,2,3 @89 1$a:3 end", PASS),
    ("HI-2", "1+a 1-a 2-a 2[1,2,3 @77 1$a:3 end", FAIL),  # another node's
    ("HI-2", "1[1,2,3 1+a 1-a 2-a @78 1$a:3 end", FAIL),  # it was before
    ("HI-2", "1+a 1-a 2-a 3-a @200 1$a end", FAIL),  # a SUCCESS is told in time, too
    # 72 ms, 24 ms for probes and waits, and 12 ms for who was served alone.
    ("HI-2", "1+a 1-a 2-a 3-a @90 1$a end", PASS),
    ("HI-2", "1+a 1-a 2-a 3-a @98 1$a end", FAIL),
    ("HI-2", "1+a 1-a 2-a 3-a 1!3,no_multicast@a @98 1$a end", PASS),
    ("HI-2", "1+a 1-a 2-a 3-a 2!3,no_multicast@a @98 1$a end", FAIL),  # another one said so
    ("HI-2", "1+a 1-a 2-a fault1 @200 wake1 1$a:3 end", PASS),  # it stood still all the time
    ("HI-2", "1+a 1-a 2-a fault1 @20 wake1 @80 1$a:3 end", PASS),  # 17 ms longer
    ("HI-2", "1+a 1-a 2-a fault1 @20 wake1 @95 1$a:3 end", FAIL),
    ("HI-2", "1+a 1-a 2-a fault2 @200 wake2 1$a:3 end", FAIL),  # another one did
    ("HI-2", "fault1 @50 1+a wake1 1-a 2-a @130 1$a:3 end", FAIL),  # before it was sent
    ("HI-2", f"{_HELD} 1$a 1$a end", FAIL),  # told twice
    ("HI-2", f"{_HELD} 1$a#1 end", PASS),
    ("HI-2", f"{_HELD} 1$a#2 end", FAIL),  # it is repeated once ...
    ("HI-2", f"{_HELD} 1[1,2,3 1$a#2 end", PASS),  # ... and once more in a new view
    ("HI-2", "1+a 1-a 2-a 1$a:3#0 end", FAIL),  # and before that it is not given up ...
    ("HI-2", "1+a 1-a 2-a 1[1,2 1$a:3#0 end", PASS),  # ... but for a member that is gone
    ("HI-2", "1+a 1-a 2-a 1$a:3#0 l1 end", PASS),  # or for who is out of the group himself
    # HI-3
    ("HI-3", _HELD, PASS),
    ("HI-3", f"{_HELD} 2-a", FAIL),
    ("HI-3", f"{_HELD} hole", UNKNOWN),
    # HI-4
    ("HI-4", "1+a 1-a#5 2-a#5", PASS),
    ("HI-4", "1+a 1-a#5 2-a#6", FAIL),
    ("HI-4", "1+a 1-a 2-a", UNKNOWN),
    ("HI-4", "1+a 1-a 2-a n1>DATA/1a#5 n2>QUERY/2a#5", PASS),
    ("HI-4", "1+a 1-a 2-a n1>DATA/1a#5 n2>QUERY/2a#6", FAIL),
    ("HI-4", "1+a 1-a n1>DATA/1a#5 n2>ANSWER/2a#0", PASS),  # it holds nothing
    ("HI-4", "1+a 1-a#5 2-a#5 hole", UNKNOWN),
    # HI-8. Here an alarm may take 10 ms for each of two rounds, 20 ms of waiting, and some questions.
    ("HI-8", "1+a 1-a 2-a 3-a x1 end", PASS),
    ("HI-8", "1+a 1-a 2-a x1 end", FAIL),
    ("HI-8", "1+a 1-a 2-a x1 @20 2!1@a end", PASS),
    ("HI-8", "1+a 1-a 2-a x1 @200 2!1@a end", FAIL),  # too late
    ("HI-8", "1+a 1-a 2-a x1 @97 2!1@a end", FAIL),  # 94 ms are allowed, and 10 ms more for each view of 1
    ("HI-8", "1+a 1-a 2-a 1[1,2,3 x1 @97 2!1@a end", PASS),
    ("HI-8", "1+a 1-a 2-a 2[1,2,3 x1 @97 2!1@a end", FAIL),
    ("HI-8", "1+a 1-a 2-a x1 fault2 @200 wake2 2!1@a end", PASS),
    ("HI-8", "1+a 1-a 2-a x1 fault3 @200 wake3 2!1@a end", FAIL),  # who gives it was awake
    ("HI-8", "1+a 1-a 2-a x1 @20 2!1 end", FAIL),  # not about a
    ("HI-8", "1+a 1-a 1$a:2,3 x1 end", PASS),  # he was told himself
    ("HI-8", "1+a 1-a 1$a x1 end", PASS),  # none of those left knows of it
    ("HI-8", "1+a 1-a 2-a x1 x3 end", PASS),  # 2 is left alone
    ("HI-8", "1+a 1-a 2-a x1 x3 r3 end", PASS),  # 3 came after a
    ("HI-8", "1[1,2 1+a>1,2 1-a 2-a x1 end", PASS),  # 3 is no member
    ("HI-8", "1+a 1-a 2-a end", FAIL),  # nor if nobody died
    ("HI-8", "1+a 1-a 2-a x1 limit", UNKNOWN),
    ("HI-8", "1+a 1-a 2-a x1 hole end", UNKNOWN),
    ("HI-8", "1+a 1-a 2-a 3-a x1 hole end", UNKNOWN),
    # HI-10
    ("HI-10", f"{_HELD} n2<END/1a n3<END/1a end", PASS),
    ("HI-10", f"{_HELD} n2<END/1a end", FAIL),  # 3 was told nothing
    ("HI-10", f"{_HELD} n2<END/1a 3!1@a end", PASS),  # and said so
    ("HI-10", f"{_HELD} n2<END/1a 3!1 end", FAIL),  # of something else
    ("HI-10", f"{_HELD} n2<END/1a x3 end", PASS),
    ("HI-10", f"{_HELD} n2<END/1a x3 r3 3[1,2,3 end", PASS),  # it knows nothing of it any more
    ("HI-10", f"{_HELD} n2<END/1a l3 3[1,2,3 end", FAIL),  # it left the group, and its process knows
    ("HI-10", f"{_HELD} n2<END/1a 3!1@a l3 3[1,2,3 end", PASS),
    ("HI-10", f"{_HELD} n2<END/1a hole end", UNKNOWN),
    ("HI-10", f"{_HELD} n2<END/1a limit", UNKNOWN),
    # HI-11
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2>REPORT/2a:3", PASS),
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2<QUERY/3a#7 n2>REPORT/2a:3", FAIL),  # it asks about the same
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2<ANSWER/3a#7 n2>REPORT/2a:3", FAIL),
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2<ANSWER/3a#7 n2>REPORT/2a:1", PASS),
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2<ANSWER/3a#0 n2>REPORT/2a:3", PASS),  # it has not got it
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2<ANSWER/3a#8 n2>REPORT/2a:3", PASS),  # or another one
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2<ANSWER/3a#7 n2>QUERY/2a#7 n2>REPORT/2a:3", PASS),  # not in this test
    ("HI-11", f"{_HELD} n2>QUERY/2a#7 n2<ANSWER/3a#7 n2>REPORT/2a:3 hole", FAIL),
    # HI-12
    ("HI-12", f"{_HELD} n3<DATA/1a 1!3,no_multicast@a 1$a#0 end", PASS),
    ("HI-12", f"{_HELD} n3<DATA/1a 1$a#0 end", FAIL),
    ("HI-12", f"{_HELD} n3<DATA/1a 1!2,no_multicast@a 1$a#0 end", FAIL),  # of another one
    ("HI-12", f"{_HELD} n3<DATA/1a 2!3,no_multicast@a 1$a#0 end", FAIL),  # who is not asked
    ("HI-12", f"{_HELD} 1$a#0 n3<DATA/1a end", PASS),  # it came after the end
    ("HI-12", f"{_HELD} n3<DATA/1a 1$a#1 end", PASS),  # the next round reached it
    ("HI-12", "1+a 1-a 2-a n3<DATA/1a 1$a:3#0 end", PASS),  # a person hears of it anyway
    ("HI-12", f"{_HELD} n3<DATA/1a 1$a#0 hole end", UNKNOWN),
    # HI-13: ALIVE every 10 ms; after 30 ms of silence at the next look, or 20 ms later
    ("HI-13", "1[1,2#7 @30 n1<ALIVE/2:7 @80 n1<ALIVE/2:7 end", PASS),
    ("HI-13", "1[1,2#7 @30 n1<ALIVE/2:7 @120 n1<ALIVE/2:7 end", FAIL),
    ("HI-13", "1[1,2#7 @30 n1<ALIVE/2:7 @65 1!2,silent @120 n1<ALIVE/2:7 end", PASS),
    ("HI-13", "1[1,2#7 @30 n1<ALIVE/2:7 @65 1!2,late_report @120 n1<ALIVE/2:7 end", FAIL),  # of something else
    ("HI-13", "1[1,2#7 @30 n1<ALIVE/2:7 @65 1!3,silent @120 n1<ALIVE/2:7 end", FAIL),
    ("HI-13", "1[1,2#7 1!2,silent @30 n1<ALIVE/2:7 @120 n1<ALIVE/2:7 end", FAIL),  # that was before
    ("HI-13", "1[1,2#7 @120 1[1,2#8 @240 end", FAIL),
    ("HI-13", "1[1,2#7 @45 1!2,silent @120 1[1,2#8 @240 end", PASS),  # nobody need be told again
    ("HI-13", "1[1,2#7 @45 1!2,silent @120 1[1#8 @130 1[1,2#9 @240 end", FAIL),  # but of one who came back
    ("HI-13", "1[1,2#7 @45 1!2,silent @60 n1<ALIVE/2:6 @180 end", PASS),  # late, of another view
    ("HI-13", "1[1,2#7 @45 1!2,silent @60 n1<ALIVE/2:7 @180 end", FAIL),
    ("HI-13", "1[1,2#7 @120 end hole", UNKNOWN),
    ("HI-13", "1[1,2#7 @20 x1 @120 end", PASS),
    ("HI-13", "1[1,2#7 fault1 @120 wake1 end", PASS),
    ("HI-13", "1[1,2#7 @50 n1<ALIVE/2:7 @75 1!2,silent end", FAIL),  # it was heard, a moment ago
    ("HI-13", "1[1,2#7 @50 n1<ALIVE/2:6 @75 1!2,silent end", PASS),  # as a member of another view
    # HI-14: three times are allowed
    ("HI-14", f"{_HELD} {3 * 'n2>CONFIRM/2a '} 1$a end", PASS),
    ("HI-14", f"{_HELD} {4 * 'n2>CONFIRM/2a '} 1$a end", FAIL),
    ("HI-14", f"{_HELD} {4 * 'n2>CONFIRM/2a:5 '} 1$a end", PASS),  # doubled on its way
    ("HI-14", f"{_HELD} {4 * 'n1<CONFIRM/2a '} 1$a end", PASS),
    ("HI-14", f"{_HELD} {3 * 'n2>REPORT/2a:3 '} {3 * 'n3>REPORT/3a:2 '} 1$a end", PASS),
    ("HI-14", f"{_HELD} {3 * 'n2>REPORT/2a:3 '} n2>REPORT/2a 1$a end", FAIL),
    ("HI-14", f"{_HELD} {2 * 'n2>REPORT/2a:3 '} {2 * 'n2>CONFIRM/2a '} 1$a end", PASS),
    # HI-9
    ("HI-9", "1[1,2#7 2[1,2#7 1[1#8", PASS),
    ("HI-9", "1[1,2#7 2[2,3#7", FAIL),
    ("HI-9", "1[1,2#7 x1 r1 1[1#7", FAIL),  # in another life
    ("HI-9", "1[1,2#7 2[2,3#7 hole", FAIL),
    # HI-5
    ("HI-5", "x3 1[1,2", PASS),
    ("HI-5", "1[1,2 x3", FAIL),
    ("HI-5", "fault3 1[1,2", PASS),
    ("HI-5", "fault3 1[1,3", FAIL),  # the wrong one
    ("HI-5", "fault1 1[1,2#131073 fault3", PASS),  # it was cut off itself, whatever befell the other afterwards
    ("HI-5", "part1>3 1[1,2#131073", PASS),
    ("HI-5", "part3>1 1[1,2#131073", PASS),
    ("HI-5", "part2>3 1[1,2#131073", FAIL),  # 1 and 3 reach each other
    ("HI-5", "part2>3 1[1,2#131074 2[1,2#131074", PASS),  # 2 proposed it, whoever had it first
    ("HI-5", "1[1,2 hole", UNKNOWN),
    ("HI-5", "1[1,2,3 x3 1[1,2 r3 1[1,2,3", PASS),
    ("HI-5", "cut3 1[1,2#131073 join3 @200 1[1,2#196609 2[1,2#196609", PASS),  # 2 has missed the one that left 3 out
    ("HI-5", "cut1 1[1#131073 2[2,3#131075 join1 @200 1[1,2#196609 2[1,2#196609", PASS),  # of 1, which was alone
    ("HI-5", "cut1 1[1#131073 join1 @200 1[1,2,3#196609 @400 1[1,2#262145", FAIL),  # 3 was in it again
    ("HI-5", "cut3 cut0 join0 @200 1[1,2#131073", PASS),  # another link is up again
    ("HI-5", "cut3 cut0 join3 @200 1[1,2#131073", PASS),
    ("HI-5", "cut3 join3 @200 1[1,2#131073", FAIL),
    ("HI-5", "x1 r1 n1>JOIN/1 n2>VIEW/2 1[1#69633", PASS),  # it heard no answer, since one was lost
    ("HI-5", "x1 r1 n1>JOIN/1 n2<JOIN/1 n3<JOIN/1 1[1#69633", FAIL),  # and nobody gave one
    ("HI-5", "x1 r1 n1>JOIN/1 n2<JOIN/1 n2>VIEW/2 n1<VIEW/2 1[1#69633", FAIL),
    ("HI-5", "1+a n1>DATA/1a n3<DATA/1a n1>QUERY/1a 1$a:3 1[1,2#131073", PASS),  # what 1 asked 3 was lost
    ("HI-5", "1+a n1>DATA/1a n3<DATA/1a n1>QUERY/1a n3<QUERY/1a 1$a:3 1[1,2#131073", FAIL),
    ("HI-5", "1+a n1>DATA/1a n1>DATA/1a n3<DATA/1a n3<DATA/1a n3>ANSWER/3a 1$a:3 1[1,2#131073", PASS),
    # The last round counts: what was lost in an earlier one is no excuse, nor is it one that all came then.
    ("HI-5", "1+a n1>DATA/1a:0 n1>DATA/1a:1 n3<DATA/1a:1 n3>ANSWER/3a:1 n1<ANSWER/3a:1 1$a:3#1 1[1,2#131073", FAIL),
    ("HI-5", "1+a n1>DATA/1a:0 n3<DATA/1a:0 n1>DATA/1a:1 n3<DATA/1a:1 n3>ANSWER/3a:1 1$a:3#1 1[1,2#131073", PASS),
    ("HI-5", "1+a n1>DATA/1a n2>REPORT/2a 1$a:3 n3<DATA/1a 1[1,2#131073", FAIL),  # what others lose is no excuse
    # Nor is what was lost long before 3 was asked, which may take 52 ms.
    ("HI-5", "1+a n1>DATA/1a @90 n1>QUERY/1a n3<QUERY/1a 1$a:3 1[1,2#131073", FAIL),
    ("HI-5", "1+a @90 n1>DATA/1a n1>QUERY/1a n3<QUERY/1a 1$a:3 1[1,2#131073", PASS),
    ("HI-5", "1+a n1>QUERY/1a n3<QUERY/1a n3>ANSWER/3a 1$a:3 1[1,2#131073 n1<ANSWER/3a", PASS),  # it came too late
    ("HI-5", "1+a n1>QUERY/1a n3<QUERY/1a n3>ANSWER/3a n1<ANSWER/3a 1$a:3 1[1,2#131073", FAIL),
]


@pytest.mark.parametrize(("name", "line", "outcome"), CASES, ids=lambda value: str(value))
def test_judge(name: str, line: str, outcome: Outcome) -> None:
    (one,) = judge(history(line, options=_WATCHED if name == "HI-13" else _TIMES), [name])
    assert one.outcome is outcome, one


def test_without_the_time_outs_a_failure_in_time_cannot_be_told() -> None:
    (one,) = judge(history("1+a 1-a 2-a 1$a:3 end"), ["HI-2"])
    assert one.outcome is UNKNOWN


# One loss-free message in a ring of 3: 1 DATA, 3 QUERY, 3 ANSWER = 2n + 1.

_MULTICAST = "1+a n1>DATA/1a n2<DATA/1a n3<DATA/1a 1-a 2-a 3-a"
_TESTS = " ".join(
    f"n{i}>QUERY/{i}a n{j}<QUERY/{i}a n{j}>ANSWER/{j}a n{i}<ANSWER/{j}a" for i, j in ((1, 2), (2, 3), (3, 1))
)

COUNTS = [
    ("HI-6", f"{_MULTICAST} {_TESTS} 1$a", PASS),
    ("HI-6", f"{_MULTICAST} {_TESTS} n2>ANSWER/2a n1<ANSWER/2a 1$a", FAIL),
    ("HI-6", f"{_MULTICAST} {_TESTS} n3>CONFIRM/3a n2>ANSWER/2a n1<ANSWER/2a 1$a", PASS),  # one was lost: 1 asks n3
    ("HI-6", f"{_MULTICAST} {_TESTS} n3>CONFIRM/3a n1<CONFIRM/3a n2>ANSWER/2a n1<ANSWER/2a 1$a", FAIL),
    (
        "HI-6",
        f"{_MULTICAST} {_TESTS} 2/a,wrong_view n2>ANSWER/2a n1<ANSWER/2a 1$a",
        PASS,
    ),  # 2 has a new view: END is late
    ("HI-6", f"{_MULTICAST} {_TESTS} hole 1$a", UNKNOWN),
    ("HI-6", f"{_MULTICAST} 1$a".replace("n2<DATA/1a", ""), PASS),  # a copy was lost: nothing is claimed
    ("HI-6", "1+a 1-a 2-a 3-a 1$a", UNKNOWN),
    # The question to 2 was lost and repeated; the copy that came to the host of 3, which is dead, makes up for nothing.
    ("HI-6", "1[1,2 1+a>1,2 n1>DATA/1a n2<DATA/1a n3<DATA/1a n1>QUERY/1a n1>QUERY/1a n2<QUERY/1a 1-a 2-a 1$a", PASS),
    ("HI-7", "1[1,2 1+a>1,2 n1>DATA/1a n2<DATA/1a n3<DATA/1a n1>QUERY/1a n1>QUERY/1a n2<QUERY/1a 1-a 2-a 1$a", PASS),
    ("HI-7", f"{_MULTICAST} {_TESTS} 1$a", PASS),
    ("HI-7", f"{_MULTICAST} {_TESTS} n1>END/1a n2<END/1a n3<END/1a 1$a", PASS),  # END comes on top
    ("HI-7", f"{_MULTICAST} {_TESTS} n2>QUERY/2a n3<QUERY/2a 1$a", FAIL),
    ("HI-7", f"{_MULTICAST} x3 n2>QUERY/2a n3<QUERY/2a 1$a", PASS),  # nobody was there to answer
    ("HI-7", f"{_MULTICAST} n2>QUERY/2a n3<QUERY/2a x3 1$a", FAIL),
    ("HI-6", f"{_MULTICAST} {_TESTS} x3 n2>ANSWER/2a n1<ANSWER/2a 1$a", PASS),
    ("HI-7", f"{_MULTICAST} {_TESTS} hole 1$a", UNKNOWN),
    # 3 dies before it is asked by 2, who asks again.
    ("HI-7", f"{_MULTICAST} {_TESTS} x3 n2>QUERY/2a n3<QUERY/2a n2>QUERY/2a n3<QUERY/2a 1$a", PASS),
    (
        "HI-7",
        f"{_MULTICAST} {_TESTS} n2>QUERY/2a n3<QUERY/2a n2>QUERY/2a n3<QUERY/2a 1$a x3",
        FAIL,
    ),  # it dies afterwards
    ("HI-7", "1+a 1-a 2-a 3-a 1$a", UNKNOWN),
]


@pytest.mark.parametrize(("name", "line", "outcome"), COUNTS)
def test_packet_counts(name: str, line: str, outcome: Outcome) -> None:
    (one,) = judge(history(line), [name])
    assert one.outcome is outcome, one
