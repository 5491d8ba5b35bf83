"""Multicasts of programs across routers, to whatever group. A router's kernel keeps the first packets of a source to a
group and asks, as it would ask a multicast routing daemon, where they go: to all LANs, along the tree of the source.
"""

from __future__ import annotations

from dataclasses import replace

from topologies.addresses import ipv4
from topologies.mininet_network import Network
from topologies.multicast import Forwarding, Forwarding4
from topologies.plan import Forward


class MulticastRouters:
    """Who answers for all routers of a network."""

    def __init__(self, network: Network) -> None:
        plan = network.plan
        host_of = {plan.address(host): host for host in plan.hosts}
        self._forwarding: dict[int, tuple[Forwarding, dict[str, Forward]]] = {}
        for router, entries in plan.multicast.items():
            ways = {entry.source: entry for entry in entries}
            ways4 = {ipv4(plan, host_of[source]): entry for source, entry in ways.items()}
            for forwarding, known in (
                (network.multicast[router], ways),
                (network.forwarding(router, Forwarding4), ways4),
            ):
                self._forwarding[forwarding.control.fileno()] = (forwarding, known)

    @property
    def descriptors(self) -> list[int]:
        """Those at which questions come."""
        return list(self._forwarding)

    def answer(self, descriptor: int) -> None:
        """The question that has come there."""
        forwarding, ways = self._forwarding[descriptor]
        source, group = forwarding.asked() or ("", "")
        if source in ways:
            forwarding.add(replace(ways[source], source=source, group=group))
