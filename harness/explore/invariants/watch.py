"""Looking at the machines of a run while it goes on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

from captures.evidence import Event
from harness.judges import Outcome, Verdict
from harness.scenario.model import Scenario
from harness.world import Witness, World
from nodes.machine import Input, Machine, Received
from nodes.wire import Pdu

Life = tuple[int, int]  # node and which of its lives


class Watch(Witness):
    """Looks at each machine after each of its steps, when all that it brought is put out."""

    NAMES: ClassVar[Sequence[str]]

    def __init__(self, world: World, options: Any) -> None:
        self.broken: list[str] = []  # "T1: ..."
        self.world = world
        self._noted: dict[int, list[Event]] = defaultdict(list)  # by a node, since it was looked at
        self._under_way: Counter[int] = Counter()  # steps of a node: a fault may make it take one in the middle of one
        world.witnesses.append(self)

    @staticmethod
    def is_for(case: Scenario) -> bool:
        """Are these rules in force, and what they ask of a run given?"""
        return True

    def heard(self, number: int, pdu: Pdu, machine: Machine) -> None:
        """A machine has taken this PDU, and made nothing of it yet that others see."""

    def look(self, number: int, machine: Machine, noted: Sequence[Event]) -> None:
        """A step is done."""

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        self._under_way[number] += 1
        if isinstance(event, Received):
            self.heard(number, event.pdu, machine)

    def noted(self, event: Event) -> None:
        self._noted[event.node].append(event)

    def done(self, number: int) -> None:
        self._under_way[number] = max(0, self._under_way[number] - 1)
        if self._under_way[number]:
            return
        noted = self._noted.pop(number, [])
        if self.world.runs(number):
            life = self.world.life(number)
            self.look(number, self.world.machine(number), [one for one in noted if one.incarnation == life])

    def verdicts(self) -> list[Verdict]:
        """One against each invariant that was broken, for the first time."""
        first: dict[str, str] = {}
        for complaint in self.broken:
            name, _, sentence = complaint.partition(": ")
            first.setdefault(name, sentence)
        return [Verdict(name, Outcome.FAIL, sentence) for name, sentence in first.items()]
