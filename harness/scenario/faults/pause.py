"""Pauses: a process stops, and goes on later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.scenario.faults.base import OfNodes, Time, fault
from harness.scenario.faults.course import Course
from harness.scenario.faults.stage import Stage


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(OfNodes):
    """The process of each node is stopped (SIGSTOP); the kernel goes on queueing what comes for it. After
    several that overlap it goes on when the last has ended."""

    KIND: ClassVar[str] = "pause"
    LASTS: ClassVar[bool] = True
    for_ns: Time | None = None

    def befall(self, course: Course, node: str) -> Iterator[str]:
        if node in course.gone:
            yield f"{node} does not run: it {course.gone[node]}"
            return
        if node in course.paused:
            yield f"{node} is paused already"
        course.paused[node] = self.until_ns

    def begin(self, stage: Stage) -> Callable[[], None]:
        nodes = [node for node in self.node if stage.runs(node)]
        if nodes:
            stage.say(self.begins(nodes))
        return self.ending(stage, stage.pause(nodes), Resume(node=self.node).begins)


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(OfNodes):
    """A paused process goes on."""

    KIND: ClassVar[str] = "resume"
    ENDS: ClassVar[tuple[str, ...]] = ("pause",)

    def befall(self, course: Course, node: str) -> Iterator[str]:
        if node in course.gone:
            yield f"{node} does not run: it {course.gone[node]}"
        elif node not in course.paused:
            yield f"{node} is not paused"
        course.paused.pop(node, None)

    def begin(self, stage: Stage) -> None:
        stage.say(self.begins(self.node))
        stage.resume(self.node)
