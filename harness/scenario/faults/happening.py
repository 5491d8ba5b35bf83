"""What every stage keeps of the faults that it carries out: when the present one began, and which have happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.scenario.faults.base import Fault
    from harness.scenario.faults.stage import Stage


class Happening:
    """`now_ns` is the time from the start of the run. Two faults may be equal, so a fault is told by its identity."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._entering: Fault | None = None
        self._entered: set[int] = set()
        self._begun: set[int] = set()
        self._happened: set[int] = set()
        self._said = 0
        self.begun_ns = 0  # when the fault that is happening began

    def enter(self, faults: Iterable[Fault], stage: Stage) -> None:
        """Enter the faults of a scenario."""
        for self._entering in faults:
            self._entering.enter(stage)

    def said(self) -> None:
        """Something was done, and said: the fault has happened."""
        self._said += 1

    def of(self, action: Callable[[], None]) -> Happens:
        """The action of the fault that is being entered; it keeps when it began, and whether anything was said."""
        assert self._entering is not None
        self._entered.add(id(self._entering))
        return Happens(self, self._entering, action)

    def happen(self, fault: Fault, action: Callable[[], None]) -> None:
        """Now."""
        self.begun_ns, said = self._now_ns(), self._said
        self._begun.add(id(fault))
        action()
        if self._said > said:
            self._happened.add(id(fault))

    def has_begun(self, fault: Fault) -> bool:
        """Has its time or moment come?"""
        return id(fault) in self._begun

    def never(self, faults: Sequence[Fault]) -> list[int]:
        """The numbers, from 1, of those whose moment did not come, or that found nothing to act on."""
        missing = self._entered - self._happened
        return [number for number, fault in enumerate(faults, 1) if id(fault) in missing]


@dataclass(frozen=True, slots=True)
class Happens:
    """An action, and whose it is."""

    happening: Happening
    fault: Fault
    action: Callable[[], None]

    def __call__(self) -> None:
        self.happening.happen(self.fault, self.action)
