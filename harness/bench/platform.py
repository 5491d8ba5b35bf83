"""Whole runs, from nothing to closed captures, against a naive testbed that does the same in the same kernel.

The naive one (naive/) is what one would write first: plain Mininet, one tcpdump and one Python per host, in a guest
without the faster way to run programs. Both take turns; each figure is the best of its turns.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from harness.bench.around import around_the_guest, from_the_shell
from harness.bench.costs import run_costs, sweep_cost
from harness.bench.emulated import carry_out_below
from harness.bench.large import large_networks
from harness.bench.row import Row
from harness.engines.kernel import private_kernel, site_packages
from harness.scenario import loads

_NAIVE = Path(__file__).with_name("naive")
_TURNS = 2

_SCENARIO = """
name = "bench"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = {nodes}
channel = {{ rate = "1gbit" }}
[[impair]]
on = "receivers"
delay = "1ms"
"""
_STEADY = """
[workload]
kind = "bursts"
rounds = {count}
every = "10ms"
payload = 100
"""


@dataclass(frozen=True, slots=True)
class PlatformResult(Row):
    """One comparison, or one figure of ours alone."""

    what: Annotated[str, "{}"]
    ours_s: Annotated[float, "{:.2f} s"]
    naive_s: Annotated[float | None, "naive {:.2f} s: {row.share:.3f}"] = None
    naive_fast_s: Annotated[float | None, "naive with the faster way to run programs {:.2f} s"] = None
    promised: Annotated[float | None, "promised at most {:.3f} of naive"] = None
    frames: Annotated[int | None, "{:,} frames delivered, {row.per_s:,.0f} per wall second"] = None

    @property
    def share(self) -> float:
        """Of the naive one's time."""
        return self.ours_s / (self.naive_s or math.nan)

    @property
    def per_s(self) -> float:
        return (self.frames or 0) / self.ours_s


def bench_platform(*, largest: bool = False, seeds: int = 24) -> Iterator[Row]:
    """All figures; the naive ones only where its programs are installed."""
    yield around_the_guest()
    yield from run_costs()
    yield sweep_cost(seeds)
    yield from_the_shell()
    yield from large_networks(largest=largest)
    missing = [name for name in ("tcpdump", "brctl") if shutil.which(name) is None]
    compared = not missing
    if missing:
        print(f"  no comparison: apt-get install tcpdump bridge-utils ({', '.join(missing)} missing)")
    quiet = 'limit = "700s"\nsettle = "600s"\n'
    yield PlatformResult("10 minutes of quiet virtual time", _best(lambda: _ours(2, 0, quiet)))
    yield PlatformResult("50 idle nodes come up and go down", _best(lambda: _ours(50, 0)))
    yield _compare("5 idle nodes", 5, 0, 1 / 3, compared)
    yield _compare("16 nodes x 200 broadcasts", 16, 200, 1 / 5, compared)


def _compare(what: str, nodes: int, count: int, promised: float, compared: bool) -> PlatformResult:
    frames = nodes * nodes * count or None
    if not compared:
        return PlatformResult(what, _best(lambda: _ours(nodes, count)), frames=frames)
    ours, naive, fast = [], [], []
    for _ in range(_TURNS):
        ours.append(_timed(lambda: _ours(nodes, count)))
        naive.append(_timed(lambda: _naive(nodes, count, seccomp=False)))
        if private_kernel().identity.seccomp:
            fast.append(_timed(lambda: _naive(nodes, count, seccomp=True)))
    return PlatformResult(what, min(ours), min(naive), min(fast, default=None), promised, frames)


def _timed(action: Callable[[], None]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def _best(action: Callable[[], None]) -> float:
    return min(_timed(action) for _ in range(_TURNS))


def _ours(nodes: int, count: int, top: str = "") -> None:
    text = top + _SCENARIO.format(nodes=nodes) + (_STEADY.format(count=count) if count else "")
    scenario = loads(text)
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        carry_out_below(Path(directory), scenario)


def _naive(nodes: int, count: int, *, seccomp: bool) -> None:
    kernel = private_kernel()
    with tempfile.TemporaryDirectory(prefix="tutti-naive-") as out:
        command = [
            str(kernel.image),
            "mem=2048M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "rw",
            f"init={_NAIVE / 'init.sh'}",
            f"NAIVE_OUT={out}",
            f"NAIVE_CODE={_NAIVE}",
            f"NAIVE_NODES={nodes}",
            f"NAIVE_COUNT={count}",
            f"PYTHONPATH={site_packages()}",
            "PYTHONHASHSEED=0",
            f"uml_dir={out}/",
            "con=null",
            "con0=null",
            "ubd0=",
            "norandmaps",
            "quiet",
            *(["seccomp=on"] if seccomp else []),
            "time-travel=inf-cpu",
            "time-travel-start=1700000000000000000",
        ]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, env={"TUTTI_SEED": "1"})
        status = Path(out, "status")
        if not status.exists() or status.read_text().strip() != "0":
            log = Path(out, "log.txt")
            raise RuntimeError(f"the naive run failed:\n{log.read_text()[-2000:] if log.exists() else '(no log)'}")
