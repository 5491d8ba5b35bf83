"""Partitions, and the heal that ends them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.scenario.faults.base import Fault, Names, Time, fault
from harness.scenario.faults.course import Course
from harness.scenario.faults.stage import Stage
from harness.scenario.problems import Path, Problem
from harness.scenario.scope import Scope


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Fault):
    """PDUs get through only between nodes that share a group; nodes that no group names form one more. Or, with
    `from` and `to`, one way: what the first send does not reach the second. It replaces an earlier partition."""

    KIND: ClassVar[str] = "partition"
    LASTS: ClassVar[bool] = True
    groups: tuple[tuple[str, ...], ...] | None = None
    from_: Names | None = None
    to: Names | None = None
    for_ns: Time | None = None

    def __post_init__(self) -> None:
        if (self.groups is None) == (self.from_ is None) or (self.from_ is None) != (self.to is None):
            raise ValueError("a partition has either groups, or from and to")
        if self.groups is not None and (not self.groups or not all(self.groups)):
            raise ValueError("a partition has groups with at least one node each")

    def severed(self, nodes: tuple[str, ...]) -> frozenset[tuple[str, str]]:
        """The (sender, receiver) pairs between which nothing gets through. A node always hears itself."""
        if self.groups is None:
            senders, receivers = self.from_ or (), self.to or ()
            return frozenset((a, b) for a in senders for b in receivers if a != b)
        named = {name for group in self.groups for name in group}
        groups = [*map(set, self.groups), {name for name in nodes if name not in named}]
        return frozenset(
            (a, b) for a in nodes for b in nodes if a != b and not any(a in group and b in group for group in groups)
        )

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        for group in self.groups or (self.from_ or (), self.to or ()):
            yield from scope.strangers(group, (*path, "groups" if self.groups else "from"))

    def follow(self, course: Course) -> Iterator[tuple[str, str]]:
        course.partition = (self.until_ns,)
        yield from ()

    def begin(self, stage: Stage) -> None:
        severed = self.severed(stage.nodes)
        stage.say(self.begins(about=" ".join(f"{a}>{b}" for a, b in sorted(severed))))
        stage.sever(severed)

    def end(self, stage: Stage) -> None:
        stage.say(self.ends())
        stage.sever(())


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Heal(Fault):
    """Partitions end, links come up."""

    KIND: ClassVar[str] = "heal"
    ENDS: ClassVar[tuple[str, ...]] = ("partition", "link")

    def follow(self, course: Course) -> Iterator[tuple[str, str]]:
        if course.partition is None and not course.down:
            yield "at", "there is no partition to heal, and no link is down"
        course.partition = None
        course.down.clear()

    def begin(self, stage: Stage) -> None:
        stage.say(self.begins())
        stage.mend()
