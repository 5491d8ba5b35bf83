"""Gives hosts their addresses for programs of other people (addresses.py), and the ways to all others.

Routers pass IPv4 on by the ways of IPv6; multicasts too (program_multicast.py).
"""

from __future__ import annotations

import socket
from pathlib import Path

from topologies.addresses import ipv4, ipv6, lan_of, link_local
from topologies.mininet_network import INGRESS, Network, enable_ipv6
from topologies.netlink import IPRoute, add_source_filter, mac_keys, set_neighbours
from topologies.plan import PREFIX_LENGTH, Plan, PlanError

_MULTICAST = "224.0.0.0/4"
_ALL_LENGTH, _LAN_LENGTH = 8, 16
_LANS = 256
_NO_DETECTION = 0x02  # of an address that is there twice
_LINK = 253  # the scope of what is here
_IPV6_KEY = (-4, 0x86DD, 0xFFFF)  # the two bytes before the network header


def give_addresses(network: Network) -> None:
    """Give every host its addresses, permanent entries for all others on its link (a question for an address would use
    up draws of netem's seed), and the ways to all others."""
    plan = network.plan
    if len(plan.lans) >= _LANS:
        raise PlanError(f"programs have addresses on {_LANS - 1} LANs at most")
    for host in plan.hosts:
        netlink, end = network.netlink_of(host), plan.interfaces(host)[0]
        index = network.interfaces(host)[end.interface]
        length = _LAN_LENGTH if plan.routers else _ALL_LENGTH
        netlink.addr("add", index=index, address=ipv4(plan, host), prefixlen=length)
        netlink.route("add", dst=_MULTICAST, oif=index)
        with network.node(host).entered():
            if not plan.ipv6:
                enable_ipv6(end.interface)
                for address in (ipv6(plan, host), link_local(plan, host)):
                    netlink.addr("add", index=index, address=address, prefixlen=PREFIX_LENGTH, flags=_NO_DETECTION)
                _ignore_own(netlink, index, end.mac)
            _know(plan, [other for other in plan.lan_of(host).hosts if other != host], index)
    for node in (*plan.hosts, *plan.routers) if plan.routers else ():
        _find_ways(network, node)


def _ignore_own(netlink: IPRoute, index: int, mac: str) -> None:
    """Let a host not hear what it has sent itself, which a single channel brings back: IPv6 would take a multicast for
    one more (of IPv4 the kernel sees that the source is its own)."""
    netlink.tc("add", "clsact", index)
    drop = {"kind": "gact", "action": "drop"}
    add_source_filter(netlink, index, INGRESS, 1, [*mac_keys(mac), _IPV6_KEY], drop)


def _know(plan: Plan, hosts: list[str], index: int) -> None:
    """Make entries for hosts on the link of an interface of this thread's namespace."""
    families = [ipv4, link_local] if plan.ipv6 else [ipv4, ipv6, link_local]  # of a LAN others are there already
    macs = [(host, plan.interfaces(host)[0].mac) for host in hosts]
    set_neighbours([(index, address(plan, host), mac) for address in families for host, mac in macs])


def _find_ways(network: Network, node: str) -> None:
    plan, netlink, index_of = network.plan, network.netlink_of(node), network.interfaces(node)
    for route in plan.routes[node]:
        lan, index = lan_of(route.prefix), index_of[route.interface]
        if lan >= _LANS:  # a cable between routers
            continue
        prefix = f"10.{lan}.0.0/{_LAN_LENGTH}" if lan else "0.0.0.0/0"
        if route.via is not None:
            netlink.route("add", dst=prefix, via={"family": socket.AF_INET6, "addr": route.via}, oif=index)
        elif node in plan.routers:
            netlink.route("add", dst=prefix, oif=index, scope=_LINK)
            with network.node(node).entered():
                Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
                _know(plan, [host for one in plan.lans if lan_of(one.prefix) == lan for host in one.hosts], index)
