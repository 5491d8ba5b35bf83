"""A leave: a node goes of its own will."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.scenario.faults.base import OfNodes, fault
from harness.scenario.faults.course import Course, moment
from harness.scenario.faults.stage import Stage


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Leave(OfNodes):
    """The process of each node is asked to end, and says so to the others if its protocol has words for it."""

    KIND: ClassVar[str] = "leave"
    LASTS: ClassVar[bool] = True

    def befall(self, course: Course, node: str) -> Iterator[str]:
        if node in course.gone:
            yield f"{node} does not run: it {course.gone[node]}"
            return
        if node in course.paused:
            yield f"{node} is paused, and cannot do as it is asked"
        course.gone[node] = f"left at {moment(self.at_ns)}"

    def begin(self, stage: Stage) -> None:
        for node in self.node:
            if stage.runs(node) and not stage.paused(node):
                stage.say(self.begins((node,)))
                stage.dismiss(node)
