"""This machine's own kernel, as root, in real time: a second opinion.

The agent runs in namespaces of its own (isolated.py): nothing it makes can be seen outside, and when its first
process dies, for whatever reason, the kernel takes everything with it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from harness.engines.outcome import EngineOptions, MachineLacks
from harness.engines.watch import Attended, started
from harness.exchange import Exchange
from harness.manifest import Kernel
from harness.shape import Shape

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def lacks() -> str:
    """Why this machine cannot run the live engine, with what mends it; empty if it can."""
    if os.geteuid() != 0:
        return "the live engine builds network namespaces: run as root (or use the virtual engine, which needs none)"
    probe = subprocess.run(
        [sys.executable, "-P", "-m", "harness.engines.live"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": _python_path()},
    )
    return probe.stdout.strip() or probe.stderr.strip()[-300:]


def _python_path() -> str:
    """Ours first, then what this process was given."""
    return os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])


def _probe() -> str:
    """In a throw-away network namespace: can this kernel do what the live engine needs?"""
    from topologies.impairments import Impairment, Seeded
    from topologies.netlink import IPRoute, NetlinkError, set_netem

    if _libc.unshare(_CLONE_NEWNET):
        return f"network namespaces cannot be made here: {os.strerror(ctypes.get_errno())}"
    netlink = IPRoute()
    for kind in ("veth", "bridge", "ifb", "dummy"):
        try:
            peer = {"peer": {"ifname": "probe-peer"}} if kind == "veth" else {}
            netlink.link("add", kind=kind, ifname=f"probe-{kind}", **peer)
        except NetlinkError as error:
            return f"this kernel has no {kind} devices ({error}); load its module, or use the virtual engine"
    (index,) = netlink.link_lookup(ifname="probe-veth")
    try:
        set_netem(netlink, index, Seeded(Impairment(loss=0.01).settings(), 7))
    except NetlinkError as error:
        return (
            f"this kernel has no netem ({error}): `modprobe sch_netem`, or use the virtual engine, which brings its own"
        )
    return ""


class Live:
    """The engine."""

    @property
    def kernel(self) -> Kernel:
        return Kernel(os.uname().release)

    def get_ready(self, options: EngineOptions, shape: Shape, many: bool = False) -> None:
        """This kernel has booted long ago."""

    def start(self, files: Exchange, options: EngineOptions) -> AbstractContextManager[Attended]:
        """In namespaces of its own."""
        reason = lacks()
        if reason:
            raise MachineLacks(reason)
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": _python_path(),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
        }
        words = [sys.executable, "-P", "-m", "harness.engines.isolated", str(files.run.path)]
        words.append(str(files.directory / "state"))
        return started(words, environment, files, files.agent_log, options.stall_s)


if __name__ == "__main__":
    print(_probe())
