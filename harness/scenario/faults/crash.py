"""A crash: the process of a node is killed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.scenario.faults.base import OfNodes, fault
from harness.scenario.faults.course import Course, moment
from harness.scenario.faults.stage import Stage


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Crash(OfNodes):
    """The process of each node is killed (SIGKILL)."""

    KIND: ClassVar[str] = "crash"
    LASTS: ClassVar[bool] = True

    def befall(self, course: Course, node: str) -> Iterator[str]:
        if node in course.gone:
            yield f"{node} does not run: it {course.gone[node]}"
            return
        course.gone[node] = f"crashed at {moment(self.at_ns)}"
        course.paused.pop(node, None)

    def begin(self, stage: Stage) -> None:
        for node in self.node:
            if stage.runs(node):
                stage.say(self.begins((node,)))
                stage.kill(node)
