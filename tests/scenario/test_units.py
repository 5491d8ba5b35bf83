"""Units are read exactly, written so that they read back, and refused with the reason."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.scenario.units import UNITS


@pytest.mark.parametrize(
    ("unit", "text", "number"),
    [
        ("duration", "5ms", 5_000_000),
        ("duration", "1.5s", 1_500_000_000),
        ("duration", "0.001us", 1),
        ("duration", "1_000 us", 1_000_000),
        ("shift", "-20ms", -20_000_000),
        ("bits", "10mbit", 10_000_000),
        ("bits", "2.5gbit", 2_500_000_000),
        ("rate", "0.1/s", 0.1),
        ("share", "0.01%", 0.0001),
        ("drift", "-50ppm", -50_000),
        ("drift", "3ppb", 3),
    ],
)
def test_what_is_meant(unit: str, text: str, number: float) -> None:
    assert UNITS[unit].read(text) == number


@pytest.mark.parametrize(
    ("unit", "value", "reason"),
    [
        ("duration", 5, '5 has no unit: a time carries s, ms, us, e.g. "5ms"'),
        ("duration", "5", "'5' has no unit"),
        ("duration", "5 minutes", "'minutes' is no unit of a time: a time carries s, ms, us"),
        ("duration", "5MS", "'MS' is no unit of a time; did you mean 'ms'?"),
        ("duration", "soon", "'soon' is not a time"),
        ("duration", "-1ms", "below 0"),
        ("duration", "0.0001us", "finer than a time can be"),
        ("duration", "1e99s", "larger than a time can be"),
        ("duration", "1e999999999s", "is no unit of a time"),
        ("duration", True, "written as text"),
        ("duration", ["5ms"], "written as text"),
        ("bits", "10mbps", "no unit of a rate"),
        ("share", 0.02, '0.02 has no unit: a share carries %, e.g. "2%"'),
        ("rate", "100", "carries /s"),
    ],
)
def test_what_is_refused(unit: str, value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        UNITS[unit].read(value)


@given(st.sampled_from(["duration", "shift", "bits", "drift"]), st.integers(-(2**62), 2**62))
@settings(deadline=None, derandomize=True)
def test_whole_numbers_read_back(unit: str, number: int) -> None:
    number = number if UNITS[unit].lowest is None else abs(number)
    assert UNITS[unit].read(UNITS[unit].write(number)) == number


@given(st.sampled_from(["share", "rate"]), st.floats(0, 1e6, allow_subnormal=False))
@settings(deadline=None, derandomize=True)
def test_numbers_read_back(unit: str, number: float) -> None:
    assert UNITS[unit].read(UNITS[unit].write(number)) == number


def test_the_largest_unit_is_taken() -> None:
    write = UNITS["duration"].write
    assert [write(one) for one in (0, 1, 1500, 2_000_000, 100_000_000_000)] == [
        "0us",
        "0.001us",
        "1.5us",
        "2ms",
        "100s",
    ]
    assert UNITS["bits"].write(10_000_000) == "10mbit"
