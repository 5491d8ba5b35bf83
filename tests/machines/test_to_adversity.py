"""TO in adverse schedules (tests/helpers/to_schedules.py). TUTTI_THOROUGH=1 runs 10,000 of them."""

from __future__ import annotations

import os

import pytest

from nodes.to.options import ToOptions
from tests.helpers.seeds import EverySeed
from tests.helpers.to_schedules import LIVE, SUSPENDED, busy_returns, complaints, lost_majority

THOROUGH = bool(os.environ.get("TUTTI_THOROUGH"))
RUNS = 10_000 if THOROUGH else 300


def test_repaired_rules_hold_in_random_schedules(every_seed: EverySeed) -> None:
    every_seed(range(RUNS), complaints)


def test_live_recovery_holds_in_random_schedules(every_seed: EverySeed) -> None:
    every_seed(range(RUNS // 2), lambda seed: complaints(seed, LIVE))


@pytest.mark.parametrize("options", [SUSPENDED, LIVE], ids=["suspended", "live"])
def test_busy_returns_hold(options: ToOptions, every_seed: EverySeed) -> None:
    every_seed(range(RUNS // 3), lambda seed: busy_returns(seed, options))


@pytest.mark.parametrize("options", [None, LIVE], ids=["suspended", "live"])
def test_larger_clusters_hold(options: ToOptions | None, every_seed: EverySeed) -> None:
    every_seed(range(RUNS // 15), lambda seed: complaints(seed, options, n=6 + seed % 4))


@pytest.mark.parametrize("options", [SUSPENDED, LIVE], ids=["suspended", "live"])
def test_a_cluster_goes_on_when_its_majority_is_back(options: ToOptions, every_seed: EverySeed) -> None:
    every_seed(range(RUNS // 10), lambda seed: lost_majority(seed, options))
