"""What every stage keeps of the faults that it carries out: when the present one began, and which have happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.scenario.faults.base import Fault
    from harness.scenario.faults.stage import Stage


class Happening:
    """`now_ns` is the time from the start of the run."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._entering = 0  # number of the fault that is being entered, from 1
        self._entered: set[int] = set()
        self._happened: set[int] = set()
        self._said = 0
        self.begun_ns = 0  # when the fault that is happening began

    def enter(self, faults: Sequence[Fault], stage: Stage) -> None:
        """Enter the faults of a scenario."""
        for self._entering, fault in enumerate(faults, 1):
            fault.enter(stage)

    def said(self) -> None:
        """Something was done, and said: the fault has happened."""
        self._said += 1

    def of(self, action: Callable[[], None]) -> Callable[[], None]:
        """The action of the fault that is being entered; it keeps when it began, and whether anything was said."""
        number = self._entering
        self._entered.add(number)

        def happen() -> None:
            self.begun_ns, said = self._now_ns(), self._said
            action()
            if self._said > said:
                self._happened.add(number)

        return happen

    def never(self) -> list[int]:
        """The numbers of faults, from 1, whose moment did not come, or that found nothing to act on."""
        return sorted(self._entered - self._happened)
