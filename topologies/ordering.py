"""On a machine with several CPUs: cables on which no frame overtakes another.

A veth device hands a frame over on the CPU that happens to send it, so two frames of a cable may wait in the queues of
two CPUs, and the single channel would have no single order. Receive packet steering puts all of them into one queue.
In the private kernel, which has one CPU, there is nothing to do.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from topologies.mininet_network import Network

_libc = ctypes.CDLL(None, use_errno=True)
_SYS = "/sys"


def keep_order(network: Network) -> None:
    """Steer whatever arrives on a cable to one CPU. Needs a mount namespace that nobody else looks at."""
    cpu = min(os.sched_getaffinity(0))
    _steer(cpu)
    for name in (*network.plan.hosts, *network.plan.routers):
        with network.node(name).entered():
            if _libc.mount(b"sysfs", _SYS.encode(), b"sysfs", ctypes.c_ulong(0), None):  # shows this namespace
                raise OSError(ctypes.get_errno(), "mount /sys")
            try:
                _steer(cpu)
            finally:
                _libc.umount(_SYS.encode())


def _steer(cpu: int) -> None:
    """All receive queues of this namespace; a mask is written as words of 32 CPUs, the last ones first."""
    mask = ",".join([f"{1 << cpu % 32:x}", *["0" * 8] * (cpu // 32)])
    for queue in Path(_SYS, "class/net").glob("*/queues/rx-*/rps_cpus"):
        queue.write_text(mask)
