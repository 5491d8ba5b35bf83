"""Where an impairment goes: from the words of a scenario to interfaces of a plan.

receivers   the switch port towards every host          senders   the interface of every host
routers     both ends of every cable between routers
n1-s1       both directions of a link                   n1>s1     one direction of it
n1>n2       (mesh) what n1 sends, on the port towards n2
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from topologies.plan import Plan, PlanError


@dataclass(frozen=True, slots=True)
class Placement:
    """The interface through which the impaired packets leave; of a pair, only those with that source address."""

    node: str
    interface: str
    source_mac: str | None = None

    @property
    def name(self) -> str:
        """What its seed is called after."""
        return self.interface if self.source_mac is None else f"{self.interface} from {self.source_mac}"


def placements(plan: Plan, on: str) -> tuple[Placement, ...]:
    """The interfaces meant by one word; PlanError with the nearest spelling when there are none."""
    if on == "receivers":
        return tuple(_leaving(plan, plan.lan_of(host).switch, host) for host in plan.hosts)
    if on == "senders":
        return tuple(_leaving(plan, host, plan.lan_of(host).switch) for host in plan.hosts)
    if on == "routers":
        cables = [link for link in plan.links if link.a.node in plan.routers and link.b.node in plan.routers]
        if not cables:
            raise PlanError(f"a {plan.kind} has no cables between routers")
        return tuple(Placement(end.node, end.interface) for link in cables for end in (link.a, link.b))
    if ">" in on:
        return _direction(plan, on)
    for link in plan.links:
        if link.name == on:
            return Placement(link.a.node, link.a.interface), Placement(link.b.node, link.b.interface)
    raise PlanError(_unknown(plan, on))


def _direction(plan: Plan, on: str) -> tuple[Placement, ...]:
    source, _, destination = on.partition(">")
    if source in plan.hosts and destination in plan.hosts and source != destination:
        if not plan.pairs:
            raise PlanError(f"only a mesh has impairments from one host to another; a {plan.kind} has links")
        port = plan.port_towards(destination)
        return (Placement(port.node, port.interface, plan.interfaces(source)[0].mac),)
    if any({source, destination} == {link.a.node, link.b.node} for link in plan.links):
        return (_leaving(plan, source, destination),)
    raise PlanError(_unknown(plan, on))


def _leaving(plan: Plan, source: str, destination: str) -> Placement:
    for link in plan.links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if (near.node, far.node) == (source, destination):
                return Placement(near.node, near.interface)
    raise PlanError(f"no link joins {source} and {destination}")


def _unknown(plan: Plan, on: str) -> str:
    names = ["receivers", "senders", "routers", *(link.name for link in plan.links)]
    names += [f"{a.node}>{b.node}" for link in plan.links for a, b in ((link.a, link.b), (link.b, link.a))]
    near = difflib.get_close_matches(on, names, n=1)
    return f"no link or direction is called {on!r}" + (f"; did you mean {near[0]!r}?" if near else "")
