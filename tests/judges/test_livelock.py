"""A run in which frames flow and nothing happens any more: what had to happen in the end, did not."""

from __future__ import annotations

import pytest

from harness.judges import Outcome, judge
from harness.scenario import loads
from harness.setting import livelock_ns
from nodes.tally import Tally
from nodes.wire.note import NoteKind
from tests.helpers.notation import history

TEXT = """
name = "x"
protocol = "{protocol}"
[topology]
kind = "one_channel"
nodes = 4
channel = {{ rate = "{rate}" }}
"""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1+a>1,2 2-a livelock", "livelock: n1 never delivered 1:1, sent to it"),
        ("1+a>1,2 1-a 2-a livelock", "livelock: frames flow on and on, and nothing is decided any more"),
    ],
)
def test_liveness_fails_in_a_livelock(line: str, sentence: str) -> None:
    (verdict,) = judge(history(line), ["ST-4"])
    assert verdict.outcome is Outcome.FAIL and verdict.sentence == sentence


def test_safety_is_judged_as_ever_and_holes_acquit_nobody() -> None:
    run = history("1+a 1-a 2-a livelock")
    assert [one.outcome for one in judge(run, ["ST-1", "ST-3"])] == [Outcome.PASS, Outcome.PASS]
    (told,) = judge(history("1+a 1$a 2-a end"), ["HI-2"])
    (untold,) = judge(history("1+a 2-a livelock"), ["HI-2"])
    assert told.outcome is Outcome.FAIL and untold.outcome is Outcome.FAIL


def test_patience_follows_the_time_outs() -> None:
    fast = loads(TEXT.format(protocol="st", rate="10mbit"))
    slow = loads(TEXT.format(protocol="st", rate="10kbit"))
    said = loads(TEXT.format(protocol="st", rate="10mbit"), settings=["livelock=3s"])
    assert livelock_ns(fast, fast.plan()) == 10_000_000_000
    assert livelock_ns(slow, slow.plan()) > 300_000_000_000
    assert livelock_ns(said, said.plan()) == 3_000_000_000


def test_only_what_leads_somewhere_counts() -> None:
    tally = Tally(3)
    for kind in (NoteKind.STATE, NoteKind.SENT, NoteKind.SUBMITTED, NoteKind.REFUSED):
        tally.count(2, kind)
    assert tally.total() == 0
    for node in (1, 3):
        tally.count(node, NoteKind.DELIVERED)
    assert tally.total() == 2
