"""Impairments: what is possible, in which numbers, and what is refused for which reason."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from statistics import NormalDist, fmean, pstdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.distributions import (
    TABLE_MAX,
    DelayDraw,
    Distribution,
    Normal,
    Pareto,
    Quantiles,
    TruncatedNormal,
    Uniform,
    fit_truncated_normal,
    table_of,
    tail,
)
from topologies.impairments import (
    EVERY,
    GilbertElliott,
    Impairment,
    ImpairmentError,
    KernelFeatures,
    NetemSettings,
    refusals,
)
from topologies.seeds import seed_for

MS = 1_000_000


def test_settings_in_the_kernels_numbers() -> None:
    assert Impairment().settings() == NetemSettings()
    assert Impairment(
        loss=0.5, delay_ns=5 * MS, jitter_ns=2 * MS, duplicate=1.0, reorder=0.25, corrupt=0.1, limit_packets=50
    ).settings() == NetemSettings(
        latency_ns=5 * MS,
        jitter_ns=2 * MS,
        limit=50,
        loss=2_147_483_648,
        duplicate=EVERY,
        gap=1,
        reorder=1_073_741_824,
        corrupt=429_496_730,
    )
    assert Impairment(rate_bps=8000, delay_ns=1).settings().rate_bytes_per_s == 1000
    model = GilbertElliott(good_to_bad=0.01, bad_to_good=0.25, loss_bad=0.9, loss_good=0.0)
    assert Impairment(loss_model=model).settings().gemodel == (42_949_673, 1_073_741_824, 429_496_729, 0)


def netem_gemodel(gemodel: tuple[int, int, int, int], draws: list[int]) -> float:
    """The loss share of netem's own procedure (loss_gilb_ell), for a given stream of 32-bit numbers."""
    p, r, h, k1 = gemodel
    good, lost, stream = True, 0, iter(draws)
    for _ in range(len(draws) // 2):
        change, chance = next(stream), next(stream)
        lost += chance < k1 if good else chance > h
        if change < (p if good else r):
            good = not good
    return lost / (len(draws) // 2)


def test_gilbert_elliott_loses_what_it_says() -> None:
    model = GilbertElliott(good_to_bad=0.05, bad_to_good=0.2, loss_bad=0.8, loss_good=0.02)
    gemodel = Impairment(loss_model=model).settings().gemodel
    assert gemodel is not None
    draw = random.Random(3)
    share = netem_gemodel(gemodel, [draw.getrandbits(32) for _ in range(400_000)])
    assert model.loss_share() == pytest.approx(0.2 * 0.8 + 0.8 * 0.02)
    assert share == pytest.approx(model.loss_share(), rel=0.03)


@pytest.mark.parametrize(
    ("values", "key", "reason"),
    [
        ({"loss": 1.5}, "loss", "0% to 100%"),
        ({"duplicate": -0.1}, "duplicate", "0% to 100%"),
        ({"delay_ns": -1}, "delay", "below 0"),
        ({"jitter_ns": 2**31, "delay_ns": 2**32}, "jitter", "2.147 s"),
        ({"jitter_ns": 2, "delay_ns": 1}, "jitter", "below 0"),
        ({"rate_bps": 1001}, "rate", "multiple of 8"),
        ({"limit_packets": 0}, "limit", "at least 1"),
        ({"reorder": 0.1}, "reorder", "needs a delay"),
        ({"rate_bps": 8000, "delay_ns": 9, "jitter_ns": 5}, "rate", "in order"),
        ({"loss": 0.1, "loss_model": GilbertElliott(good_to_bad=0.1, bad_to_good=0.1)}, "loss_model", "one loss model"),
        ({"loss_model": GilbertElliott(good_to_bad=0, bad_to_good=0)}, "loss_model", "never changes"),
        ({"loss_model": GilbertElliott(good_to_bad=2, bad_to_good=0)}, "loss_model", "good_to_bad is a share"),
        ({"delay_ns": 4, "jitter_ns": 1, "distribution": Normal()}, "distribution", "4.01 times"),
        ({"delay_ns": 1, "jitter_ns": 2, "distribution": Pareto()}, "distribution", "0.58 times"),
        ({"delay_ns": 9, "distribution": TruncatedNormal(0.01, 8)}, "distribution", "after the mean"),
        ({"delay_ns": 9, "distribution": TruncatedNormal(0.1, 45)}, "distribution", "exceeds 5 times its mean"),
        ({"distribution": Quantiles((3, 2))}, "distribution", "ascending"),
        ({"distribution": Quantiles((0, 40_000 * MS))}, "distribution", "further apart"),
        ({"distribution": Quantiles((-5, 40))}, "distribution", "below 0"),
    ],
)
def test_impossible_values_are_refused(values: Mapping[str, Any], key: str, reason: str) -> None:
    with pytest.raises(ImpairmentError) as caught:
        Impairment(**values)
    ((found, why),) = caught.value.problems
    assert found == key and reason in why


def test_all_reasons_at_once() -> None:
    with pytest.raises(ImpairmentError) as caught:
        Impairment(loss=2, reorder=0.5, limit_packets=0)
    assert [key for key, _ in caught.value.problems] == ["loss", "limit", "reorder"]


def test_what_cannot_be_repeated_is_refused() -> None:
    corrupt = Impairment(corrupt=0.01)
    assert refusals(corrupt, "virtual") == ()
    ((key, reason),) = refusals(corrupt, "virtual", KernelFeatures())
    assert key == "corrupt" and "could not be repeated" in reason
    assert refusals(corrupt, "live") == (), "a live run is never repeated to the byte"
    for features, why in ((KernelFeatures(netem=False), "no netem"), (KernelFeatures(netem_seed=False), "no seed")):
        ((_, reason),) = refusals(Impairment(), "virtual", features)
        assert why in reason
    assert refusals(Impairment(), "live", KernelFeatures(netem_seed=False)) == ()
    jitter = Impairment(delay_ns=9, jitter_ns=5)
    assert refusals(jitter, "virtual") == ()
    assert [key for key, _ in refusals(jitter, "virtual", one_channel=True)] == ["jitter"]
    assert [key for key, _ in refusals(Impairment(delay_ns=9, reorder=1), "live", one_channel=True)] == ["reorder"]
    late = Impairment(delay_ns=9 * MS, distribution=TruncatedNormal(0.01, 20 * MS))
    assert [key for key, _ in refusals(late, "virtual", one_channel=True)] == ["distribution"]


@pytest.mark.parametrize("distribution", [Normal(), Pareto()])
def test_mean_and_spread_are_as_asked(distribution: Distribution) -> None:
    delays = distribution.draw(20 * MS, 3 * MS).delays_ns()
    assert len(delays) == TABLE_MAX
    assert fmean(delays) == pytest.approx(20 * MS, rel=1e-3)
    assert pstdev(delays) == pytest.approx(3 * MS, rel=0.05)
    assert min(delays) >= 0


def test_the_normal_tail_is_longer_than_that_of_iproutes_table() -> None:
    draw = Normal().draw(100 * MS, 10 * MS)
    assert max(draw.delays_ns()) > 100 * MS + 40 * MS > 100 * MS + 35.2 * MS
    assert draw.late_share(135_200_000) == pytest.approx(1 - NormalDist().cdf(3.52), rel=0.15)
    unit = tuple(round(8192 * max(-4.0, min(3.52, NormalDist().inv_cdf((i + 0.5) / 4096)))) for i in range(4096))
    assert DelayDraw(100 * MS, 10 * MS, unit).late_share(135_201_000) == 0, "what a table in units of sigma loses"


def test_the_truncated_normal_of_paper_002() -> None:
    """Mean 1, one delay in 10,000 above 5: mu -0.1347, sigma 1.3128 (D-DC-10)."""
    mu, sigma = fit_truncated_normal(1, 5, 1e-4)
    assert (round(mu, 4), round(sigma, 4)) == (-0.1347, 1.3128)
    draw = TruncatedNormal(1e-4, 100 * MS).draw(20 * MS, 0)
    assert draw.late_share(100 * MS) == 1e-4, "the size of the table is chosen so"
    assert draw.mean_ns() == pytest.approx(20 * MS, rel=1e-4)
    assert min(draw.delays_ns()) >= 0


@given(st.floats(1.2, 20), st.floats(1e-4, 0.3))
@settings(deadline=None, derandomize=True)
def test_a_fitted_truncated_normal_has_its_mean_and_late_share(after: float, late: float) -> None:
    try:
        mu, sigma = fit_truncated_normal(1, after, late)
    except ValueError:
        assert late > 0.6 * math.exp(-after) or after < 2, "an exponential delay is the limit"
        return
    kept = tail(-mu / sigma)
    assert tail((after - mu) / sigma) / kept == pytest.approx(late, rel=1e-3)
    assert mu + sigma * NormalDist().pdf(mu / sigma) / kept == pytest.approx(1, rel=1e-6)


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=20))
@settings(deadline=None, derandomize=True)
def test_a_table_stays_within_its_quantiles(points: list[int]) -> None:
    points.sort()
    draw = Quantiles(tuple(points)).draw(0, 0)
    step = draw.jitter_ns / 8192 + 1
    assert points[0] - step <= min(draw.delays_ns()) <= max(draw.delays_ns()) <= points[-1] + step
    assert all(-32_768 <= entry <= 32_767 for entry in draw.table)


def test_a_constant_needs_no_spread() -> None:
    assert set(table_of(lambda share: 5.0, 4).delays_ns()) == {5}
    assert Uniform().draw(7, 0) == DelayDraw(7)
    assert Impairment(delay_ns=7, distribution=Uniform()).settings().jitter_ns == 0


def test_seeds_are_stable_and_apart() -> None:
    """Written down, since a changed rule would silently change every run."""
    assert seed_for(7, "impair", "s1-eth3") == 6496362065144588084
    assert len({seed_for(7, "ab", "c"), seed_for(7, "a", "bc"), seed_for(7, "abc"), seed_for(8, "ab", "c")}) == 4
    assert 0 <= seed_for(-1) < 2**64
