"""Addresses of programs of other people, beside what our own nodes use: IPv4 everywhere, and IPv6 on a single channel.

Where all share one link, host N is 10.0.0.N (and fd00::N, fe80::N). Behind routers, where LAN K is fd00:0:0:K::/64, it
is 10.K.0.N.
"""

from __future__ import annotations

import ipaddress

from topologies.plan import PREFIX_LENGTH, Plan


def ipv4(plan: Plan, host: str) -> str:
    """The address of a host."""
    number = int(host[1:])
    behind = lan_of(plan.address(host)) if plan.routers else 0
    return f"10.{behind}.{number >> 8}.{number & 255}"


def ipv6(plan: Plan, host: str) -> str:
    """The same."""
    return plan.address(host) if plan.ipv6 else f"fd00::{int(host[1:]):x}"


def link_local(plan: Plan, host: str) -> str:
    """The same, of its link."""
    return f"fe80::{int(host[1:]):x}"


def lan_of(address: str) -> int:
    """On which LAN an address or a prefix is; 0: it is that of all others."""
    return int(ipaddress.IPv6Interface(address).ip) >> PREFIX_LENGTH & 0xFFFFFFFF
