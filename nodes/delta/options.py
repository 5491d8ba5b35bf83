"""What a scenario can set about delta: the table [delta]."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

SchemeName = Literal["bounded", "unbounded", "hold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The rules of paper 002 that do not hold, each with its own switch; False is the repaired rule."""

    entry: bool = False  # R4: (i, TS_m), the receiver instead of the sender (D-DC-1)
    stamp: bool = False  # S1: the clock as it is, so that time stamps tie or fall behind (D-DC-2)
    order: bool = False  # what becomes deliverable together is delivered as it arrived (D-DC-3)
    skew: bool = False  # no R0 although clocks differ (D-DC-9)
    overtaken: bool = False  # no test against an older message of the same sender (D-DC-13)
    restart: bool = False  # who comes back speaks at once, having forgotten what it said (D-DC-14)


def all_printed() -> Printed:
    """Every rule as the paper prints it."""
    return Printed(**{switch.name: True for switch in fields(Printed)})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaOptions:
    """The scenario table [delta]."""

    rules: Literal["repaired", "printed"] = "repaired"
    scheme: SchemeName = "bounded"  # the paper's; or one of the two that it improves on (paper 002 §3.1)
    delta_ns: Annotated[int, "duration"] = 100_000_000  # Δ
    epsilon_ns: Annotated[int, "duration"] = 0  # ε: how far any two local clocks may differ
    max_cb: int = 4  # MAX_CB, for the scheme "bounded"
    hold_ns: Annotated[int, "duration"] = 0  # w, for the scheme "hold"; 0 is 0.4 (Δ + ε)
    printed: Printed = field(default_factory=Printed)

    def __post_init__(self) -> None:
        if self.delta_ns < 1:
            raise ValueError("delta must be positive")
        if self.epsilon_ns < 0:
            raise ValueError("epsilon must not be negative")
        if not 1 <= self.max_cb <= 255:
            raise ValueError("max_cb must be 1 to 255")
        if self.hold_ns and not self.limit_ns < 3 * self.hold_ns < 1.5 * self.limit_ns:
            raise ValueError("hold must lie between a third and a half of delta + epsilon (paper 002 §3.1)")

    @property
    def limit_ns(self) -> int:
        """Δ' of paper 002 §3.5: Δ + ε."""
        return self.delta_ns + self.epsilon_ns

    @property
    def held_ns(self) -> int:
        """w."""
        return self.hold_ns or 2 * self.limit_ns // 5

    def switches(self) -> Printed:
        """Which rules are the printed ones."""
        return all_printed() if self.rules == "printed" else self.printed
