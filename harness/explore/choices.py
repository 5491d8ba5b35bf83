"""The choices that a case is made of: the questions to chance, and times that mean something."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.scenario.faults import Fault
from harness.scenario.faults.link import LinkState
from harness.scenario.faults.partition import Partition
from harness.scenario.model import Scenario

T = TypeVar("T")
SPANS = (10, 100, 1000, 4000)  # lengths of faults, in ticks: some outlast all that is submitted


@dataclass(frozen=True, slots=True)
class Times:
    """Instants and lengths in whole ticks: a thousandth of the time in which things happen."""

    within_ns: int
    near: tuple[int, ...] = ()  # where something happens already
    waits: tuple[int, ...] = ()  # after which something follows from it
    struck: tuple[str, ...] = ()  # nodes to which something has happened
    said: tuple[tuple[int, str, tuple[str, ...]], ...] = ()  # when who says something, and to whom

    @property
    def tick_ns(self) -> int:
        return max(1, self.within_ns // 1000)

    def instant(self, draw: Draw) -> int:
        """Anywhere, or where something else happens, or so long after it that something may follow."""
        if self.near and draw.yes():
            return max(0, draw.one(self.near) + self._about(draw, (0, *self.waits)))
        return draw.number(0, 1000) * self.tick_ns

    def node(self, draw: Draw, case: Scenario) -> str:
        """One of any, or one that is in trouble already: it seldom comes alone."""
        return draw.one(self.nodes(draw, case))

    def nodes(self, draw: Draw, case: Scenario) -> Sequence[str]:
        """All of them, or those that are in trouble already."""
        known = [node for node in case.nodes if node in self.struck]
        return known if known and draw.yes() else case.nodes

    def strike(self, draw: Draw, case: Scenario) -> tuple[int, str]:
        """When, and whom: any time and anybody, or who has just said something, or was told it so long ago."""
        if self.said and draw.yes():
            at_ns, node, to = draw.one(self.said)
            if self.waits and draw.number(0, 3) == 3:
                return max(0, at_ns + self._about(draw, self.waits)), draw.one(to or case.nodes)
            return max(0, at_ns + self._about(draw, (0,))), node
        return self.instant(draw), self.node(draw, case)

    def length(self, draw: Draw) -> int:
        """Short or long, or about as long as somebody waits."""
        if self.waits and draw.number(0, 2) == 2:
            return max(self.tick_ns, self._about(draw, self.waits))
        return draw.number(1, draw.one(SPANS)) * self.tick_ns

    def before(self, draw: Draw, at_ns: int) -> int:
        """Soon before it, or so long that something that was waited for comes then."""
        return max(0, at_ns - self._about(draw, (0, *self.waits)))

    def later(self, draw: Draw) -> int:
        """How long after a moment: at once, or when something may have followed from it."""
        return max(0, self._about(draw, self.waits)) if self.waits and draw.yes() else 0

    def _about(self, draw: Draw, waits: Sequence[int]) -> int:
        most = draw.one((5, 50))
        return draw.one(waits) + draw.number(-most, most) * self.tick_ns


class Draw:
    """The few questions that are asked here, each answered by a number of which all are as likely (chance.py)."""

    def __init__(self, number: Callable[[int, int], int]) -> None:
        self.number = number  # from the first to the second

    def numbers(self, *sizes: int) -> list[int]:
        """Several at once, each from 0 to below its size: one choice costs as much as another, however wide."""
        mixed, found = self.number(0, math.prod(sizes) - 1), []
        for size in sizes:
            mixed, digit = divmod(mixed, size)
            found.append(digit)
        return found

    def one(self, among: Sequence[T]) -> T:
        """One of some."""
        return among[self.number(0, len(among) - 1)]

    def yes(self) -> bool:
        """Yes or no."""
        return self.number(0, 1) == 1

    def some(self, among: Sequence[str], most: int) -> tuple[str, ...]:
        """One or more names, in their order."""
        left = list(among)
        count = self.number(1, min(most, len(left)))
        chosen = {left.pop(self.number(0, len(left) - 1)) for _ in range(count)}
        return tuple(name for name in among if name in chosen)


def some_kinds(draw: Draw, kinds: Sequence[T]) -> tuple[T, ...]:
    """Those of one case, many or few: what takes several of one kind seldom comes about when all kinds are mixed."""
    if not kinds:
        return ()
    mask = draw.number(0, (1 << len(kinds)) - 1)
    if draw.yes():
        mask &= draw.number(0, (1 << len(kinds)) - 1)
    return tuple(kind for number, kind in enumerate(kinds) if mask >> number & 1) or (draw.one(kinds),)


def edges(faults: Iterable[Fault]) -> tuple[int, ...]:
    """When they begin and end."""
    return tuple(one.at_ns + length for one in faults for length in {0, getattr(one, "for_ns", None) or 0})


def struck(faults: Iterable[Fault]) -> tuple[str, ...]:
    """Whom they concern."""
    return tuple(name for one in faults for name in concerned(one))


def concerned(fault: Fault) -> tuple[str, ...]:
    """Whom it concerns by name."""
    if isinstance(fault, Partition):
        return fault.to or (fault.groups[0] if fault.groups else (fault.first,) if fault.first else ())
    if isinstance(fault, LinkState):
        return tuple(end for link in fault.link for end in link.split("-") if end.startswith("n"))
    return getattr(fault, "node", None) or getattr(fault, "towards", None) or ()
