"""What the machines do is what they did: golden histories of drawn scenarios (tests/helpers/histories.py).

They say that something is other than it was, not that it is wrong. Whoever means it renews them with one command.
"""

from __future__ import annotations

import pytest

from tests.helpers.drawn import SPACES, numbers
from tests.helpers.histories import HISTORIES, difference, history, kept, kept_as

SETS = [(protocol, rules) for protocol, space in SPACES.items() for rules in space.rules]


@pytest.mark.parametrize(("protocol", "rules"), SETS, ids=[f"{protocol}-{rules}" for protocol, rules in SETS])
def test_what_happens_is_what_happened(protocol: str, rules: str) -> None:
    before = kept(protocol)
    for number in numbers(rules):
        told = difference(protocol, rules, number, before[rules, number])
        assert not told, told


def test_nothing_is_kept_of_what_is_no_longer_there() -> None:
    for protocol, those in HISTORIES.items():
        assert list(kept(protocol)) == those


def test_the_first_step_that_is_another_is_told() -> None:
    lines = history("delta", "repaired", 0)
    told = difference("delta", "repaired", 0, kept_as([*lines[:5], f"{lines[5]} not", *lines[6:]]))
    assert f"step 5 is another one ({len(lines)} steps, {len(lines)} before)" in told and f"> 5 {lines[5]}" in told
    assert "./tutti python -m tests.helpers.histories delta repaired 0" in told
    assert f"step 20 is another one ({len(lines)} steps, 20 before)" in difference(
        "delta", "repaired", 0, kept_as(lines[:20])
    )
