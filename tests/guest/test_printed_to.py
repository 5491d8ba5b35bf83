"""Each finding about TO on the emulated network: the printed rule alone is caught (test_guest_scenarios runs these
scenarios as they are), and the repaired rule holds on the same network, workload and faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.judges import Outcome
from harness.scenario.find import SHIPPED
from tests.helpers.guests import run

RULES = ("flush", "freeze", "merge", "quorum", "star")


def test_every_printed_rule_has_a_scenario() -> None:
    found = [path.stem.removeprefix("printed-") for path in sorted((SHIPPED / "to").glob("printed-*.toml"))]
    assert tuple(found) == RULES


@pytest.mark.parametrize("rule", RULES)
def test_the_repaired_rule_holds_where_the_printed_one_fails(rule: str, tmp_path: Path) -> None:
    text = (SHIPPED / f"to/printed-{rule}.toml").read_text()
    _, result = run(text, tmp_path / "run", settings=[f"to.printed.{rule}=false"])
    wrong = [str(one.verdict) for one in result.properties if one.verdict.outcome is not Outcome.PASS]
    assert wrong == [], f"to repeat: ./tutti run to/printed-{rule} --set to.printed.{rule}=false"
    assert any(one.expected is Outcome.FAIL for one in result.properties)
