"""Faults in an order that can happen: nothing is restarted that runs, nothing resumed that was not paused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.scenario.problems import Problem
from harness.scenario.units import UNITS

if TYPE_CHECKING:
    from harness.scenario.faults.base import Fault


class Course:
    """The state of every node and link along the timeline. What is there until a known time is gone by itself then."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = nodes  # those whose state is known
        self.network_known = True  # which links are down, and whether there is a partition
        self.gone: dict[str, str] = {}  # node -> since when, and why
        self.paused: dict[str, int | None] = {}  # node -> until when
        self.down: dict[str, int | None] = {}  # link -> until when
        self.partition: tuple[int | None] | None = None  # until when

    def problems(self, faults: Sequence[tuple[int, Fault]]) -> Iterator[Problem]:
        """What of these faults, with their numbers in the file, cannot happen because of what happened before."""
        self._leave_open([fault for _, fault in faults if fault.when is not None])
        timed = [one for one in faults if one[1].when is None]
        for number, fault in sorted(timed, key=lambda one: one[1].at_ns):  # stable: file order at equal times
            self._pass_to(fault.at_ns)
            for key, reason in fault.follow(self):
                yield Problem(("fault", number, key), f"at {moment(fault.at_ns)} {reason}")

    def _leave_open(self, faults: Sequence[Fault]) -> None:
        """Of what these faults act on nobody can say when: nothing is known of its state."""
        for fault in faults:
            about = getattr(fault, "node", None)
            if about is None:
                self.network_known = False
            else:
                self.nodes = [node for node in self.nodes if node not in about]

    def _pass_to(self, now: int) -> None:
        self.paused = {node: end for node, end in self.paused.items() if end is None or end > now}
        self.down = {link: end for link, end in self.down.items() if end is None or end > now}
        if self.partition is not None and self.partition[0] is not None and self.partition[0] <= now:
            self.partition = None


def moment(at_ns: int) -> str:
    """A time as scenarios write it."""
    return UNITS["duration"].write(at_ns)
