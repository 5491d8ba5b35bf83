"""Partitions, and the heal that ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.scenario.faults.base import Fault, Names, Time, fault
from harness.scenario.faults.course import Course
from harness.scenario.faults.stage import Stage
from harness.scenario.problems import Path, Problem
from harness.scenario.scope import Scope

Shape = Literal["one", "halves", "bridge", "majority_ring"]
LEAST: dict[Shape, int] = {"one": 2, "halves": 2, "bridge": 3, "majority_ring": 4}  # nodes


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Fault):
    """PDUs get through only between nodes that share a group; nodes that no group names form one more. A `shape` needs
    no groups: `one` node is alone, `halves`, a `bridge` (one node hears both halves), a `majority_ring` (each hears
    another majority), all counted from node `first`; with a `way`, only what the first side sends (out) or is sent (in)
    is lost. With `from` and `to`: what the first send does not reach the second. It replaces an earlier partition."""

    KIND: ClassVar[str] = "partition"
    LASTS: ClassVar[bool] = True
    groups: tuple[tuple[str, ...], ...] | None = None
    from_: Names | None = None
    to: Names | None = None
    for_ns: Time | None = None
    shape: Shape | None = None
    first: str | None = None
    way: Literal["in", "out"] | None = None  # both

    def __post_init__(self) -> None:
        if (self.from_ is None) != (self.to is None) or sum(
            one is not None for one in (self.groups, self.from_, self.shape)
        ) != 1:
            raise ValueError("a partition has either groups, or a shape, or from and to")
        if self.groups is not None and (not self.groups or not all(self.groups)):
            raise ValueError("a partition has groups with at least one node each")
        if self.first is not None and self.shape is None:
            raise ValueError("first is the node from which a shape is counted")
        if self.way is not None and self.shape not in ("one", "halves"):
            raise ValueError("way is that of a shape with two sides: one or halves")

    def severed(self, nodes: tuple[str, ...]) -> frozenset[tuple[str, str]]:
        """The (sender, receiver) pairs between which nothing gets through. A node always hears itself."""
        if self.from_ is not None and self.to is not None:
            return frozenset((a, b) for a in self.from_ for b in self.to if a != b)
        if self.groups is None:
            return self._shaped(nodes)
        named = {name for group in self.groups for name in group}
        groups = [*map(set, self.groups), {name for name in nodes if name not in named}]
        return frozenset(
            (a, b) for a in nodes for b in nodes if a != b and not any(a in group and b in group for group in groups)
        )

    def _shaped(self, nodes: tuple[str, ...]) -> frozenset[tuple[str, str]]:
        start = nodes.index(self.first or nodes[0])
        place = {node: (number - start) % len(nodes) for number, node in enumerate(nodes)}
        pairs = frozenset(
            (a, b) for a in nodes for b in nodes if a != b and self._apart(place[a], place[b], len(nodes))
        )
        if self.way is None:
            return pairs
        # The side of the first node: what it sends, or what is sent to it.
        return frozenset((a, b) for a, b in pairs if (place[a] < place[b]) == (self.way == "out"))

    def _apart(self, a: int, b: int, count: int) -> bool:
        """Are two nodes, counted from the first, on different sides?"""
        low, high = min(a, b), max(a, b)
        if self.shape == "one":
            return low == 0
        if self.shape == "halves":
            return low < (count + 1) // 2 <= high
        if self.shape == "bridge":  # the first is on both sides
            return 0 < low <= count // 2 < high
        neighbours = (count // 2 + 1) // 2  # on each side: with itself, each sees the smallest such majority
        return min(high - low, count - (high - low)) > neighbours

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        for group in self.groups or (self.from_ or (), self.to or ()):
            yield from scope.strangers(group, (*path, "groups" if self.groups else "from"))
        yield from scope.strangers([self.first] if self.first else [], (*path, "first"))
        least = LEAST[self.shape] if self.shape else 0
        if len(scope.nodes) < least:
            yield Problem((*path, "shape"), f"a partition of shape {self.shape} needs {least} nodes or more")

    def follow(self, course: Course) -> Iterator[tuple[str, str]]:
        course.partition = (self.until_ns,)
        yield from ()

    def begin(self, stage: Stage) -> Callable[[], None]:
        severed = self.severed(stage.nodes)
        stage.say(self.begins(about=" ".join(f"{a}>{b}" for a, b in sorted(severed))))
        return self.ending(stage, stage.sever(severed), lambda ways: self.ends())


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Heal(Fault):
    """Partitions end, links come up."""

    KIND: ClassVar[str] = "heal"
    ENDS: ClassVar[tuple[str, ...]] = ("partition", "link")

    def follow(self, course: Course) -> Iterator[tuple[str, str]]:
        if course.partition is None and not course.down and course.network_known:
            yield "at", "there is no partition to heal, and no link is down"
        course.partition = None
        course.down.clear()

    def begin(self, stage: Stage) -> None:
        stage.say(self.begins())
        stage.mend()
