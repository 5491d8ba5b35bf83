"""The kinds of network, each from its few sizes to a complete plan (KINDS, at the end, says which there are).

Hosts are dealt out to the LANs in turn: n1 to s1, n2 to s2, and so on, so that a new host changes nobody's place;
only two_sites can be told to take its first hosts to the first site. A LAN without hosts is not built.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from topologies.plan import GROUP, INTERFACE_NAME_MAX, PREFIX_LENGTH, Channel, End, Lan, Link, Plan, PlanError
from topologies.routing import Network, adjacency, lan_hops, multicast, neighbours, unicast

MAX_HOSTS = 1000  # a Linux bridge has at most 1,024 ports
MAX_ROUTER_INTERFACES = 32  # MAXMIFS: the interfaces that Linux can forward multicast between


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes of the kinds that have any; None takes the kind's own."""

    routers: int | None = None
    arity: int | None = None
    depth: int | None = None
    first_site: int | None = None


@dataclass(frozen=True, slots=True)
class _Shape:
    """What differs between kinds: how many LANs, which router each is at (0: none), which routers are joined."""

    lan_of: Callable[[int], int]
    router_of: Callable[[int], int]
    routers: int = 0
    cables: tuple[tuple[int, int], ...] = ()


def _one_lan(nodes: int, sizes: Mapping[str, int]) -> _Shape:
    return _Shape(lan_of=lambda host: 1, router_of=lambda lan: 0)


def _star(nodes: int, sizes: Mapping[str, int]) -> _Shape:
    if nodes > MAX_ROUTER_INTERFACES:
        raise PlanError(f"a star has at most {MAX_ROUTER_INTERFACES} nodes: Linux routes multicast between no more")
    return _Shape(lan_of=lambda host: host, router_of=lambda lan: 1, routers=1)


def _dealt(routers: int, cables: tuple[tuple[int, int], ...]) -> _Shape:
    return _Shape(lambda host: (host - 1) % routers + 1, lambda lan: lan, routers, cables)


def _line(nodes: int, sizes: Mapping[str, int]) -> _Shape:
    routers = sizes["routers"]
    return _dealt(routers, tuple((k, k + 1) for k in range(1, routers)))


def _ring(nodes: int, sizes: Mapping[str, int]) -> _Shape:
    routers = sizes["routers"]
    return _dealt(routers, (*((k, k + 1) for k in range(1, routers)), (1, routers)))


def _tree(nodes: int, sizes: Mapping[str, int]) -> _Shape:
    """Routers are numbered level by level from the root, r1; LAN k is at the k-th leaf."""
    arity, depth = sizes["arity"], sizes["depth"]
    routers = sum(arity**level for level in range(depth + 1))
    if routers > 1000:
        raise PlanError(f"arity {arity} and depth {depth} make {routers} routers, more than 1000")
    leaves = arity**depth
    cables = tuple(((child - 2) // arity + 1, child) for child in range(2, routers + 1))
    return _Shape(lambda host: (host - 1) % leaves + 1, lambda lan: routers - leaves + lan, routers, cables)


def _two_sites(nodes: int, sizes: Mapping[str, int]) -> _Shape:
    first = sizes.get("first_site")
    if first is None:
        return _dealt(2, ((1, 2),))
    if not 1 <= first < nodes:
        raise PlanError(f"first_site must leave somebody at the second site: 1 to {nodes - 1}")
    return _Shape(lambda host: 1 if host <= first else 2, lambda lan: lan, 2, ((1, 2),))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of network: the sizes it has, with smallest, usual and largest value (usual None: may be left out)."""

    name: str
    meaning: str
    shape: Callable[[int, Mapping[str, int]], _Shape]
    sizes: Mapping[str, tuple[int, int | None, int]]
    fewest_nodes: int = 1


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("one_channel", "every host on one shared medium: one order for all, the sender included", _one_lan, {}),
        Kind("lan", "every host on one switch", _one_lan, {}),
        Kind("star", "a LAN for each host, one router between them", _star, {}),
        Kind("line", "a chain of routers with a LAN each", _line, {"routers": (1, 3, 254)}),  # hop limits end at 255
        Kind("ring", "a ring of routers with a LAN each", _ring, {"routers": (3, 4, 254)}),
        Kind("tree", "a tree of routers, LANs at its leaves", _tree, {"arity": (1, 2, 31), "depth": (0, 2, 8)}),
        Kind("mesh", 'a lan on which impairments may differ from pair to pair, "n1>n2"', _one_lan, {}),
        Kind(
            "two_sites",
            'two LANs, a router each, one long cable between the routers, "r1-r2"',
            _two_sites,
            {"first_site": (1, None, MAX_HOSTS)},
            2,
        ),
    )
}


def build(
    kind: str, nodes: int, sizes: Sizes | None = None, *, channel: Channel | None = None, snooping: bool = False
) -> Plan:
    """The network of that kind and size, complete; PlanError says why there is none."""
    if kind not in KINDS:
        raise PlanError(f"no kind of network is called {kind!r}: there are {', '.join(KINDS)}")
    known = KINDS[kind]
    if not known.fewest_nodes <= nodes <= MAX_HOSTS:
        raise PlanError(f"a {kind} has {known.fewest_nodes} to {MAX_HOSTS} nodes, not {nodes}")
    if kind == "one_channel" and channel is None:
        raise PlanError("a one_channel needs a channel with a rate")
    if kind != "one_channel" and channel is not None:
        raise PlanError(f"only a one_channel has a channel, a {kind} has not")
    return _plan(kind, nodes, known.shape(nodes, _checked(known, sizes or Sizes())), channel, snooping)


def _checked(kind: Kind, sizes: Sizes) -> dict[str, int]:
    chosen = {}
    for field in fields(sizes):
        value = getattr(sizes, field.name)
        if field.name not in kind.sizes:
            if value is not None:
                raise PlanError(f"a {kind.name} has no {field.name}")
            continue
        low, usual, high = kind.sizes[field.name]
        value = usual if value is None else value
        if value is not None:
            if not low <= value <= high:
                raise PlanError(f"{field.name} of a {kind.name} is {low} to {high}, not {value}")
            chosen[field.name] = value
    return chosen


def _mac(letter: str, first: int, second: int) -> str:
    """Locally administered: 02, the letter of the node's kind, two numbers."""
    octets = bytes((2, ord(letter))) + first.to_bytes(2, "big") + second.to_bytes(2, "big")
    return ":".join(f"{octet:02x}" for octet in octets)


def _prefix(area: int, network: int) -> str:
    base = (0xFD00 << 112) | (area << 80) | (network << 64)
    return f"{ipaddress.IPv6Address(base)}/{PREFIX_LENGTH}"


def _in(prefix: str, low: int) -> str:
    return str(ipaddress.IPv6Network(prefix).network_address + low)


_LINK_LOCAL = "fe80::/64"
_ROUTER = 0xF000  # routers are ::f001, ::f002 ... in every network, above all hosts


def _host_end(host: int, prefix: str) -> End:
    addresses = (_in(prefix, host), _in(_LINK_LOCAL, host)) if prefix else ("", "")
    return End(f"n{host}", f"n{host}-eth0", _mac("n", 0, host), *addresses)


def _router_end(router: int, port: int, prefix: str) -> End:
    name = f"r{router}-eth{port}"
    link_local = _in(_LINK_LOCAL, (_ROUTER | router) << 16 | port)
    return End(f"r{router}", name, _mac("r", router, port), _in(prefix, _ROUTER | router), link_local)


def _switch_end(switch: int, port: int) -> End:
    return End(f"s{switch}", f"s{switch}-eth{port}", _mac("s", switch, port))


def _join(a: End, b: End) -> Link:
    return Link(f"{a.node}-{b.node}", a, b)


def _plan(kind: str, nodes: int, shape: _Shape, channel: Channel | None, snooping: bool) -> Plan:
    members: dict[int, list[int]] = {}
    for host in range(1, nodes + 1):
        members.setdefault(shape.lan_of(host), []).append(host)
    links, lans, networks = [], [], []
    used: dict[int, int] = {}  # LANs of each router so far: its first interfaces
    for number, inside in sorted(members.items()):
        prefix = _prefix(0, number) if channel is None else ""
        ends = [_host_end(host, prefix) for host in inside]
        links += [_join(end, _switch_end(number, host)) for end, host in zip(ends, inside, strict=True)]
        router = shape.router_of(number)
        if router:
            ends.append(_router_end(router, used.get(router, 0), prefix))
            used[router] = used.get(router, 0) + 1
            links.append(_join(ends[-1], _switch_end(number, 0)))
        hosts = tuple(f"n{host}" for host in inside)
        lans.append(Lan(f"s{number}", prefix, hosts, f"r{router}" if router else None))
        if prefix:
            networks.append(Network(prefix, tuple(ends)))
    ports: dict[int, int] = {}  # cables of each router so far; its first cable is at eth1
    for number, cable in enumerate(shape.cables, 1):
        prefix = _prefix(1, number)
        a, b = (_router_end(router, ports.get(router, 0) + 1, prefix) for router in cable)
        for router in cable:
            ports[router] = ports.get(router, 0) + 1
        links.append(_join(a, b))
        networks.append(Network(prefix, (a, b)))
    hosts = tuple(f"n{host}" for host in range(1, nodes + 1))
    routers = tuple(f"r{router}" for router in range(1, shape.routers + 1))
    joined = adjacency(routers, networks)
    assert all(len(end.interface) <= INTERFACE_NAME_MAX for link in links for end in (link.a, link.b))
    return Plan(
        kind=kind,
        hosts=hosts,
        routers=routers,
        switches=tuple(lan.switch for lan in lans),
        links=tuple(links),
        lans=tuple(lans),
        channel=channel,
        snooping=snooping,
        pairs=kind == "mesh",
        routes=unicast(hosts, joined, networks) if channel is None else {},
        neighbours=neighbours((*hosts, *routers), networks) if channel is None else {},
        multicast=multicast(GROUP, lans, joined, networks),
        lan_hops=lan_hops(lans, joined),
    )
