"""What works on this machine, for both engines, and what mends the rest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.engines.kernel import private_kernel
from harness.engines.live import lacks
from harness.engines.outcome import EngineError, EngineOptions, MachineLacks
from harness.runs import carry_out, fresh
from harness.scenario import load
from harness.scenario.find import find

_SPACE_MB = 500
_MEMORY_MB = 1500
_STALL_S = 20.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    needed_for: str  # virtual, live, sweep, test
    fine: bool
    detail: str  # what was found, or what mends it


def examine() -> Iterator[Finding]:
    """Look at everything; each look is quick. If nothing is missing for it, carry out the smallest run."""
    fine = True
    for look in (_python, _kernel, _library, _mininet, _memory, _disk):
        yield (found := look())
        fine = fine and found.fine
    if fine:
        yield _run()
    reason = lacks()
    yield Finding("netem, as root", "live", not reason, reason or "in this machine's own kernel")
    yield _program("java", "sweep", ["-version"], "a Java runtime: apt-get install openjdk-17-jre-headless")
    yield _program("tshark", "test", ["--version"], "apt-get install tshark (`tutti test` does it)")
    yield _program("chromium", "test", ["--version"], "apt-get install chromium (`tutti test` does it)")


def _python() -> Finding:
    fine = sys.version_info[:2] == (3, 11)
    return Finding("Python 3.11", "virtual", fine, sys.version.split()[0] if fine else "Debian 12's own is needed")


def _kernel() -> Finding:
    try:
        kernel = private_kernel()
    except (MachineLacks, OSError) as error:
        return Finding("private kernel", "virtual", False, str(error))
    if not os.access(kernel.image, os.X_OK):
        return Finding("private kernel", "virtual", False, f"{kernel.image} cannot be executed")
    how = "fast guest programs (seccomp)" if kernel.identity.seccomp else "slower guest programs (ptrace)"
    begun = "runs are forks" if kernel.forks else "each run boots"
    return Finding("private kernel", "virtual", True, f"Linux {kernel.identity.version}, {how}, {begun}")


def _attempt(what: str, needed_for: str, attempt: Callable[[], str], mend: str) -> Finding:
    try:
        return Finding(what, needed_for, True, attempt())
    except (OSError, ImportError) as error:
        return Finding(what, needed_for, False, f"{mend} ({error})")


def _library() -> Finding:
    def load() -> str:
        import harness.agent.libpcap  # noqa: F401

        return "found"

    return _attempt("libpcap", "virtual", load, "apt-get install libpcap0.8")


def _mininet() -> Finding:
    def load() -> str:
        from topologies.mininet_network import MININET_VERSION

        return f"version {MININET_VERSION}"

    return _attempt("Mininet", "virtual", load, "apt-get install mininet")


def _memory() -> Finding:
    words = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    free_mb = int(words["MemAvailable"].split()[0]) // 1024
    fine = free_mb >= _MEMORY_MB
    return Finding("memory", "virtual", fine, f"{free_mb} MB free" + ("" if fine else f"; a guest needs {_MEMORY_MB}"))


def _disk() -> Finding:
    free_mb = shutil.disk_usage(".").free // 2**20
    fine = free_mb >= _SPACE_MB
    return Finding("disk", "virtual", fine, f"{free_mb} MB free here" + ("" if fine else f"; {_SPACE_MB} are wanted"))


def _run() -> Finding:
    scenario = load(find("raw/quiet"))
    begin = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as parent:
            where = fresh(scenario, f"{parent}/run")
            carry_out(scenario, where, EngineOptions(stall_s=_STALL_S), lambda now: None)
    except EngineError as error:
        return Finding("a run", "virtual", False, f"raw/quiet failed: {error}")
    return Finding("a run", "virtual", True, f"raw/quiet in {time.monotonic() - begin:.1f} s")


def _program(name: str, needed_for: str, arguments: list[str], mend: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, needed_for, False, mend)
    if name == "java":
        done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
        return Finding(name, needed_for, done.returncode == 0, (done.stderr or done.stdout).splitlines()[0])
    return Finding(name, needed_for, True, path)
