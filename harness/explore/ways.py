"""Which interfaces a packet leaves through on its way, from the plan of a network: a tree for each source.

A multicast packet passes the part that several receivers share once, so that what is lost there is lost for all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from topologies.plan import Plan

CHANNEL = "channel"  # the one queue of a one_channel, which is no interface of a node


@dataclass(slots=True)
class Step:
    """One interface, the node that hears what leaves there (0: none), and what follows."""

    interface: str
    receiver: int = 0
    after: list[Step] = field(default_factory=list)

    def next_step(self, interface: str) -> Step:
        """The step that follows through an interface, made if there is none yet."""
        for step in self.after:
            if step.interface == interface:
                return step
        self.after.append(Step(interface))
        return self.after[-1]


def way(plan: Plan, source: int, receivers: Iterable[int]) -> list[Step]:
    """Where a packet of a node goes that is meant for these."""
    root = Step("")
    for receiver in receivers:
        here = root
        for interface in _interfaces(plan, f"n{source}", f"n{receiver}"):
            here = here.next_step(interface)
        here.receiver = receiver
    return root.after


def _interfaces(plan: Plan, source: str, receiver: str) -> list[str]:
    if plan.channel is not None:
        return [plan.interfaces(source)[0].interface, CHANNEL, plan.port_towards(receiver).interface]
    if plan.lan_of(source) == plan.lan_of(receiver):
        return [plan.interfaces(source)[0].interface, plan.port_towards(receiver).interface]
    passed = plan.way(source, receiver)
    found: list[str] = []
    for here, there in itertools.pairwise(passed):
        found += _leaving(plan, here, there)
    return found


def _leaving(plan: Plan, here: str, there: str) -> list[str]:
    """Through a cable, or through the switch that joins the two."""
    near: dict[str, str] = {}  # switch -> my interface there
    far: dict[str, str] = {}  # switch -> its port towards the other
    for link in plan.links:
        for a, b in ((link.a, link.b), (link.b, link.a)):
            if (a.node, b.node) == (here, there):
                return [a.interface]
            if a.node == here and b.node in plan.switches:
                near[b.node] = a.interface
            if a.node in plan.switches and b.node == there:
                far[a.node] = a.interface
    (switch,) = near.keys() & far.keys()
    return [near[switch], far[switch]]
