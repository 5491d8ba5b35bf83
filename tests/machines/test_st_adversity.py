"""ST in adverse schedules (tests/helpers/st_schedules.py). TUTTI_THOROUGH=1 runs 10,000 of them."""

from __future__ import annotations

import os

import pytest

from nodes.st.options import Printed, StOptions
from tests.helpers.seeds import EverySeed
from tests.helpers.st_schedules import complaints

THOROUGH = bool(os.environ.get("TUTTI_THOROUGH"))
RUNS = 10_000 if THOROUGH else 2_000


def test_repaired_rules_hold_in_random_schedules(every_seed: EverySeed) -> None:
    every_seed(range(RUNS), complaints)


@pytest.mark.parametrize("recovery", ["range", "go_back"])
def test_other_recoveries_hold_too(recovery: str, every_seed: EverySeed) -> None:
    options = StOptions(recovery=recovery)  # type: ignore[arg-type]
    every_seed(range(RUNS // 10), lambda seed: complaints(seed, options))


@pytest.mark.parametrize(
    "switch",
    ["acceptance", "line", "prefix", "pal", "expectation", "resend", "reaccept", "order", "own_loss"],
)
def test_every_printed_rule_is_caught(switch: str) -> None:
    """Some schedule on which the repaired rule holds breaks the printed one."""
    options = StOptions(printed=Printed(**{switch: True}))
    for seed in range(500):
        if complaints(seed, options, watched=False, events=20_000):
            assert not complaints(seed)
            return
    raise AssertionError(f"no schedule of 500 shows what is wrong with {switch}")
