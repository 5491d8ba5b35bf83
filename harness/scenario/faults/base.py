"""What all faults are: a dataclass whose fields are its keys in a scenario, and the few things it must know of itself.

Of these a new fault writes those that differ: `check` (what of it cannot be), `follow` (what must have come before),
and `begin`, which says how it ends if it has a key `for`. `harness/scenario/faults/crash.py` is a small one, `pause.py`
one that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

from harness.scenario.codecs import OneOrMore
from harness.scenario.faults.course import Course
from harness.scenario.faults.stage import Stage
from harness.scenario.faults.when import When
from harness.scenario.problems import Path, Problem
from harness.scenario.scope import Scope
from nodes.wire.fault import FaultNote
from topologies.layers import Cover

Names = Annotated[tuple[str, ...], OneOrMore()]
Time = Annotated[int, "duration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What all faults have: `at` is the time from the start of the run, or from the moment that `when` describes."""

    KIND: ClassVar[str]
    LASTS: ClassVar[bool] = False  # it goes on until something ends it
    ENDS: ClassVar[tuple[str, ...]] = ()  # kinds of faults that end when it happens

    at_ns: Time = 0
    when: When | None = None

    @property
    def length_ns(self) -> int | None:
        """After which time it ends by itself: the key `for` of those that have it."""
        return getattr(self, "for_ns", None)

    @property
    def until_ns(self) -> int | None:
        """When it ends by itself."""
        return None if self.length_ns is None else self.at_ns + self.length_ns

    @property
    def last_ns(self) -> int:
        """When the last of it happens."""
        return self.until_ns or self.at_ns

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        """What does not fit the rest of the scenario."""
        yield from ()

    def follow(self, course: Course) -> Iterator[tuple[str, str]]:
        """Change the course of things to what it is after this fault; a key and a reason for what cannot be."""
        yield from ()

    def enter(self, stage: Stage) -> None:
        """Before the run begins: say what is to happen when."""
        if self.when is None:
            stage.at(self.at_ns, lambda: self.happen(stage))
        else:
            stage.when(self.when, self.at_ns, lambda: self.happen(stage))

    def happen(self, stage: Stage) -> None:
        """It begins now, and ends by itself if it is to."""
        end = self.begin(stage)
        if self.length_ns is not None and end is not None:
            stage.after(self.length_ns, end)

    def begin(self, stage: Stage) -> Callable[[], None] | None:
        """Do it, and say so; say nothing if nothing can be done. What undoes it, and says so, if it can be undone."""
        raise NotImplementedError

    def ending(self, stage: Stage, cover: Cover[str], note: Callable[[Sequence[str]], FaultNote]) -> Callable[[], None]:
        """Take this cover away; before that, say what is as usual again."""

        def end() -> None:
            free = cover.frees()
            if free:
                stage.say(note(free))
            cover.end()

        return end

    def begins(self, nodes: Iterable[str] = (), about: str = "") -> FaultNote:
        """The words for its beginning."""
        return FaultNote(self.KIND, numbers(nodes), about, self.ENDS)

    def ends(self, nodes: Iterable[str] = (), about: str = "") -> FaultNote:
        """The words for its end."""
        return FaultNote(self.KIND, numbers(nodes), about, (self.KIND,))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfNodes(Fault):
    """A fault of some nodes, one of them at a time."""

    node: Names

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        return scope.strangers(self.node, (*path, "node"))

    def follow(self, course: Course) -> Iterator[tuple[str, str]]:
        for node in self.node:
            if node in course.nodes:
                yield from (("node", reason) for reason in self.befall(course, node))

    def befall(self, course: Course, node: str) -> Iterator[str]:
        """`follow` for one of its nodes."""
        yield from ()


F = TypeVar("F", bound=type[Fault])
FAULTS: dict[str, type[Fault]] = {}


def fault(cls: F) -> F:
    """Let scenarios have faults of this kind."""
    FAULTS[cls.KIND] = cls
    return cls


def numbers(nodes: Iterable[str]) -> tuple[int, ...]:
    """Nodes as NOTEs name them."""
    return tuple(int(node[1:]) for node in nodes)
