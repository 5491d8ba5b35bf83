"""A network as plain data: everything the builder needs to know, nothing that has to be decided while building.

Names, interface names, MAC and IPv6 addresses follow from the numbers of nodes alone, so that adding a node leaves
those of the others as they were (and with them the seeds, which are drawn by name):

    hosts     n1 n2 ...   one interface, n3-eth0                                    02:6e:00:00:00:03
    switches  s1 s2 ...   one LAN each; s1-eth3 is the port of n3, s1-eth0 the router's   02:73:00:01:00:03
    routers   r1 r2 ...   r2-eth0 to its LAN, r2-eth1... to other routers           02:72:00:02:00:00
    LAN sK    fd00:0:0:K::/64     host i is ::i, router j is ::f00j (all numbers in hexadecimal)
    link k between routers        fd00:0:1:k::/64

Every host hangs on a switch, whose ports are in the root namespace: what must happen on the way *towards* a host
(loss, a chosen PDU dropped) sits on that port, what must happen on the way *from* it sits on the host's interface.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

GROUP = "ff15::7475"  # transient, site-local: routers forward it
INTERFACE_NAME_MAX = 15  # IFNAMSIZ without its zero byte
PREFIX_LENGTH = 64


class PlanError(ValueError):
    """A network that cannot be, with the reason."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The one queue that every PDU of a one_channel passes: the papers' 1C service."""

    rate_bps: Annotated[int, "bits"]
    delay_ns: Annotated[int, "duration"] = 0

    def __post_init__(self) -> None:
        if self.rate_bps <= 0:
            raise PlanError("a channel needs a rate above 0")
        if self.delay_ns < 0:
            raise PlanError("a channel cannot have a delay below 0")

    def slot_ns(self, frame_bytes: int) -> int:
        """How long one frame of that size occupies the channel."""
        return -(-frame_bytes * 8 * 1_000_000_000 // self.rate_bps)


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link. Switch ports, and all interfaces of a one_channel (raw Ethernet), have no addresses."""

    node: str
    interface: str
    mac: str
    address: str = ""
    link_local: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A cable. It is called after its nodes, `n1-s1`; `n1>s1` is one direction of it."""

    name: str
    a: End
    b: End


@dataclass(frozen=True, slots=True)
class Route:
    """Where a node sends what goes to a prefix; without `via` it is on the link (the kernel makes those itself)."""

    prefix: str
    via: str | None
    interface: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A permanent neighbour entry: no neighbour discovery takes place, which would use up draws of netem's seed."""

    interface: str
    address: str
    mac: str


@dataclass(frozen=True, slots=True)
class Forward:
    """An (S,G) entry of a router's multicast table. A (*,G) entry does not match in Linux unless the incoming
    interface is among the outgoing ones, so there are none."""

    source: str
    group: str
    incoming: str
    outgoing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lan:
    """A switch and who is on it. A cable between two routers is no Lan: nobody listens there."""

    switch: str
    prefix: str
    hosts: tuple[str, ...]
    router: str | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One network, complete. The mappings have an entry for every host and router, in their order."""

    kind: str
    hosts: tuple[str, ...]
    routers: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[Link, ...]
    lans: tuple[Lan, ...]
    channel: Channel | None = None
    snooping: bool = False
    pairs: bool = False  # impairments may be set from one host to another ("n1>n2")
    group: str = GROUP
    routes: Mapping[str, tuple[Route, ...]] = field(default_factory=dict)
    neighbours: Mapping[str, tuple[Neighbour, ...]] = field(default_factory=dict)
    multicast: Mapping[str, tuple[Forward, ...]] = field(default_factory=dict)  # routers only
    lan_hops: Mapping[tuple[str, str], int] = field(default_factory=dict)  # routers between two switches

    @property
    def ipv6(self) -> bool:
        """Do the hosts have addresses? On a one_channel they do not: it carries raw Ethernet frames."""
        return self.channel is None

    def ends(self) -> Iterator[End]:
        """Every interface there is."""
        for link in self.links:
            yield link.a
            yield link.b

    def end(self, interface: str) -> End:
        """The interface of that name."""
        for end in self.ends():
            if end.interface == interface:
                return end
        raise PlanError(f"no interface {interface}")

    # What is asked for every pair of nodes is looked up, not looked for.

    @cached_property
    def _by_node(self) -> Mapping[str, tuple[End, ...]]:
        found: dict[str, list[End]] = {}
        for end in self.ends():
            found.setdefault(end.node, []).append(end)
        return {node: tuple(ends) for node, ends in found.items()}

    @cached_property
    def _by_link(self) -> Mapping[str, Link]:
        return {link.name: link for link in self.links}

    @cached_property
    def _by_host(self) -> Mapping[str, Lan]:
        return {host: lan for lan in self.lans for host in lan.hosts}

    def interfaces(self, node: str) -> tuple[End, ...]:
        """The interfaces of a node, in the order in which they are made."""
        return self._by_node.get(node, ())

    def link(self, name: str) -> Link:
        """The link of that name."""
        if name not in self._by_link:
            raise PlanError(f"no link {name}")
        return self._by_link[name]

    def lan_of(self, host: str) -> Lan:
        """The LAN that a host is on."""
        if host not in self._by_host:
            raise PlanError(f"no host {host}")
        return self._by_host[host]

    def port_towards(self, host: str) -> End:
        """The switch port of a host: what happens to all that the host receives, happens here."""
        return self.link(f"{host}-{self.lan_of(host).switch}").b

    def address(self, host: str) -> str:
        """The global address of a host."""
        return self.interfaces(host)[0].address

    def hops(self, i: int, j: int) -> int:
        """The number of routers between host i and host j (numbers from 1)."""
        if not (1 <= i <= len(self.hosts) and 1 <= j <= len(self.hosts)):
            raise PlanError(f"hosts are numbered 1 to {len(self.hosts)}")
        a, b = self.lan_of(self.hosts[i - 1]).switch, self.lan_of(self.hosts[j - 1]).switch
        return self.lan_hops[a, b]

    def way(self, source: str, destination: str) -> tuple[str, ...]:
        """The nodes that a packet from host to host passes, both included, by every node's own table."""
        address = ipaddress.IPv6Address(self.address(destination))
        owners = {one: end.node for end in self.ends() for one in (end.address, end.link_local) if one}
        passed = [source]
        while passed[-1] != destination:
            matching = [one for one in self.routes[passed[-1]] if address in ipaddress.IPv6Network(one.prefix)]
            best = max(matching, key=lambda one: ipaddress.IPv6Network(one.prefix).prefixlen)
            passed.append(destination if best.via is None else owners[best.via])
        return tuple(passed)

    @property
    def max_hops(self) -> int:
        """The number of routers on the longest way; a sender's hop limit must be larger by one at least."""
        return max(self.lan_hops.values())
