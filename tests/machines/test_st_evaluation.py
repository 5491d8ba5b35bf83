"""The formulas of paper 000 §5 against tables computed independently, and against each other."""

from __future__ import annotations

import pytest

from nodes.st.evaluation import (
    Load,
    channel_go_back,
    channel_selective,
    resent_closed,
    resent_printed,
    sorted_closed_to,
    sorted_once,
    sorted_printed,
)

# n = L, f, U/L for d = n and d = n/2, R/L for d = n and d = n/2
PRINTED = [
    (10, 0.001, 0.0532, 0.0057, 0.0100, 0.0025),
    (10, 0.005, 0.2331, 0.0266, 0.0489, 0.0124),
    (10, 0.01, 0.4004, 0.0493, 0.0956, 0.0245),
    (10, 0.02, 0.6126, 0.0856, 0.1829, 0.0480),
    (10, 0.03, 0.7325, 0.1127, 0.2626, 0.0706),
    (10, 0.05, 0.8517, 0.1488, 0.4013, 0.1131),
    (10, 0.1, 0.9465, 0.1895, 0.6513, 0.2048),
    (20, 0.001, 0.1841, 0.0224, 0.0198, 0.0050),
    (20, 0.005, 0.5897, 0.0884, 0.0954, 0.0244),
    (20, 0.01, 0.7794, 0.1370, 0.1821, 0.0478),
    (20, 0.02, 0.8996, 0.1829, 0.3324, 0.0915),
    (20, 0.05, 0.9721, 0.2189, 0.6415, 0.2006),
    (20, 0.1, 0.9931, 0.2308, 0.8784, 0.3257),
    (50, 0.001, 0.6421, 0.1056, 0.0488, 0.0124),
    (50, 0.01, 0.9694, 0.2275, 0.3950, 0.1111),
    (50, 0.1, 0.9999, 0.2446, 0.9948, 0.4641),
]
# n = L, f, go-back on the channel for TO and ST, U/L without the duplicate, selective for TO and ST
CHANNEL = [
    (10, 0.005, 0.2331, 0.1265, 0.0532, 0.0489, 0.0248),
    (10, 0.01, 0.4004, 0.2336, 0.0987, 0.0956, 0.0490),
    (10, 0.02, 0.6126, 0.4018, 0.1713, 0.1829, 0.0961),
    (10, 0.05, 0.8517, 0.6843, 0.2976, 0.4013, 0.2262),
    (20, 0.005, 0.5897, 0.3842, 0.1768, 0.0954, 0.0489),
    (20, 0.01, 0.7794, 0.5904, 0.2740, 0.1821, 0.0956),
    (20, 0.02, 0.8996, 0.7806, 0.3659, 0.3324, 0.1829),
    (20, 0.05, 0.9721, 0.9254, 0.4377, 0.6415, 0.4013),
    (50, 0.001, 0.6421, 0.4365, 0.2112, 0.0488, 0.0247),
    (50, 0.01, 0.9694, 0.9300, 0.4550, 0.3950, 0.2222),
]


def to(n: int, f: float) -> Load:
    return Load(n, n, f, n)


def half(n: int, f: float) -> Load:
    return Load(n, n / 2, f, n)


@pytest.mark.parametrize(("n", "f", "u_to", "u_st", "r_to", "r_st"), PRINTED)
def test_formulas_as_printed(n: int, f: float, u_to: float, u_st: float, r_to: float, r_st: float) -> None:
    assert sorted_printed(to(n, f)) / n == pytest.approx(u_to, abs=5.1e-5)
    assert sorted_printed(half(n, f)) / n == pytest.approx(u_st, abs=5.1e-5)
    assert resent_printed(to(n, f)) / n == pytest.approx(r_to, abs=5.1e-5)
    assert resent_printed(half(n, f)) / n == pytest.approx(r_st, abs=5.1e-5)


@pytest.mark.parametrize(("n", "f", "back_to", "back_st", "once", "select_to", "select_st"), CHANNEL)
def test_what_a_capture_shows(
    n: int, f: float, back_to: float, back_st: float, once: float, select_to: float, select_st: float
) -> None:
    assert channel_go_back(to(n, f)) / n == pytest.approx(back_to, abs=5.1e-5)
    assert channel_go_back(half(n, f)) / n == pytest.approx(back_st, abs=5.1e-5)
    assert sorted_once(half(n, f)) / n == pytest.approx(once, abs=5.1e-5)
    assert channel_selective(to(n, f)) / n == pytest.approx(select_to, abs=5.1e-5)
    assert channel_selective(half(n, f)) / n == pytest.approx(select_st, abs=5.1e-5)


@pytest.mark.parametrize("n", [2, 6, 10, 50])
@pytest.mark.parametrize("f", [0.0, 0.001, 0.02, 0.3])
def test_closed_forms(n: int, f: float) -> None:
    assert sorted_closed_to(to(n, f)) == pytest.approx(sorted_printed(to(n, f)), abs=1e-9)
    assert sorted_closed_to(to(n, f)) == pytest.approx(channel_go_back(to(n, f)), abs=1e-9)
    for load in (to(n, f), half(n, f)):
        assert resent_closed(load) == pytest.approx(resent_printed(load), abs=1e-9)


def test_the_claim_holds_at_one_point_only() -> None:
    """1/10 of TO's go-back and 1/2 of ST's, both at n = L = 20, f = 0.02; of channel PDUs it is 1/5 and 1/4."""

    def ratios(n: int, f: float) -> tuple[float, float]:
        selective = resent_printed(half(n, f))
        return sorted_printed(to(n, f)) / selective, sorted_printed(half(n, f)) / selective

    assert ratios(20, 0.02) == pytest.approx((9.84, 2.00), abs=0.005)
    assert ratios(10, 0.01) == pytest.approx((16.3, 2.01), abs=0.05)
    assert ratios(20, 0.1) == pytest.approx((3.1, 0.71), abs=0.06)
    on_the_channel = channel_selective(half(20, 0.02))
    assert channel_go_back(to(20, 0.02)) / on_the_channel == pytest.approx(4.9, abs=0.05)
    assert channel_go_back(half(20, 0.02)) / on_the_channel == pytest.approx(4.3, abs=0.05)
