"""Cases to watch, and looking at each machine after each of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from harness.explore import chance
from harness.explore.draw import cases
from harness.explore.memory import Run
from harness.scenario.model import Scenario
from nodes.machine import Input, Machine, Received, Send
from nodes.wire import Pdu
from nodes.wire.fault import FaultNote
from nodes.wire.note import NoteKind

Complaints = Iterator[str]


def drawn(base: Scenario, number: int, count: int = 40) -> list[Scenario]:
    """So many cases of the space of a scenario."""
    assert base.explore is not None
    return list(chance.drawn(cases(base, base.explore), number, count))


class Watch:
    """Looks at each process after each of its steps, when its NOTEs are made; in the place of the run's witness."""

    def __init__(self, run: Run) -> None:
        self.broken: list[str] = []
        self.world, self._novelty = run.world, run.novelty
        self._read: dict[int, int] = {}  # node -> how many events there were when it was looked at
        after = run.world._after

        def looking(number: int, outputs: list[Any]) -> None:
            after(number, outputs)
            if run.world.runs(number):
                self.look(number, run.world.machine(number), self._read.get(number, 0))
            self._read[number] = len(run.world.events)

        run.world.witness = self
        run.world._after = looking  # type: ignore[method-assign]

    def heard(self, number: int, pdu: Pdu, machine: Machine) -> None:
        """A machine has taken this PDU, and made nothing of it yet that others see."""

    def look(self, number: int, machine: Machine, since: int) -> None:
        """A step is done; its NOTEs are among the events from that one on."""

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        if isinstance(event, Received):
            self.heard(number, event.pdu, machine)
        self._novelty.stepped(number, event, machine, now_ns)

    def noted(self, number: int, kind: NoteKind, text: str, now_ns: int) -> None:
        self._novelty.noted(number, kind, text, now_ns)

    def sent(self, number: int, send: Send) -> None:
        self._novelty.sent(number, send)

    def struck(self, fault: FaultNote) -> None:
        self._novelty.struck(fault)


def watched(case: Scenario, watch: Callable[[Run], Watch]) -> Complaints:
    """What it finds broken in a run of a case."""
    run = Run(case)
    watching = watch(run)
    run.all()
    yield from watching.broken
