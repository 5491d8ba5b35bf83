"""IPv4 for programs of other people, beside what our own nodes use: 10.0.0.N for host N where all share one link."""

from __future__ import annotations

from topologies.mininet_network import Network
from topologies.netlink import set_neighbours
from topologies.plan import Plan

PREFIX_LENGTH = 8
MULTICAST = "224.0.0.0/4"


def address(plan: Plan, host: str) -> str:
    """That of a host; empty in a network with routers, which forward IPv6 only."""
    if plan.routers:
        return ""
    number = int(host[1:])
    return f"10.0.{number >> 8}.{number & 255}"


def give_addresses(network: Network) -> None:
    """Give every host its address, permanent entries for all others (an ARP request would use up draws of netem's
    seed), and the way for multicasts."""
    plan = network.plan
    if plan.routers:
        return
    for host in plan.hosts:
        netlink, end = network.netlink_of(host), plan.interfaces(host)[0]
        index = network.interfaces(host)[end.interface]
        netlink.addr("add", index=index, address=address(plan, host), prefixlen=PREFIX_LENGTH)
        netlink.route("add", dst=MULTICAST, oif=index)
        others = [(index, address(plan, other), plan.interfaces(other)[0].mac) for other in plan.hosts if other != host]
        with network.node(host).entered():
            set_neighbours(others)
