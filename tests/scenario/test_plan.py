"""Every plan is a network that works: connected, loop-free, each LAN reached once, nothing named twice."""

from __future__ import annotations

import dataclasses
import ipaddress
from collections import Counter, deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.kinds import KINDS, Sizes, build
from topologies.plan import Channel, Plan, PlanError

CHANNEL = Channel(10_000_000, 200_000)


@st.composite
def plans(draw: st.DrawFn) -> tuple[str, int, Sizes]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    nodes = draw(st.integers(KINDS[kind].fewest_nodes, 20))
    sizes = {}
    for name, (low, usual, high) in KINDS[kind].sizes.items():
        high = {"routers": 12, "arity": 3, "depth": 3, "first_site": nodes - 1}[name]
        if usual is None or draw(st.booleans()):
            sizes[name] = draw(st.integers(low, high))
    return kind, nodes, Sizes(**sizes)


def made(what: tuple[str, int, Sizes], more: int = 0) -> Plan:
    kind, nodes, sizes = what
    return build(kind, nodes + more, sizes, channel=CHANNEL if kind == "one_channel" else None)


def peer_on(plan: Plan, interface: str, address: str) -> str:
    """Who answers to that address on that interface's link, by the neighbour table alone."""
    node = next(end.node for end in plan.ends() if end.interface == interface)
    macs = {one.mac for one in plan.neighbours[node] if (one.interface, one.address) == (interface, address)}
    (mac,) = macs
    return next(end.node for end in plan.ends() if end.mac == mac)


def walk(plan: Plan, source: str, destination: str) -> list[str]:
    """The routers that a packet passes, by longest prefix match in every node's own table."""
    address = ipaddress.IPv6Address(destination)
    here = source
    passed: list[str] = []
    while True:
        matching = [one for one in plan.routes[here] if address in ipaddress.IPv6Network(one.prefix)]
        best = max(matching, key=lambda one: ipaddress.IPv6Network(one.prefix).prefixlen)
        here = peer_on(plan, best.interface, best.via or destination)
        if any(end.address == destination for end in plan.interfaces(here)):
            return passed
        assert here in plan.routers and here not in passed, (
            f"{here} after {passed} on the way {source} to {destination}"
        )
        passed.append(here)


def flood(plan: Plan, source: str) -> Counter[str]:
    """How often a multicast of that host comes to each switch, by the routers' own tables."""
    heard: Counter[str] = Counter()
    links = {end.interface: link for link in plan.links for end in (link.a, link.b)}
    queue = deque([(plan.end(f"{source}-eth0").interface, 0)])
    while queue:
        out, routers = queue.popleft()
        assert routers <= plan.max_hops, f"{source}'s multicast goes round in circles"
        link = links[out]
        far = link.b if link.a.interface == out else link.a
        if far.node in plan.switches:
            heard[far.node] += 1
            arrivals = [
                other.a for other in plan.links if other.b.node == far.node and other.a.node != plan.end(out).node
            ]
        else:
            arrivals = [far]
        for arrival in arrivals:
            if arrival.node not in plan.routers:
                continue
            for entry in plan.multicast[arrival.node]:
                if (entry.source, entry.incoming) == (plan.address(source), arrival.interface):
                    queue.extend((interface, routers + 1) for interface in entry.outgoing)
    return heard


@given(plans())
@settings(deadline=None, max_examples=60, derandomize=True)
def test_every_two_hosts_are_connected_without_loops(what: tuple[str, int, Sizes]) -> None:
    plan = made(what)
    for i, source in enumerate(plan.hosts, 1):
        for j, destination in enumerate(plan.hosts, 1):
            if plan.ipv6 and i != j:
                passed = walk(plan, source, plan.address(destination))
                assert plan.way(source, destination) == (source, *passed, destination)
                assert len(passed) == plan.hops(i, j) == plan.hops(j, i) <= plan.max_hops
            if i == j:
                assert plan.hops(i, j) == 0


@given(plans())
@settings(deadline=None, max_examples=60, derandomize=True)
def test_a_multicast_reaches_every_lan_once(what: tuple[str, int, Sizes]) -> None:
    plan = made(what)
    if plan.ipv6:
        for host in plan.hosts:
            assert flood(plan, host) == Counter(plan.switches)


@given(plans())
@settings(deadline=None, max_examples=60, derandomize=True)
def test_names_and_addresses_are_unique(what: tuple[str, int, Sizes]) -> None:
    plan = made(what)
    ends = list(plan.ends())
    for name in ("interface", "mac", "address", "link_local"):
        values = [getattr(end, name) for end in ends if getattr(end, name)]
        assert len(set(values)) == len(values)
    assert len({link.name for link in plan.links}) == len(plan.links)
    for end in ends:
        assert end.interface.startswith(f"{end.node}-eth") and len(end.interface) <= 15
        first = int(end.mac.split(":")[0], 16)
        assert first & 0b11 == 0b10, "locally administered, not multicast"
        for address in (end.address, end.link_local):
            assert not address or str(ipaddress.IPv6Address(address)) == address, "as the kernel writes it"
    for host in plan.hosts:
        assert len(plan.interfaces(host)) == 1
        port = plan.port_towards(host)
        assert port.node in plan.switches and not port.address
    for router in plan.routers:
        assert len(plan.interfaces(router)) <= 32


@given(plans())
@settings(deadline=None, max_examples=60, derandomize=True)
def test_one_more_host_leaves_the_others_alone(what: tuple[str, int, Sizes]) -> None:
    before, after = made(what), made(what, more=1)
    if what[0] == "two_sites" and what[2].first_site is None:
        assert after.lan_of(after.hosts[-1]).switch == ("s1" if len(after.hosts) % 2 else "s2")
    grown = {link.name: link for link in after.links}
    for link in before.links:
        assert grown[link.name] == link
    assert after.hosts[:-1] == before.hosts and after.routers == before.routers
    for host in before.hosts:
        assert after.lan_of(host).switch == before.lan_of(host).switch
        assert set(before.routes.get(host, ())) <= set(after.routes.get(host, ()))
        assert set(before.neighbours.get(host, ())) <= set(after.neighbours.get(host, ()))


def test_a_loop_is_seen() -> None:
    """The walk and the flood above do find fault: with one route and one entry turned back they fail."""
    plan = build("line", 4, Sizes(routers=4))
    back = tuple(
        dataclasses.replace(route, via=plan.end("r1-eth1").address, interface="r2-eth1")
        if route.prefix == plan.lans[3].prefix
        else route
        for route in plan.routes["r2"]
    )
    with pytest.raises(AssertionError, match="on the way n1 to"):
        walk(dataclasses.replace(plan, routes={**plan.routes, "r2": back}), "n1", plan.address("n4"))
    looping = tuple(dataclasses.replace(one, outgoing=(*one.outgoing, one.incoming)) for one in plan.multicast["r1"])
    with pytest.raises(AssertionError):
        assert flood(dataclasses.replace(plan, multicast={**plan.multicast, "r1": looping}), "n1") == Counter(
            plan.switches
        )


def test_a_ring_goes_the_short_way() -> None:
    plan = build("ring", 6, Sizes(routers=6))
    assert [plan.hops(1, j) for j in range(1, 7)] == [0, 2, 3, 4, 3, 2]
    assert walk(plan, "n1", plan.address("n6")) == ["r1", "r6"]


def test_two_sites() -> None:
    plan = build("two_sites", 5, Sizes(first_site=3))
    assert [lan.hosts for lan in plan.lans] == [("n1", "n2", "n3"), ("n4", "n5")]
    assert plan.link("r1-r2").a.address == "fd00:0:1:1::f001"
    assert [lan.hosts for lan in build("two_sites", 5).lans] == [("n1", "n3", "n5"), ("n2", "n4")]


def test_the_channel_slot() -> None:
    assert Channel(10_000_000).slot_ns(1250) == 1_000_000
    assert Channel(3).slot_ns(1) == 2_666_666_667, "rounded up: never shorter than the frame takes"


@pytest.mark.parametrize(
    ("kind", "nodes", "sizes", "channel", "reason"),
    [
        ("hub", 3, Sizes(), None, "no kind of network is called 'hub'"),
        ("lan", 0, Sizes(), None, "a lan has 1 to 1000 nodes, not 0"),
        ("two_sites", 1, Sizes(), None, "a two_sites has 2 to 1000 nodes, not 1"),
        ("star", 33, Sizes(), None, "at most 32 nodes"),
        ("star", 3, Sizes(routers=2), None, "a star has no routers"),
        ("ring", 3, Sizes(routers=2), None, "routers of a ring is 3 to 254, not 2"),
        ("tree", 3, Sizes(arity=31, depth=3), None, "more than 1000"),
        ("two_sites", 3, Sizes(first_site=3), None, "1 to 2"),
        ("one_channel", 3, Sizes(), None, "needs a channel"),
        ("lan", 3, Sizes(), CHANNEL, "only a one_channel has a channel"),
    ],
)
def test_what_cannot_be_is_refused(kind: str, nodes: int, sizes: Sizes, channel: Channel | None, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        build(kind, nodes, sizes, channel=channel)
    with pytest.raises(PlanError, match="rate above 0"):
        Channel(0)
    with pytest.raises(PlanError, match="delay below 0"):
        Channel(1, -1)
