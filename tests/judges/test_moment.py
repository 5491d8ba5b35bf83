"""The judge of moments, on histories in one line each: a microsecond decides, to either side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from captures.load import load_evidence
from harness.judges import Outcome, Verdict, judge
from nodes.cmd.options import CmdOptions
from nodes.delta.notes import Sent
from nodes.delta.options import DeltaOptions
from nodes.delta.pdus import stamps_for
from nodes.wire.delta import DeltaData
from tests import ROOT
from tests.helpers.notation import history

GOLDEN = ROOT / "captures" / "golden"

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN
DELTA_5 = DeltaOptions(delta_ns=5_000_000, max_cb=2)

# The triangle of paper 002 §3.3: a 1->3 at 0 ms, b 1->2 at 1 ms, c 2->3 at 3 ms, which arrives at 3.5 ms. Δ = 5 ms.
_TRIANGLE = "1+a>3 1+b>2 @2 n2<delta.DATA/1b @2 2%b,0 2+c>3 @3.5 n3<delta.DATA/2c:a"
_SECOND = "@4.5 n3<delta.DATA/1a @4.5 3%a,0"


def judged(line: str, options: Any) -> Verdict:
    """While submissions go on: the harness sleeps until the last of them."""
    (one,) = judge(history(line.replace(" end", " @20 1&z>2 end"), 3, options), ["PROMPT"])
    return one


DELTA = [
    (f"{_TRIANGLE} {_SECOND} @4.5 3%c,1,1 end", {}, PASS),
    (f"{_TRIANGLE} {_SECOND} @4.504 3%c,1,1 end", {}, PASS),
    (f"{_TRIANGLE} {_SECOND} @4.506 3%c,1,1 end", {}, FAIL),
    (f"{_TRIANGLE} {_SECOND} @4.503 1+y>2 @4.506 3%c,1,1 end", {}, PASS),  # somebody else was awake
    (f"{_TRIANGLE} {_SECOND} @4.503 1+y>2 @4.51 3%c,1,1 end", {}, FAIL),
    (f"{_TRIANGLE} {_SECOND} @4.506 3%c,0.006,1 end", {}, FAIL),  # whatever the node says of its wait
    (f"{_TRIANGLE} {_SECOND} @4.506 3%c,1,1 hole end", {}, UNKNOWN),
    (f"{_TRIANGLE} {_SECOND} @4.5 3%c,1,1 limit", {}, UNKNOWN),
    (f"{_TRIANGLE} @3.5 3%c,0,1 {_SECOND} end", {}, FAIL),  # did not wait
    (f"{_TRIANGLE} @5.000001 3%c,1.5,1 end", {}, PASS),  # a was lost: strictly after its deadline
    (f"{_TRIANGLE} @4.99 3%c,1.5,1 end", {}, FAIL),
    (f"{_TRIANGLE} @5.01 3%c,1.5,1 end", {}, FAIL),
    (f"{_TRIANGLE} {_SECOND} @5.000001 3%c,1.5,1 end", {"max_cb": 1}, PASS),  # a full set may hide another message
    (f"{_TRIANGLE} {_SECOND} @4.5 3%c,1,1 end", {"max_cb": 1}, FAIL),
    (f"{_TRIANGLE} {_SECOND} @4.5 3%c,1,1 end", {"max_cb": 1, "scheme": "unbounded"}, PASS),
    (f"{_TRIANGLE} {_SECOND} end", {}, FAIL),  # c came and went
    (f"{_TRIANGLE} {_SECOND} hole end", {}, UNKNOWN),
    ("1+a>2 @2 n2<delta.DATA/1a @3 n2<delta.DATA/1a @2 2%a,0 end", {}, PASS),  # the first copy counts
    ("1+a>2 @2 n2<delta.DATA/1a @3 n2<delta.DATA/1a @3 2%a,0 end", {}, FAIL),
    ("1+a>2 @2 2%a,0 end", {}, UNKNOWN),  # no arrival was captured
    ("1+a>2 @3 n2<delta.DATA/1a @3 2/a end", {}, FAIL),  # refused, though in time
    ("1+a>2 @5.1 n2<delta.DATA/1a @5.1 2/a end", {}, PASS),
    ("3@-3 1+a>3 @2 n3<delta.DATA/1a @3 3%a,1 end", {}, PASS),  # R0: its clock has to reach TS
    ("3@-3 1+a>3 @2 n3<delta.DATA/1a @2 3%a,0 end", {}, FAIL),
    ("1+a>3 @1 n3<delta.DATA/1a @2 3%a,1 end", {"scheme": "hold", "hold_ns": 2_000_000}, PASS),
    ("1+a>3 @1 n3<delta.DATA/1a @2 3%a,1 end", {"scheme": "hold"}, PASS),  # w is 0.4 Δ
    ("1+a>3 @1 n3<delta.DATA/1a @1 3%a,0 end", {"scheme": "hold"}, FAIL),
    ("1+a>3 @1 n3<delta.DATA/1a x3 end", {}, PASS),  # nothing is asked of the dead
]


@pytest.mark.parametrize(("line", "chosen", "outcome"), DELTA)
def test_within_delta(line: str, chosen: dict[str, Any], outcome: Outcome) -> None:
    one = judged(line, replace(DELTA_5, **chosen))
    assert one.outcome is outcome, one


_CAUSAL = "1+a>3 1+b>2 @2 n2<cmd.DATA/1b @2 2-b 2+c>3 @3.5 n3<cmd.MATRIX/2c"

CMD = [
    (f"{_CAUSAL} @9 n3<cmd.DATA/1a @9 3-a @9 3-c end", PASS),
    (f"{_CAUSAL} @9 n3<cmd.DATA/1a @9 3-a @9.01 3-c end", FAIL),
    (f"{_CAUSAL} @3.5 3-c @9 n3<cmd.DATA/1a @9 3-a end", FAIL),
    (f"{_CAUSAL} @3.5 3-c end", FAIL),  # a never came
    (f"{_CAUSAL} @9 n3<cmd.DATA/1a @9 3-a end", FAIL),  # c is left in the Queue
    (f"{_CAUSAL} end", PASS),  # a never came, so c waits for it: that a was given up is not judged here
    (f"{_CAUSAL} @9 n3<cmd.DATA/1a @9 3-a hole end", UNKNOWN),
    # The life that sent a has ended: it may be lost, and nobody knows when that is told.
    (f"{_CAUSAL} x1 @9 3-c end", PASS),
    (f"{_CAUSAL} x1 @9 n3<cmd.DATA/1a end", PASS),
    (f"{_CAUSAL} x1 @9 n3<cmd.DATA/1a @9 3-a @9 3-c end", PASS),
    (f"{_CAUSAL} x1 @9 n3<cmd.DATA/1a @9 3-a @9.1 3-c end", FAIL),  # but it came
    (f"{_CAUSAL} x1 @9 n3<cmd.DATA/1a @9 3-a @9 3!1,peer_was_restarted @9.1 3-c end", FAIL),
    (f"{_CAUSAL} x1 @9 n3<cmd.DATA/1a @9 3-a @9 3!1,peer_is_silent @9.01 3-c end", PASS),  # other alarms excuse
]


@pytest.mark.parametrize(("line", "outcome"), CMD)
def test_causal(line: str, outcome: Outcome) -> None:
    one = judged(line, CmdOptions())
    assert one.outcome is outcome, one


def test_it_says_how_late_the_latest_was_and_which_one_is_too_late() -> None:
    one = judged(f"{_TRIANGLE} {_SECOND} @4.504 3%c,1,1 end", DELTA_5)
    assert "or at most 4000 ns later" in one.sentence
    one = judged(f"{_TRIANGLE} {_SECOND} @4.6 3%c,1,1 end", DELTA_5)
    assert one.sentence == "n3 delivered 2:1 100000 ns after the moment the rule allows"
    assert one.events[0].about == 2


def test_at_faults_and_after_the_last_submission_the_harness_may_be_awake() -> None:
    struck = judged(f"{_TRIANGLE} {_SECOND} @4.5 x1 @4.55 3%c,1,1 end", DELTA_5)
    assert struck.outcome is PASS
    (looked,) = judge(history(f"{_TRIANGLE} {_SECOND} @4.55 3%c,1,1 end", options=DELTA_5), ["PROMPT"])
    assert looked.outcome is PASS
    (late,) = judge(history(f"{_TRIANGLE} {_SECOND} @4.7 3%c,1,1 end", options=DELTA_5), ["PROMPT"])
    assert late.outcome is FAIL


def test_who_has_no_rule_about_moments_is_not_judged() -> None:
    (one,) = judge(history("1+a>2 2-a end"), ["PROMPT"])
    assert one.outcome is UNKNOWN


def test_real_captures_say_what_stood_in_each_tag_for_its_receiver() -> None:
    """Golden ones: the triangle among three agents, where m3 waits for m1."""
    one = load_evidence(GOLDEN / "delta-triangle" / "captures")
    sent = {(event.about, event.seq): Sent._make(event.values).ts for event in one.notes if event.kind.name == "SENT"}
    m1, m2, m3 = sorted(sent, key=sent.__getitem__)
    rows = one.frames.of_type(DeltaData, among=one.frames.came)
    tags = zip(one.frames.rows(rows), one.frames.said(rows, "counts"), one.frames.said(rows, "cb"), strict=True)
    came = {(frame.about, frame.seq): stamps_for(int(frame.at[1:]), counts, cb) for frame, counts, cb in tags}
    assert came == {m1: [], m2: [], m3: [sent[m1]]}


@pytest.mark.parametrize(
    ("name", "options"),
    [("delta", DeltaOptions(delta_ns=100_000_000, max_cb=2)), ("cmd", CmdOptions())],
)
def test_real_captures_are_exact_to_two_microseconds(name: str, options: Any) -> None:
    one = load_evidence(GOLDEN / f"{name}-triangle" / "captures", protocol=name, options=options)
    (found,) = judge(one, ["PROMPT"])
    assert found.outcome is PASS, found
    late_ns = int(found.sentence.split()[-3])
    assert found.sentence.startswith("3 deliveries")
    assert 0 < late_ns < 2_000
