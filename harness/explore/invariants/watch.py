"""Looking at the machines of a run while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from harness.explore.memory import Run
from harness.judges import Outcome, Verdict
from harness.scenario.model import Scenario
from harness.world import Witness
from nodes.machine import Input, Machine, Received
from nodes.wire import Pdu


class Watch(Witness):
    """Looks at each machine after each of its steps, when all that it brought is put out."""

    NAMES: ClassVar[Sequence[str]]

    def __init__(self, run: Run) -> None:
        self.broken: list[str] = []  # "T1: ..."
        self.world = run.world
        self._read: dict[int, int] = {}  # node -> how many events there were when it was looked at
        run.world.witnesses.append(self)

    @staticmethod
    def is_for(case: Scenario) -> bool:
        """Are these rules in force, and what they ask of a run given?"""
        return True

    def heard(self, number: int, pdu: Pdu, machine: Machine) -> None:
        """A machine has taken this PDU, and made nothing of it yet that others see."""

    def look(self, number: int, machine: Machine, since: int) -> None:
        """A step is done; its NOTEs are among the events from that one on."""

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        if isinstance(event, Received):
            self.heard(number, event.pdu, machine)

    def done(self, number: int) -> None:
        if self.world.runs(number):
            self.look(number, self.world.machine(number), self._read.get(number, 0))
        self._read[number] = len(self.world.events)

    def verdicts(self) -> list[Verdict]:
        """One against each invariant that was broken, for the first time."""
        first: dict[str, str] = {}
        for complaint in self.broken:
            name, _, sentence = complaint.partition(": ")
            first.setdefault(name, sentence)
        return [Verdict(name, Outcome.FAIL, sentence) for name, sentence in first.items()]
