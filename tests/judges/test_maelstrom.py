"""What Maelstrom's checkers want, on histories in one line each."""

from __future__ import annotations

from typing import Literal

import pytest

from harness.judges import Outcome, judge
from nodes.maelstrom.options import MaelstromOptions
from nodes.program.options import Daemon
from tests.helpers.notation import history

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN
Workload = Literal["echo", "broadcast", "unique-ids"]

CASES: list[tuple[Workload, str, Outcome]] = [
    ("echo", "1+a=7>1 1-a#7", PASS),
    ("echo", "1+a=7>1 1-a#8", FAIL),
    ("echo", "1+a=7>1", PASS),  # nobody promises an answer
    ("echo", "1+a=7>1 1-a#7 hole", UNKNOWN),
    ("unique-ids", "1+a>1 2+b>2 1$a 2$b:1", PASS),
    ("unique-ids", "1+a>1 2+b>2 1$a 2$b", FAIL),  # both are called SUCCESS
    ("unique-ids", "1+a>1 2+b>2 1$a 2$b hole", FAIL),
    ("broadcast", "1+a 1=a 1-a 2-a 3-a end", PASS),
    ("broadcast", "1+a 1=a 1-a 2-a end", FAIL),
    ("broadcast", "1+a 1=a 1-a 2-a end hole", UNKNOWN),
    ("broadcast", "1+a 1-a 2-a end", PASS),  # it was not confirmed
    ("broadcast", "1+a 1=a 1-a 2-a x3 end", PASS),
    ("broadcast", "1+a 1=a 1-a 2-a 3-a x3 r3 end", FAIL),  # in its second life it has not got it
    ("broadcast", "1+a 1=a 1-a 2-a 3-a x3 r3 3-a end", PASS),
    ("broadcast", "1+a 1=a 1-a 2-a 3-a 2!,lost:_x@a end", FAIL),
    ("broadcast", "1+a 1=a 1-a 2-a limit", UNKNOWN),
]


@pytest.mark.parametrize(("workload", "line", "outcome"), CASES)
def test_cases(workload: Workload, line: str, outcome: Outcome) -> None:
    options = MaelstromOptions(main=Daemon(command=("x",)), workload=workload)
    (verdict,) = judge(history(line, options=options), ["MAELSTROM"])
    assert verdict.outcome is outcome, verdict.sentence


def test_other_runs_are_none_of_its_business() -> None:
    (verdict,) = judge(history("1+a 1-a 2-a end"), ["MAELSTROM"])
    assert verdict.outcome is UNKNOWN
