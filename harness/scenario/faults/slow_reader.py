"""Slow readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.scenario.faults.base import OfNodes, Time, fault
from harness.scenario.faults.course import Course
from harness.scenario.faults.stage import Stage
from harness.scenario.problems import Path, Problem
from harness.scenario.scope import Scope
from nodes.protocols import protocol


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class SlowReader(OfNodes):
    """A node reads one frame per `read_delay` from a receive buffer of so many bytes; the kernel drops the rest.
    Of several that overlap the latest counts."""

    KIND: ClassVar[str] = "slow_reader"
    LASTS: ClassVar[bool] = True
    read_delay_ns: Time = 0
    buffer_bytes: Annotated[int, "bytes"] | None = None
    for_ns: Time | None = None

    def __post_init__(self) -> None:
        if self.read_delay_ns == 0 and self.buffer_bytes is None:
            raise ValueError("a slow reader needs a read_delay or a buffer")
        if self.buffer_bytes is not None and not 2304 <= self.buffer_bytes < 2**30:
            raise ValueError("a receive buffer has at least 2304 bytes (Linux gives no less) and less than 2^30")

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        yield from OfNodes.check(self, scope, path)
        if scope.protocol is not None and protocol(scope.protocol).run is not None:
            yield Problem((*path, "kind"), "a program of other people reads as it likes: it cannot be made slow")

    def befall(self, course: Course, node: str) -> Iterator[str]:
        if node in course.gone:
            yield f"{node} does not run: it {course.gone[node]}"

    def begin(self, stage: Stage) -> Callable[[], None]:
        stage.say(self.begins(self.node))
        return self.ending(stage, stage.read_slowly(self.node, self.read_delay_ns, self.buffer_bytes), self.ends)
