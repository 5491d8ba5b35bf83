"""Faults in an order that can happen: nothing is restarted that runs, nothing resumed that was not paused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.scenario.faults import (
    AnyFault,
    Crash,
    Heal,
    Leave,
    LinkState,
    Partition,
    Pause,
    Restart,
    Resume,
    SlowReader,
)
from harness.scenario.problems import Problem
from harness.scenario.schema import Problems
from harness.scenario.units import UNITS

OfNodes = Crash | Leave | Restart | Pause | Resume | SlowReader
Numbered = tuple[int, AnyFault]  # its number among [[fault]]


def order(faults: Sequence[Numbered], nodes: Sequence[str]) -> Problems:
    """What cannot happen because of what happened before."""
    return list(_Walk(nodes).all(faults))


def _text(at_ns: int) -> str:
    return UNITS["duration"].write(at_ns)


class _Walk:
    """The state of every node and link along the timeline."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._gone: dict[str, str] = {}  # node -> since when, and why
        self._paused: dict[str, int | None] = {}  # node -> until when
        self._down: dict[str, int | None] = {}  # link -> until when
        self._partition: tuple[int | None] | None = None  # until when
        self._nodes = nodes

    def all(self, faults: Sequence[Numbered]) -> Iterator[Problem]:
        for number, fault in sorted(faults, key=lambda one: one[1].at_ns):  # stable: file order at equal times
            self._pass_to(fault.at_ns)
            for key, reason in self._one(fault):
                yield Problem(("fault", number, key), f"at {_text(fault.at_ns)} {reason}")

    def _pass_to(self, now: int) -> None:
        self._paused = {node: end for node, end in self._paused.items() if end is None or end > now}
        self._down = {link: end for link, end in self._down.items() if end is None or end > now}
        if self._partition is not None and self._partition[0] is not None and self._partition[0] <= now:
            self._partition = None

    def _one(self, fault: AnyFault) -> Iterator[tuple[str, str]]:
        end = None if (length := getattr(fault, "for_ns", None)) is None else fault.at_ns + length
        if isinstance(fault, Heal):
            if self._partition is None and not self._down:
                yield "at", "there is no partition to heal, and no link is down"
            self._partition = None
            self._down.clear()
        elif isinstance(fault, Partition):
            self._partition = (end,)
        elif isinstance(fault, LinkState):
            for link in fault.link:
                if (fault.state == "down") == (link in self._down):
                    yield "link", f"{link} is {fault.state} already"
                if fault.state == "down":
                    self._down[link] = end
                else:
                    self._down.pop(link, None)
        elif isinstance(fault, OfNodes):
            for node in fault.node:
                if node in self._nodes:
                    yield from (("node", reason) for reason in self._node(fault, node, end))

    def _node(self, fault: OfNodes, node: str, end: int | None) -> Iterator[str]:
        if isinstance(fault, Restart):
            if node not in self._gone:
                yield f"{node} runs: only a node that has crashed or left is restarted"
            self._gone.pop(node, None)
            return
        if node in self._gone:
            yield f"{node} does not run: it {self._gone[node]}"
        elif isinstance(fault, Crash):
            self._gone[node] = f"crashed at {_text(fault.at_ns)}"
            self._paused.pop(node, None)
        elif isinstance(fault, Leave):
            if node in self._paused:
                yield f"{node} is paused, and cannot do as it is asked"
            self._gone[node] = f"left at {_text(fault.at_ns)}"
        elif isinstance(fault, Resume):
            if node not in self._paused:
                yield f"{node} is not paused"
            self._paused.pop(node, None)
        elif isinstance(fault, Pause):
            if node in self._paused:
                yield f"{node} is paused already"
            self._paused[node] = end
