"""pyroute2, taught what its netem and its u32 filter do not know yet. The only file that imports pyroute2.

pyroute2 0.9 has no seed, no delay table, no Gilbert-Elliott loss and no 64-bit times for netem, and it rounds
delays to scheduler ticks. Here the whole option block is written in the kernel's own units, and read back. Its u32
filter cannot look before the network header, where the MAC addresses are.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import socket
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink import nla
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.rtnl.tcmsg import cls_u32, sched_netem
from pyroute2.netlink.rtnl.tcmsg.common_act import get_tca_action, tca_act_prio

from topologies.impairments import NetemSettings, Seeded

__all__ = [
    "IPRoute",
    "NetlinkError",
    "add_source_filter",
    "address_keys",
    "mac_keys",
    "read_netem",
    "remove_netem",
    "set_neighbours",
    "set_netem",
]

_U32_MAX = 2**32 - 1
_ROOT = 0xFFFFFFFF


class _LossModel(nla):  # type: ignore[misc]
    nla_map = (("NETEM_LOSS_UNSPEC", "none"), ("NETEM_LOSS_GI", "none"), ("NETEM_LOSS_GE", "cdata"))


class _Options(nla):  # type: ignore[misc]
    """struct tc_netem_qopt and its attributes, as in linux/pkt_sched.h."""

    fields = (("latency", "I"), ("limit", "I"), ("loss", "I"), ("gap", "I"), ("duplicate", "I"), ("jitter", "I"))
    nla_map = (
        ("TCA_NETEM_UNSPEC", "none"),
        ("TCA_NETEM_CORR", "cdata"),
        ("TCA_NETEM_DELAY_DIST", "cdata"),
        ("TCA_NETEM_REORDER", "cdata"),
        ("TCA_NETEM_CORRUPT", "cdata"),
        ("TCA_NETEM_LOSS", "loss_model"),
        ("TCA_NETEM_RATE", "cdata"),
        ("TCA_NETEM_ECN", "uint32"),
        ("TCA_NETEM_RATE64", "uint64"),
        ("TCA_NETEM_PAD", "none"),
        ("TCA_NETEM_LATENCY64", "int64"),
        ("TCA_NETEM_JITTER64", "int64"),
        ("TCA_NETEM_SLOT", "none"),
        ("TCA_NETEM_SLOT_DIST", "none"),
        ("TCA_NETEM_PRNG_SEED", "uint64"),
    )
    loss_model = _LossModel


def _parameters(kwarg: dict[str, Any]) -> dict[str, Any]:
    settings: NetemSettings = kwarg["netem"].settings
    attributes: list[tuple[str, Any]] = [
        ("TCA_NETEM_LATENCY64", settings.latency_ns),
        ("TCA_NETEM_JITTER64", settings.jitter_ns),
        ("TCA_NETEM_PRNG_SEED", kwarg["netem"].seed),
    ]
    if settings.table:
        attributes.append(("TCA_NETEM_DELAY_DIST", struct.pack(f"@{len(settings.table)}h", *settings.table)))
    if settings.gemodel is not None:
        model = {"attrs": [("NETEM_LOSS_GE", struct.pack("@4I", *settings.gemodel))]}
        attributes.append(("TCA_NETEM_LOSS", model))
    if settings.reorder:
        attributes.append(("TCA_NETEM_REORDER", struct.pack("@2I", settings.reorder, 0)))
    if settings.corrupt:
        attributes.append(("TCA_NETEM_CORRUPT", struct.pack("@2I", settings.corrupt, 0)))
    if settings.rate_bytes_per_s:
        rate = settings.rate_bytes_per_s
        attributes.append(("TCA_NETEM_RATE", struct.pack("@IiIi", min(rate, _U32_MAX), 0, 0, 0)))
        if rate >= _U32_MAX:
            attributes.append(("TCA_NETEM_RATE64", rate))
    return {
        "latency": 0,
        "limit": settings.limit,
        "loss": settings.loss,
        "gap": settings.gap,
        "duplicate": settings.duplicate,
        "jitter": 0,
        "attrs": attributes,
    }


sched_netem.options = _Options
sched_netem.get_parameters = _parameters


def set_netem(netlink: IPRoute, interface: int, wanted: Seeded) -> None:
    """Give an interface a netem root qdisc with exactly these settings, and see in the kernel that it has them.

    A kernel before 6.6 passes over the seed: its netem draws as it likes, which is good enough for real time.
    """
    if read_netem(netlink, interface) is not None:
        remove_netem(netlink, interface)  # a change would keep what is left out
    netlink.tc("add", "netem", interface, root=True, handle=0x10000, netem=wanted)
    found = read_netem(netlink, interface)
    # The kernel does not give the table of a distribution back.
    seed = None if found is not None and found.seed is None else wanted.seed
    expected = Seeded(dataclasses.replace(wanted.settings, table=()), seed)
    if found != expected:
        raise RuntimeError(f"netem on interface {interface} did not take effect: asked {expected}, got {found}")


def reseed_netem(netlink: IPRoute, interface: int, wanted: Seeded) -> None:
    """From now on its draws are those of another seed; what waits in it goes on waiting."""
    netlink.tc("change", "netem", interface, root=True, handle=0x10000, netem=wanted)
    found = read_netem(netlink, interface)
    if found != Seeded(dataclasses.replace(wanted.settings, table=()), wanted.seed):
        raise RuntimeError(f"netem on interface {interface} did not take its seed: asked {wanted}, got {found}")


def remove_netem(netlink: IPRoute, interface: int) -> None:
    """Take an interface's root qdisc away."""
    netlink.tc("del", index=interface, root=True)


def read_netem(netlink: IPRoute, interface: int) -> Seeded | None:
    """The netem that the kernel has for an interface, if its root qdisc is one."""
    for qdisc in netlink.get_qdiscs(index=interface):
        if qdisc["index"] == interface and qdisc.get_attr("TCA_KIND") == "netem" and qdisc["parent"] == _ROOT:
            return _parse(qdisc.get_attr("TCA_OPTIONS"))
    return None


def _words(value: Any, count: int) -> Sequence[int]:
    return (0,) * count if value is None else struct.unpack_from(f"@{count}I", value)


def _parse(options: Any) -> Seeded:
    model = options.get_attr("TCA_NETEM_LOSS")
    ge = None if model is None else model.get_attr("NETEM_LOSS_GE")
    p, r, h, k1 = _words(ge, 4)
    rate, *_ = _words(options.get_attr("TCA_NETEM_RATE"), 4)
    settings = NetemSettings(
        latency_ns=options.get_attr("TCA_NETEM_LATENCY64") or 0,
        jitter_ns=options.get_attr("TCA_NETEM_JITTER64") or 0,
        limit=options["limit"],
        loss=options["loss"],
        gemodel=None if ge is None else (p, r, h, k1),
        duplicate=options["duplicate"],
        gap=options["gap"],
        reorder=_words(options.get_attr("TCA_NETEM_REORDER"), 2)[0],
        corrupt=_words(options.get_attr("TCA_NETEM_CORRUPT"), 2)[0],
        rate_bytes_per_s=options.get_attr("TCA_NETEM_RATE64") or rate,
    )
    return Seeded(settings, options.get_attr("TCA_NETEM_PRNG_SEED"))


class _U32Options(nla):  # type: ignore[misc]
    """linux/pkt_cls.h, the few attributes that we use."""

    nla_map = (
        ("TCA_U32_UNSPEC", "none"),
        ("TCA_U32_CLASSID", "uint32"),
        ("TCA_U32_HASH", "uint32"),
        ("TCA_U32_LINK", "uint32"),
        ("TCA_U32_DIVISOR", "uint32"),
        ("TCA_U32_SEL", "cdata"),
        ("TCA_U32_POLICE", "cdata"),
        ("TCA_U32_ACT", "tca_act_prio"),
        ("TCA_U32_INDEV", "cdata"),
        ("TCA_U32_PCNT", "cdata"),
        ("TCA_U32_MARK", "cdata"),
    )
    tca_act_prio = tca_act_prio


_U32_TERMINAL = 1
_ETH_P_ALL = 3

# A 32-bit word at an offset from the network header: (offset, value, mask).
Key = tuple[int, int, int]


def _u32_parameters(kwarg: dict[str, Any]) -> dict[str, Any]:
    keys: Sequence[Key] = kwarg["keys"]
    selector = struct.pack("@BBBxHHhhI", _U32_TERMINAL, 0, len(keys), 0, 0, 0, 0, 0)
    for offset, value, mask in keys:
        selector += struct.pack("!II", mask, value) + struct.pack("@ii", offset, 0)
    attributes = [("TCA_U32_CLASSID", 0), ("TCA_U32_SEL", selector), ("TCA_U32_ACT", get_tca_action(kwarg))]
    if kwarg.get("mark"):
        attributes.append(("TCA_U32_MARK", struct.pack("@III", kwarg["mark"], kwarg["mark"], 0)))
    return {"attrs": attributes}


cls_u32.options = _U32Options
cls_u32.get_parameters = _u32_parameters


def mac_keys(mac: str) -> list[Key]:
    """A source MAC address: it stands 8 bytes before the network header."""
    digits = mac.replace(":", "")
    return [(-8, int(digits[:8], 16), 0xFFFFFFFF), (-4, int(digits[8:], 16) << 16, 0xFFFF0000)]


def address_keys(address: str) -> list[Key]:
    """A source address in an IPv6 header."""
    packed = ipaddress.IPv6Address(address).packed
    return [(8 + at, int.from_bytes(packed[at : at + 4], "big"), 0xFFFFFFFF) for at in range(0, 16, 4)]


def add_source_filter(
    netlink: IPRoute,
    interface: int,
    parent: int,
    priority: int,
    keys: Iterable[Key],
    action: dict[str, Any],
    mark: int = 0,
) -> None:
    """Do `action` with packets that match the keys (and have the mark)."""
    netlink.tc(
        "add-filter",
        "u32",
        interface,
        parent=parent,
        prio=priority,
        protocol=_ETH_P_ALL,
        keys=list(keys),
        action=action,
        mark=mark,
    )


# Neighbours: a network of n nodes has n² of them, so they are no objects of pyroute2, of which each costs half a
# millisecond and a system call or two, but bytes, thousands in a system call.

_RTM_NEWNEIGH = 28
_REQUEST, _ACKNOWLEDGE, _REPLACE, _CREATE = 0x1, 0x4, 0x100, 0x400
_NLMSG_ERROR = 2
_PERMANENT = 0x80
_NDA_DESTINATION, _NDA_ADDRESS = 1, 2
# nlmsghdr, ndmsg, and the two attributes, by address family
_NEIGHBOUR = {
    socket.AF_INET: struct.Struct("@IHHII BxxxiHBB HH4s HH6sxx"),
    socket.AF_INET6: struct.Struct("@IHHII BxxxiHBB HH16s HH6sxx"),
}
_BATCH = 200  # requests in one system call: their answers fit the receive buffer even if each of them fails


def set_neighbours(neighbours: Sequence[tuple[int, str, str]]) -> None:
    """Make permanent entries (interface, IP address, MAC address) in the namespace of this thread."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        for begin in range(0, len(neighbours), _BATCH):
            part = neighbours[begin : begin + _BATCH]
            netlink.send(b"".join(_neighbour(*one, last=one is part[-1]) for one in part))
            # Whatever fails is answered at once, the last one in any case: the first answer tells.
            _, kind, _, _, _, error = struct.unpack_from("@IHHIIi", netlink.recv(65536))
            if kind != _NLMSG_ERROR or error:
                raise OSError(-error, f"the kernel does not take a neighbour: {os.strerror(-error)}")


def _neighbour(interface: int, address: str, mac: str, last: bool) -> bytes:
    flags = _REQUEST | _CREATE | _REPLACE | (_ACKNOWLEDGE if last else 0)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    message = _NEIGHBOUR[family]
    return message.pack(
        message.size,
        _RTM_NEWNEIGH,
        flags,
        0,
        0,
        family,
        interface,
        _PERMANENT,
        0,
        0,
        4 + len(packed),
        _NDA_DESTINATION,
        packed,
        10,
        _NDA_ADDRESS,
        bytes.fromhex(mac.replace(":", "")),
    )
