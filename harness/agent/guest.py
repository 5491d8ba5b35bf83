"""`python -m harness.agent.guest MODULE`: the agent's life in a guest of the private kernel. It gets ready, waits for a
run, lets the module's `carry_out` do it, and halts the guest.

A guest is either booted for one run, or it is a template: then reading /proc/template returns once per run, each time
in a fork of the whole guest, with the directory of that run. Both go the same way to the same point, and what is random
comes from the run's seed from there on, so that a run has the same bytes in both.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import pkgutil
import sys
import traceback
from pathlib import Path

from harness.agent.boot import ROOT, halt, mount
from harness.exchange import Exchange
from harness.rundir import RunDir

_PATH_MAX = 4096
_RESEED = 0x5207  # RNDRESEEDCRNG of the random devices


def main() -> None:
    """Get ready, carry out, and end the guest, whatever happened."""
    gc.disable()  # collections would strike the forked nodes at moments that depend on what was imported
    try:
        work = importlib.import_module(sys.argv[1]).carry_out
        _import_all("nodes", "topologies")
        work(await_run(), Path(ROOT, "state"))
    except BaseException:
        traceback.print_exc()
    finally:
        halt()


def _import_all(*packages: str) -> None:
    """What some runs need is found by name when they need it; here it is found before they are told apart."""
    for package in packages:
        for one in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(one.name)


def await_run() -> Exchange:
    """What is there now is shared by all runs. Then the files of one, whose log is our standard output from here on."""
    gc.freeze()
    files = Exchange(RunDir(Path(ROOT, "run")))
    mount("run", str(files.run.path), "hostfs", 0, _directory())
    log = os.open(files.agent_log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    os.close(log)
    return files


def _directory() -> str:
    """Where the run is on this machine. A kernel that cannot be forked is told when it is booted."""
    return read("/proc/template") or os.environ["TUTTI_RUN"]


def fork_here() -> None:
    """If this guest is a template it waits here, and this returns in its forks, in which all open files of the run are
    files of their own directory from now on. If it is none, it goes on."""
    read("/proc/template")


def read(path: str | Path) -> str:
    """The text of a small file; "" if there is none. Unlike Python's own way this reads no clock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        return os.read(descriptor, _PATH_MAX).decode()
    finally:
        os.close(descriptor)


def reseed(seed: int) -> None:
    """All random numbers of this kernel follow from the seed from here on, and from what all runs share."""
    pool = os.open("/dev/urandom", os.O_WRONLY)
    os.write(pool, seed.to_bytes(8, "little"))
    fcntl.ioctl(pool, _RESEED)
    os.close(pool)


if __name__ == "__main__":
    main()
