"""Numbers that are used once, also over restarts: which life of the process it is stands above, a count below.

Both ends are finite, and nothing wraps around: a life that has used its numbers up refuses what needs another one, and
a process that was started once too often does nothing but say so (`Spent`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodes.machine import Input, Log, Output, Submit
from nodes.wire.note import NoteKind, Refused

NO_NUMBER = "no number is left in this life of the process"


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbers in a field of 32 bits, of which the lower ones count within a life."""

    count_bits: int

    @property
    def lives(self) -> int:
        """How many there can be."""
        return 1 << 32 - self.count_bits

    def of(self, life: int) -> range:
        """The numbers of this life, from 1: 0 means none, so the count begins at 1."""
        first = life - 1 << self.count_bits
        return range(first + 1, first + (1 << self.count_bits))

    def life_of(self, number: int) -> int:
        """The life that a number belongs to; what stands before its first number belongs to it as well."""
        return (number >> self.count_bits) + 1


def refused(me: int, request: Submit, why: str = NO_NUMBER) -> list[Output]:
    """A request that is not carried out, and never will be: somebody must know."""
    return [
        Log(NoteKind.REFUSED, me, peers=request.to, values=Refused(request.number), text=why),
        Log(NoteKind.ALARM, me, text=why),
    ]


class Spent:
    """In the place of a machine for whose life there are no numbers."""

    def __init__(self, me: int, lives: int) -> None:
        self._me = me
        self._why = f"a node of this protocol has {lives} lives, and this would be another one"
        self.deadline: int | None = 0

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Submit):
            return refused(self._me, event, self._why)
        told, self.deadline = self.deadline is None, None
        return [] if told else [Log(NoteKind.ALARM, self._me, text=self._why)]

    def settled(self) -> bool:
        return True

    def counters(self) -> Mapping[str, int]:
        return {}
