"""Links that go down and come up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.scenario.faults.base import Fault, Names, Time, fault
from harness.scenario.faults.course import Course
from harness.scenario.faults.stage import Stage
from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.scope import Scope


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState(Fault):
    """A link goes down, or comes up: after several that overlap when the last has ended."""

    KIND: ClassVar[str] = "link"
    LASTS: ClassVar[bool] = True
    link: Names
    state: Literal["down", "up"] = "down"
    for_ns: Time | None = None

    def __post_init__(self) -> None:
        if self.state == "up" and self.for_ns is not None:
            raise ValueError("only a link that goes down comes back by itself")

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        known = {link.name for link in scope.plan.links}
        for name in self.link:
            if name not in known:
                yield Problem((*path, "link"), f"no link is called {name!r}{did_you_mean(name, known)}")

    def follow(self, course: Course) -> Iterator[tuple[str, str]]:
        for link in self.link:
            if (self.state == "down") == (link in course.down) and course.network_known:
                yield "link", f"{link} is {self.state} already"
            if self.state == "down":
                course.down[link] = self.until_ns
            else:
                course.down.pop(link, None)

    def begin(self, stage: Stage) -> Callable[[], None] | None:
        if self.state == "up":
            stage.say(self.ends(about=" ".join(self.link)))
            stage.plug(self.link)
            return None
        stage.say(self.begins(about=" ".join(self.link)))
        return self.ending(stage, stage.unplug(self.link), lambda links: self.ends(about=" ".join(links)))
