"""What can be done to the network while it runs: impairments, partitions, links, chosen PDUs.

Filters on the egress of a switch port, in this order:

    1  partition    frames of a source that must not get through are dropped
    2  pairs        frames of a source with a delay of its own go through a device with that netem
    3  passed       frames that the injector has put back pass
    9  injector     all others go to it, if the port has faults of chosen PDUs
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.agent.branch import RevisionError
from topologies.impaired import Impaired
from topologies.impairments import Impairment, Seeded
from topologies.mininet_network import CHANNEL, Network
from topologies.netlink import (
    Key,
    add_source_filter,
    address_keys,
    mac_keys,
    read_netem,
    remove_netem,
    reseed_netem,
    set_netem,
)
from topologies.placement import Placement
from topologies.seeds import seed_for

EGRESS = 0xFFFFFFF3  # of a clsact qdisc
MARK = 1  # of frames that the injector has put back
_PARTITION, _PAIRS, _PASSED, _INJECTOR = 1, 2, 3, 9
_DROP = {"kind": "gact", "action": "drop"}
_OK = {"kind": "gact", "action": "ok"}


def _redirect_to(index: int) -> dict[str, Any]:
    return {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": index}


class Traffic:
    """The live controls of a network. Everything set is read back from the kernel."""

    def __init__(self, network: Network, run_seed: int) -> None:
        self._network = network
        self._seed = run_seed
        self._changes = 0
        self._at: dict[str, Placement] = {}
        self._set: dict[str, Impairment | None] = {}
        self.impaired = Impaired(network.plan, self._put)
        self._severed: set[tuple[str, str]] = set()
        self._pair_ports: dict[str, str] = {}  # placement name -> device
        self._injected: set[str] = set()  # ports
        if network.plan.channel is not None:
            channel = network.plan.channel
            queue = Impairment(delay_ns=channel.delay_ns, rate_bps=channel.rate_bps, limit_packets=100_000)
            set_netem(network.netlink, network.index[CHANNEL], Seeded(queue.settings(), seed_for(run_seed, CHANNEL)))

    # impairments

    def _put(self, place: Placement, impairment: Impairment | None) -> None:
        self._at[place.name] = place
        self._changes += 1
        netlink, index = self._interface(place)
        if impairment is None:
            if self._set.get(place.name) is not None:
                remove_netem(netlink, index)
        else:
            # A change in the middle of a run starts another series of draws, named by the place and its turn.
            turn = () if place.name not in self._set else (str(self._changes),)
            set_netem(netlink, index, Seeded(impairment.settings(), seed_for(self._seed, "netem", place.name, *turn)))
        self._set[place.name] = impairment

    def _interface(self, place: Placement) -> tuple[Any, int]:
        if place.source_mac is not None:
            return self._network.netlink, self._pair_device(place)
        if place.node in self._network.plan.switches:
            return self._network.netlink, self._network.index[place.interface]
        return self._network.netlink_of(place.node), self._network.interfaces(place.node)[place.interface]

    def _pair_device(self, place: Placement) -> int:
        """The device through which frames of one source go on their way out of a port."""
        netlink = self._network.netlink
        if place.name not in self._pair_ports:
            device = f"p{len(self._pair_ports) + 1}"
            self._pair_ports[place.name] = device
            netlink.link("add", kind="ifb", ifname=device, state="up")
            (index,) = netlink.link_lookup(ifname=device)
            self._network.index[device] = index
            assert place.source_mac is not None
            add_source_filter(
                netlink,
                self._network.index[place.interface],
                EGRESS,
                _PAIRS,
                mac_keys(place.source_mac),
                _redirect_to(index),
                MARK if place.interface in self._injected else 0,
            )
        return self._network.index[self._pair_ports[place.name]]

    def reseed(self, run_seed: int) -> None:
        """From now on all that is drawn follows from another seed."""
        self._seed = run_seed
        for name, impairment in self._set.items():
            if impairment is not None:
                seeded = Seeded(impairment.settings(), seed_for(run_seed, "netem", name))
                reseed_netem(*self._interface(self._at[name]), seeded)

    def settings(self) -> dict[str, Seeded]:
        """Every netem of the network, as the kernel has it now."""
        found = {}
        for name, place in sorted(self._at.items()):
            seeded = read_netem(*self._interface(place))
            if seeded is not None:
                found[name] = seeded
        if self._network.plan.channel is not None:
            seeded = read_netem(self._network.netlink, self._network.index[CHANNEL])
            assert seeded is not None
            found[CHANNEL] = seeded
        return found

    # partitions

    def partition(self, severed: Iterable[tuple[str, str]]) -> None:
        """From now on nothing gets through from the first to the second of each pair; all else does."""
        wanted = set(severed)
        plan, netlink = self._network.plan, self._network.netlink
        for receiver in sorted({b for _, b in self._severed}):
            port = self._network.index[plan.port_towards(receiver).interface]
            netlink.tc("del-filter", index=port, parent=EGRESS, prio=_PARTITION, info=_PARTITION << 16)
        for sender, receiver in sorted(wanted):
            port = self._network.index[plan.port_towards(receiver).interface]
            keys = self._sender_keys(sender, receiver)
            add_source_filter(netlink, port, EGRESS, _PARTITION, keys, _DROP)
        self._severed = wanted

    def _sender_keys(self, sender: str, receiver: str) -> list[Key]:
        """What tells the frames of a sender at the port of a receiver: behind routers, its IPv6 address."""
        plan = self._network.plan
        if plan.lan_of(sender) == plan.lan_of(receiver):
            return mac_keys(plan.interfaces(sender)[0].mac)
        return address_keys(plan.address(sender))

    # links

    def link(self, name: str, up: bool) -> None:
        """A cable is pulled, or plugged in: nothing passes, and both ends see no carrier.

        The end taken down is a switch's where there is one: a host or router would forget its addresses."""
        link = self._network.plan.link(name)
        ends = [end for end in (link.a, link.b) if end.node in self._network.plan.switches]
        if ends:
            index = self._network.index[ends[0].interface]
            self._network.netlink.link("set", index=index, state="up" if up else "down")
            return
        for end in (link.a, link.b):
            netlink, index = self._network.netlink_of(end.node), self._network.interfaces(end.node)[end.interface]
            if up:
                netlink.tc("del", "clsact", index)
            else:
                netlink.tc("add", "clsact", index)
                netlink.tc("add-filter", "matchall", index, parent=EGRESS, prio=_PARTITION, action=_DROP)

    # chosen PDUs

    def inject(self, ports: Iterable[str]) -> dict[str, str]:
        """Send all frames that leave these ports through a device each; where this is not yet so, its name. (Where
        single pairs are impaired it must be done before that.)"""
        devices = {}
        netlink = self._network.netlink
        for port in sorted({*ports} - self._injected):
            if self._pair_ports:
                raise RevisionError(f"where single pairs are impaired, no PDU can be chosen on {port} any more")
            device = f"i-{port}"
            netlink.link("add", kind="dummy", ifname=device, state="up")
            (index,) = netlink.link_lookup(ifname=device)
            self._network.index[device] = index
            at = {"index": self._network.index[port], "parent": EGRESS}
            netlink.tc("add-filter", "fw", handle=MARK, prio=_PASSED, action=_OK, **at)
            netlink.tc("add-filter", "matchall", prio=_INJECTOR, action=_redirect_to(index), **at)
            self._injected.add(port)
            devices[port] = device
        return devices
