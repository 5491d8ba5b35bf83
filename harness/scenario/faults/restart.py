"""A restart: what crashed or left comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.scenario.faults.base import OfNodes, fault
from harness.scenario.faults.course import Course
from harness.scenario.faults.stage import Stage


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(OfNodes):
    """The process of a node that crashed or left is started again, with the next incarnation."""

    KIND: ClassVar[str] = "restart"
    ENDS: ClassVar[tuple[str, ...]] = ("crash", "leave")

    def befall(self, course: Course, node: str) -> Iterator[str]:
        if node not in course.gone:
            yield f"{node} runs: only a node that has crashed or left is restarted"
        course.gone.pop(node, None)

    def begin(self, stage: Stage) -> None:
        for node in self.node:
            if not stage.runs(node):
                stage.say(self.begins((node,)))
                stage.start(node)
