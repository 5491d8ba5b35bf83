"""Values with units: times carry us, ms, s; rates kbit, mbit, gbit or /s; shares %; drift ppm.

Every unit is read exactly (decimal, not binary fractions) and written so that it reads back as the same value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(r"\s*([+-]?[0-9]+(?:[._]?[0-9]+)*(?:[eE][+-]?[0-9]{1,2})?)\s*(\S*)\s*")

NANOSECONDS = {"s": Decimal(10**9), "ms": Decimal(10**6), "us": Decimal(1000)}
BITS = {"gbit": Decimal(10**9), "mbit": Decimal(10**6), "kbit": Decimal(1000), "bit": Decimal(1)}


@dataclass(frozen=True, slots=True)
class Unit:
    """How people write a quantity, and how that becomes a number."""

    what: str
    example: str
    scale: Mapping[str, Decimal]
    whole: bool = True  # the number is an integer
    suffixes: tuple[str, ...] = ()  # of field names, which keys do not have
    lowest: int | None = 0

    def read(self, value: Any) -> int | float:
        """The number; ValueError says what is missing."""
        found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
        units = ", ".join(self.scale)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise ValueError(f'{self.what} is written as text, e.g. "{self.example}"')
        if found is None and isinstance(value, str):
            raise ValueError(f'{value!r} is not {self.what}: write e.g. "{self.example}"')
        if found is None or not found[2]:
            raise ValueError(f'{value!r} has no unit: {self.what} carries {units}, e.g. "{self.example}"')
        if found[2] not in self.scale:
            near = next((unit for unit in self.scale if unit.lower() == found[2].lower()), None)
            hint = f"; did you mean {near!r}?" if near else f": {self.what} carries {units}"
            raise ValueError(f"{found[2]!r} is no unit of {self.what}{hint}")
        number = Decimal(found[1]) * self.scale[found[2]]
        if self.lowest is not None and number < self.lowest:
            raise ValueError(f"{value!r} is below 0")
        if abs(number) >= 2**63:
            raise ValueError(f"{value!r} is larger than {self.what} can be")
        if self.whole and number != number.to_integral_value():
            raise ValueError(f"{value!r} is finer than {self.what} can be")
        return int(number) if self.whole else float(number)

    def write(self, number: float) -> str:
        """Text that reads back as `number`, in the largest unit of which it is at least one."""
        exact = Decimal(repr(number))
        unit = next((name for name, scale in self.scale.items() if abs(exact) >= scale), list(self.scale)[-1])
        text = f"{exact / self.scale[unit]:f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text) + unit


UNITS: Mapping[str, Unit] = {
    "duration": Unit("a time", "5ms", NANOSECONDS, suffixes=("_ns",)),
    "shift": Unit("a time", "-5ms", NANOSECONDS, suffixes=("_ns",), lowest=None),
    "bits": Unit("a rate", "10mbit", BITS, suffixes=("_bps",)),
    "rate": Unit("a rate", "100/s", {"/s": Decimal(1)}, whole=False, suffixes=("_per_s",)),
    "share": Unit("a share", "2%", {"%": Decimal("0.01")}, whole=False),
    "drift": Unit("a drift", "50ppm", {"ppm": Decimal(1000), "ppb": Decimal(1)}, suffixes=("_ppb",), lowest=None),
}
