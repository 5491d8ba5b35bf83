"""docs/states.md shows what the machines do."""

from __future__ import annotations

import os

from harness.explore.diagrams import PAGE, drawn
from nodes.him.machine import Him
from nodes.st.machine import St
from nodes.st.round import Mode
from nodes.to.machine import To
from nodes.to.views import ViewMode
from tests.helpers.states import SCHEDULES, observe, page

COUNT = SCHEDULES if os.environ.get("TUTTI_THOROUGH") == "1" else 12


def test_the_page_has_every_change_that_is_seen() -> None:
    steps = [cls.step for cls in (St, To, Him)]
    seen, shown = observe(COUNT), drawn()
    assert [cls.step for cls in (St, To, Him)] == steps, "the watching is over"
    if COUNT == SCHEDULES:
        assert page(seen) == PAGE.read_text(), "./tutti python -m tests.helpers.states"
    for name, changes in seen.items():
        assert len(changes) >= 4, f"{name}: hardly anything was seen"
        for change, triggers in changes.items():
            missing = triggers - shown[name].get(change, set())
            assert not missing, (
                f"{name}: {change} by {missing} is not on the page: ./tutti python -m tests.helpers.states"
            )


def test_the_page_has_every_state() -> None:
    shown = drawn()
    for name, modes in (("st", Mode), ("to", ViewMode)):
        assert {state for change in shown[name] for state in change} - {"[*]"} == {mode.value for mode in modes}
    assert {state for change in shown["him"] for state in change} >= {"[*]", "round", "asking", "SUCCESS", "FAIL"}
