"""What the benchmark of causal order counts, on histories in one line each."""

from __future__ import annotations

from harness.bench.causal import inversions
from tests.helpers.notation import history

_TRIANGLE = "1+a>3 1+b>2 2-b 2+c>3"


def test_inversions_are_counted_one_by_one() -> None:
    assert inversions(history(f"{_TRIANGLE} 3-ac")) == 0
    assert inversions(history(f"{_TRIANGLE} 3-ca")) == 1
    assert inversions(history(f"{_TRIANGLE} 2+d>3 3-cda")) == 2
    assert inversions(history(f"{_TRIANGLE} 3-c")) == 0  # what never came was overtaken by nobody
