"""Clocks that jump or drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.scenario.faults.base import OfNodes, fault
from harness.scenario.faults.stage import Stage


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange(OfNodes):
    """A node's local clock: `offset` against true time, `step` from where it is, `drift` from now on.

    Protocols that measure lengths of time alone live by a clock that has its drift, and is not set (nodes/facet.py).
    """

    KIND: ClassVar[str] = "clock"
    offset_ns: Annotated[int, "shift"] | None = None
    step_ns: Annotated[int, "shift"] | None = None
    drift_ppb: Annotated[int, "drift"] | None = None

    def __post_init__(self) -> None:
        if self.offset_ns is None and self.step_ns is None and self.drift_ppb is None:
            raise ValueError("a clock fault needs an offset, a step or a drift")
        if self.offset_ns is not None and self.step_ns is not None:
            raise ValueError("a clock is set to an offset or moved by a step, not both")
        if self.drift_ppb is not None and abs(self.drift_ppb) > 500_000_000:
            raise ValueError("a drift lies between -500000ppm and 500000ppm")

    def begin(self, stage: Stage) -> None:
        for node in self.node:
            stage.say(self.begins((node,)))
            stage.set_clock(node, self.offset_ns, self.step_ns, self.drift_ppb)
