"""Who forwards what to whom: unicast routes, permanent neighbours and multicast trees of a routed network.

All of it follows shortest paths (in routers passed) from one breadth-first search per router, ties going to the
router with the lowest number. Each hop of such a path is one nearer to its end, so there are no loops; and each
source's multicast follows one tree, so every LAN gets each packet once, also in a ring.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from topologies.plan import End, Forward, Lan, Neighbour, Route

DEFAULT = "::/0"

Tree = Mapping[str, str | None]  # router -> its neighbour on the way to the root, nearest routers first


@dataclass(frozen=True, slots=True)
class Network:
    """One prefix and the interfaces of hosts and routers that have an address in it: a LAN, or a cable."""

    prefix: str
    ends: tuple[End, ...]


# Router -> neighbouring router -> (own interface, the neighbour's interface).
Adjacency = Mapping[str, Mapping[str, tuple[End, End]]]


def number(name: str) -> int:
    """The number in a node's name."""
    return int(name[1:])


def adjacency(routers: Sequence[str], networks: Iterable[Network]) -> Adjacency:
    """Which routers are joined by a cable."""
    joined: dict[str, dict[str, tuple[End, End]]] = {router: {} for router in routers}
    for network in networks:
        here = [end for end in network.ends if end.node in joined]
        for a in here:
            for b in here:
                if a is not b:
                    joined[a.node][b.node] = (a, b)
    return joined


def tree_to(root: str, joined: Adjacency) -> Tree:
    """The shortest-path tree of one router."""
    parents: dict[str, str | None] = {root: None}
    queue = deque([root])
    while queue:
        here = queue.popleft()
        for there in sorted(joined[here], key=number):
            if there not in parents:
                parents[there] = here
                queue.append(there)
    return parents


def depth(tree: Tree, router: str) -> int:
    """How many cables a router is away from the root of a tree."""
    cables = 0
    up = tree[router]
    while up is not None:
        cables += 1
        up = tree[up]
    return cables


def lan_hops(lans: Sequence[Lan], joined: Adjacency) -> dict[tuple[str, str], int]:
    """The number of routers between every two LANs."""
    trees = {router: tree_to(router, joined) for router in joined}
    hops = {}
    for a in lans:
        for b in lans:
            if a is b:
                hops[a.switch, b.switch] = 0
            elif a.router is not None and b.router is not None:
                hops[a.switch, b.switch] = 1 + depth(trees[a.router], b.router)
    return hops


def unicast(hosts: Sequence[str], joined: Adjacency, networks: Sequence[Network]) -> dict[str, tuple[Route, ...]]:
    """Everybody's routes. Hosts send what is not for their LAN to its router; routers know every prefix there is."""
    routes: dict[str, list[Route]] = {node: [] for node in (*hosts, *joined)}
    for network in networks:
        on_it = {end.node: end for end in network.ends if end.node in joined}
        for end in network.ends:
            routes[end.node].append(Route(network.prefix, None, end.interface))
            if end.node not in joined:
                routes[end.node].extend(Route(DEFAULT, gateway.address, end.interface) for gateway in on_it.values())
        trees = {router: tree_to(router, joined) for router in on_it}
        for router in joined:
            if trees and router not in on_it:
                _, _, nearest = min((depth(tree, router), number(one), one) for one, tree in trees.items())
                towards = trees[nearest][router]
                assert towards is not None
                own, next_hop = joined[router][towards]
                routes[router].append(Route(network.prefix, next_hop.address, own.interface))
    return {node: tuple(known) for node, known in routes.items()}


def neighbours(nodes: Sequence[str], networks: Iterable[Network]) -> dict[str, tuple[Neighbour, ...]]:
    """Everybody's neighbours: all that are in the same network."""
    known: dict[str, list[Neighbour]] = {node: [] for node in nodes}
    for network in networks:
        for own in network.ends:
            known[own.node].extend(
                Neighbour(own.interface, other.address, other.mac) for other in network.ends if other is not own
            )
    return {node: tuple(entries) for node, entries in known.items()}


def multicast(
    group: str, lans: Sequence[Lan], joined: Adjacency, networks: Sequence[Network]
) -> dict[str, tuple[Forward, ...]]:
    """Every router's (S,G) entries: for each host as source, along the tree of the source's router, to every LAN that
    has hosts. A router without anybody behind it gets an entry for its own hosts only, which drops: without one the
    kernel would queue the packets and ask."""
    interface = {(end.node, network.prefix): end for network in networks for end in network.ends}
    entries: dict[str, list[Forward]] = {router: [] for router in joined}
    for home in lans:
        if home.router is None:
            continue
        tree = tree_to(home.router, joined)
        wanted = {router: _wanted(router, home, tree, lans) for router in tree}
        for router, up in tree.items():
            outgoing = [
                interface[router, lan.prefix].interface for lan in lans if lan.router == router and lan is not home
            ]
            outgoing += [
                joined[router][child][0].interface
                for child in sorted(joined[router], key=number)
                if tree[child] == router and wanted[child]
            ]
            if up is not None and not outgoing:
                continue
            incoming = interface[router, home.prefix] if up is None else joined[router][up][0]
            for host in home.hosts:
                source = interface[host, home.prefix].address
                entries[router].append(Forward(source, group, incoming.interface, tuple(outgoing)))
    return {router: tuple(sorted(known, key=lambda one: one.source)) for router, known in entries.items()}


def _wanted(router: str, home: Lan, tree: Tree, lans: Sequence[Lan]) -> bool:
    """Is there a LAN other than the source's at this router or behind it?"""
    for lan in lans:
        here = lan.router
        while here is not None and lan is not home:
            if here == router:
                return True
            here = tree[here]
    return False
