"""A Plan, built with Mininet. The only file that imports mininet.

Mininet keeps its roles (Topo, Mininet, hosts, LinuxBridge, links); what costs half a second a node there, a shell
in a pseudo-terminal that is sent `ifconfig` commands, is done over netlink here: a node is a network namespace
held open by a file descriptor, a link is one netlink request that makes both ends where they belong.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import itertools
import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link
from mininet.net import VERSION, Mininet
from mininet.node import Node
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo

from topologies.multicast import Forwarding
from topologies.netlink import IPRoute, set_neighbours
from topologies.plan import PREFIX_LENGTH, Plan

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
MININET_VERSION: str = VERSION
_LOOK_AGAIN_S = 0.1
INGRESS = 0xFFFFFFF2  # of an interface with clsact, where filters see what comes in
CHANNEL = "channel"  # the interface (an ifb) that is the one queue of a one_channel
_COUNTED = {"rx_packets": 1, "tx_packets": 9, "rx_dropped": 3, "tx_dropped": 11}  # columns of /proc/net/dev
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17


def enter_namespace(descriptor: int) -> None:
    """Move this thread into a network namespace."""
    if _libc.setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _new_namespace() -> int:
    here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        enter_namespace(here)
        os.close(here)


class NamespaceNode(Node):  # type: ignore[misc]
    """A Mininet node without a shell: a network namespace and what is in it."""

    def startShell(self, mnopts: Any = None) -> None:
        self.namespace = self.open_namespace()
        self.execed = False
        self.pid = os.getpid()
        self.lastPid = self.lastCmd = None
        self.waiting = False

    def open_namespace(self) -> int:
        return _new_namespace()

    def cmd(self, *args: Any, **kwargs: Any) -> str:
        """Run a command in the node, for people and extensions; building does without."""
        words = [str(word) for word in args] if len(args) > 1 else ["/bin/sh", "-c", str(args[0])]
        with self.entered():
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Inside this block, this thread is in the node's namespace."""
        here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        enter_namespace(self.namespace)
        try:
            yield
        finally:
            enter_namespace(here)
            os.close(here)

    def config(self, **params: Any) -> dict[str, Any]:
        return {}

    def terminate(self) -> None:
        if self.namespace >= 0:
            os.close(self.namespace)
        self.namespace = -1

    def cleanup(self) -> None:
        """Nothing is left when the namespace is closed."""


class Bridge(NamespaceNode, LinuxBridge):  # type: ignore[misc]
    """Mininet's LinuxBridge, over netlink. Its ports are in the namespace of the builder."""

    @classmethod
    def setup(cls) -> None:
        """brctl is not needed."""

    def open_namespace(self) -> int:
        return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def start(self, controllers: Any) -> None:
        """Done by Network, which knows about channels and snooping."""

    def stop(self, deleteIntfs: bool = True) -> None:
        self.terminate()


class Port(Intf):  # type: ignore[misc]
    """An interface that Network configures and the end of its namespace removes."""

    def config(self, **params: Any) -> dict[str, Any]:
        return {}

    def delete(self) -> None:
        self.node.delIntf(self)
        self.link = None


class Cable(Link):  # type: ignore[misc]
    """A veth pair, each end made where it belongs."""

    netlink: IPRoute  # of the builder's namespace; set by Network
    numbers: Iterator[int]  # of the ports there

    @classmethod
    def makeIntfPair(
        cls,
        intfname1: str,
        intfname2: str,
        addr1: Any = None,
        addr2: Any = None,
        node1: Any = None,
        node2: Any = None,
        deleteIntfs: bool = True,
    ) -> None:
        ends = [
            {"ifname": intfname1, "address": addr1, "net_ns_fd": node1.namespace},
            {"ifname": intfname2, "address": addr2, "net_ns_fd": node2.namespace},
        ]
        if isinstance(node2, Bridge):
            ends.reverse()
        # A port gets a number that no interface of a node has: where both ends of a pair have the same, Linux takes
        # it for an ordinary device, and lets it transmit up to a second after its cable was plugged in.
        number = {"index": next(cls.numbers)} if isinstance(node1, Bridge) or isinstance(node2, Bridge) else {}
        cls.netlink.link("add", kind="veth", **number, **ends[0], peer=ends[1])


class PlannedMininet(Mininet):  # type: ignore[misc]
    """Mininet without its start-up changes to system-wide limits: a run must leave the machine as it was."""

    inited = True


class _Topology(Topo):  # type: ignore[misc]
    def build(self, plan: Plan) -> None:
        for name in (*plan.hosts, *plan.routers):
            self.addHost(name)
        for name in plan.switches:
            self.addSwitch(name, inNamespace=True)  # no control interface
        for link in plan.links:
            self.addLink(
                link.a.node,
                link.b.node,
                intfName1=link.a.interface,
                intfName2=link.b.interface,
                addr1=link.a.mac,
                addr2=link.b.mac,
            )


def _fill_in_checksums(interface: str) -> None:
    """Have the kernel compute checksums before a packet leaves; a virtual device would leave them to nobody, and what
    is captured, or put back by the injector, would carry half of one. (In the namespace of this thread.)"""
    value = struct.pack("@II", _ETHTOOL_STXCSUM, 0)
    room = ctypes.create_string_buffer(value, len(value))
    request = struct.pack("@16sP8x", interface.encode(), ctypes.addressof(room))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, request)


def _write(path: str, value: str) -> None:
    Path(path).write_text(value)


def enable_ipv6(interface: str) -> None:
    """With the addresses that it is given, and without a word by itself."""
    _quieten(interface)
    _write(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6", "0")


def _quieten(interface: str) -> None:
    for key, value in {
        "accept_dad": "0",
        "dad_transmits": "0",
        "accept_ra": "0",
        "router_solicitations": "0",
        "addr_gen_mode": "1",
    }.items():
        _write(f"/proc/sys/net/ipv6/conf/{interface}/{key}", value)


class Network:
    """The built network. Make one per process: its namespace becomes the root of everything."""

    def __init__(self, plan: Plan, progress: Callable[[str], None] = lambda name: None) -> None:
        self.plan = plan
        self.netlink = IPRoute()
        Cable.netlink, Cable.numbers = self.netlink, itertools.count(1000)
        self._netlinks: dict[str, IPRoute] = {}
        # Interfaces are made silent: no address of their own making, no solicitations, no duplicate detection.
        self._silence(ipv6=False)
        self.mininet = PlannedMininet(
            topo=None, host=NamespaceNode, switch=Bridge, link=Cable, intf=Port, controller=None, build=False
        )
        topology = _Topology(plan=plan)
        self.mininet.topo = topology
        self.mininet.build()
        self.index: dict[str, int] = {}  # of ports in the builder's namespace
        self._start_switches()
        for node in (*plan.hosts, *plan.routers):
            progress(node)
            self._start_node(node)
        self.mininet.start()
        self._await_links()
        self.multicast = {router: self._forward_multicast(router) for router in plan.routers}

    def node(self, name: str) -> NamespaceNode:
        """The Mininet node of that name."""
        node = self.mininet.nameToNode[name]
        assert isinstance(node, NamespaceNode)
        return node

    def netlink_of(self, name: str) -> IPRoute:
        """A netlink socket inside a node (switch ports are in the builder's own namespace)."""
        if name in self.plan.switches:
            return self.netlink
        if name not in self._netlinks:
            with self.node(name).entered():
                self._netlinks[name] = IPRoute()
        return self._netlinks[name]

    def interfaces(self, name: str) -> dict[str, int]:
        """Interface names and indices inside a node, as the kernel says."""
        with self.node(name).entered():
            return {interface: index for index, interface in socket.if_nameindex()}

    def counters(self, name: str) -> Mapping[str, Mapping[str, int]]:
        """What the kernel counted on every interface of a node."""
        with self.node(name).entered():
            return interface_counters()

    def stop(self) -> None:
        """Take everything down. Processes inside must be gone."""
        for netlink in self._netlinks.values():
            netlink.close()
        for forwarding in self.multicast.values():
            forwarding.control.close()
        self.mininet.stop()
        for name in (*self.plan.switches, *([CHANNEL] if self.plan.channel else [])):
            self.netlink.link("del", index=self.index[name])
        self.netlink.close()

    def _silence(self, ipv6: bool, forwarding: bool = False) -> None:
        if not ipv6:
            _write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")
            return
        _quieten("default")
        if forwarding:
            _write("/proc/sys/net/ipv6/conf/all/forwarding", "1")

    def _start_switches(self) -> None:
        self.index = self.interfaces(self.plan.switches[0]) if self.plan.switches else {}
        for switch in self.plan.switches:
            self.netlink.link(
                "add",
                kind="bridge",
                ifname=switch,
                br_stp_state=0,
                br_mcast_snooping=int(self.plan.snooping),
                br_mcast_querier=int(self.plan.snooping),
            )
            self.index[switch] = self.netlink.link_lookup(ifname=switch)[0]
            for end in self.plan.interfaces(switch):
                self.netlink.link("set", index=self.index[end.interface], master=self.index[switch], state="up")
            self.netlink.link("set", index=self.index[switch], state="up")
        for link in self.plan.links:
            for end in (link.a, link.b):
                if end.node in self.plan.switches:
                    self.netlink.tc("add", "clsact", self.index[end.interface])
        if self.plan.channel is not None:
            self._start_channel()

    def _start_channel(self) -> None:
        """The single channel: whatever a host sends passes one queue and comes back to every port, its own included."""
        self.netlink.link("add", kind="ifb", ifname=CHANNEL)
        self.index[CHANNEL] = channel = self.netlink.link_lookup(ifname=CHANNEL)[0]
        self.netlink.link("set", index=channel, state="up")
        for switch in self.plan.switches:
            for end in self.plan.interfaces(switch):
                port = self.index[end.interface]
                # Hairpin: also to the port it came from. No learning: every frame is flooded, whoever it is for.
                self.netlink.brport(
                    "set", index=port, mode=1, learning=0, unicast_flood=1, mcast_flood=1, bcast_flood=1
                )
                self.netlink.tc(
                    "add-filter",
                    "matchall",
                    port,
                    parent=INGRESS,
                    prio=1,
                    action={"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": channel},
                )

    def _start_node(self, name: str) -> None:
        node = self.node(name)
        with node.entered():
            self._silence(self.plan.ipv6, forwarding=name in self.plan.routers)
            for end in self.plan.interfaces(name):
                _fill_in_checksums(end.interface)
                if self.plan.ipv6:
                    enable_ipv6(end.interface)
                else:
                    _write(f"/proc/sys/net/ipv6/conf/{end.interface}/disable_ipv6", "1")
        netlink = self.netlink_of(name)
        index = self.interfaces(name)
        netlink.link("set", index=index["lo"], state="up")
        for end in self.plan.interfaces(name):
            netlink.link("set", index=index[end.interface], state="up")
            for address in (end.link_local, end.address):
                if address:
                    netlink.addr(
                        "add", index=index[end.interface], address=address, prefixlen=PREFIX_LENGTH, flags=0x02
                    )
        neighbours = [(index[one.interface], one.address, one.mac) for one in self.plan.neighbours.get(name, ())]
        with node.entered():
            set_neighbours(neighbours)
        for route in self.plan.routes.get(name, ()):
            if route.via is not None:
                netlink.route("add", dst=route.prefix, gateway=route.via, oif=index[route.interface])

    def _await_links(self) -> None:
        """Wait until every interface sends. The kernel takes new ones into use a hundred at a time, a second apart, and
        drops without a word what one of the others is to send."""
        for name in (*self.plan.switches, *self.plan.hosts, *self.plan.routers):
            netlink = self.netlink_of(name)
            index = self.index if name in self.plan.switches else self.interfaces(name)
            for end in self.plan.interfaces(name):
                while netlink.get_links(index[end.interface])[0].get_attr("IFLA_OPERSTATE") != "UP":
                    time.sleep(_LOOK_AGAIN_S)

    def _forward_multicast(self, router: str) -> Forwarding:
        """Real multicast forwarding: the kernel's own, told by (S,G) entries."""
        forwarding = self.forwarding(router, Forwarding)
        for entry in self.plan.multicast[router]:
            forwarding.add(entry)
        return forwarding

    def forwarding(self, router: str, family: type[Forwarding]) -> Forwarding:
        """Let a router forward multicasts of a family."""
        index = self.interfaces(router)
        with self.node(router).entered():
            return family({end.interface: index[end.interface] for end in self.plan.interfaces(router)})


def interface_counters() -> Mapping[str, Mapping[str, int]]:
    """What the kernel counted on every interface of this thread's namespace."""
    counters = {}
    for line in Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]:
        interface, _, numbers = line.partition(":")
        counted = [int(number) for number in numbers.split()]
        counters[interface.strip()] = {name: counted[column] for name, column in _COUNTED.items()}
    return counters
