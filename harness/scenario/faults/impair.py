"""Impairments that change while a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.scenario.faults.base import Fault, Names, Time, fault
from harness.scenario.faults.stage import Stage
from harness.scenario.problems import Path, Problem
from harness.scenario.scope import Scope
from topologies.impairments import Impairment


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Fault):
    """Another impairment takes the place of what was there, and what waits in that is lost; without keys, none."""

    KIND: ClassVar[str] = "impair"
    LASTS: ClassVar[bool] = True
    on: Names
    for_ns: Time | None = None
    impairment: Annotated[Impairment, "flatten"]

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        yield from scope.places(self.on, (*path, "on"))[1]
        yield from scope.refused(self.impairment, path)

    def begin(self, stage: Stage) -> Callable[[], None]:
        about = " ".join(self.on)
        cover = stage.impair(self.on, self.impairment)
        stage.say(self.begins(about=about))

        def end() -> None:
            stage.say(self.ends(about=about))
            cover.end()

        return end
