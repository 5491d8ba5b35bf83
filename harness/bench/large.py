"""Large networks: how the time of a run grows with the number of nodes, five multicasts each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

from harness.bench.emulated import carry_out_below
from harness.bench.row import Row
from harness.engines.outcome import EngineOptions
from harness.scenario import loads

_SMALL = 16  # what the others are compared with
_SIZES = {50: 2048, 100: 2048, 200: 2048}  # nodes -> memory of the guest, in MB: it is enough
_LARGEST = {500: 8192}
_TURNS = 3
_STALL_S = 900  # on a busy machine a large one is busy for long between two signs of life

_SCENARIO = """
name = "bench-large"
protocol = "raw"
[topology]
kind = "lan"
nodes = {nodes}
[workload]
kind = "bursts"
rounds = 5
senders = "n1"
"""


@dataclass(frozen=True, slots=True)
class LargeNetwork(Row):
    """A run from its files to its answer; the median of a few where it is short."""

    nodes: Annotated[int, "{} nodes up, five multicasts, and down"]
    memory_mb: Annotated[int, "in {:,} MB"]
    wall_s: Annotated[float, "{:.1f} s"]
    small_s: Annotated[float, "{row.ratio:.1f} times what 16 take"]

    @property
    def ratio(self) -> float:
        return self.wall_s / self.small_s


def large_networks(*, largest: bool) -> Iterator[LargeNetwork]:
    """The curve; small and large take turns, so that a busy machine slows both."""
    for nodes, memory_mb in (_SIZES | (_LARGEST if largest else {})).items():
        small, large = [], []
        for _ in range(_TURNS if nodes < 200 else 1):
            small.append(_wall_s(_SMALL, 2048))
            large.append(_wall_s(nodes, memory_mb))
            small.append(_wall_s(_SMALL, 2048))
        yield LargeNetwork(nodes, memory_mb, median(large), median(small))


def _wall_s(nodes: int, memory_mb: int) -> float:
    scenario = loads(_SCENARIO.format(nodes=nodes))
    options = EngineOptions(memory_mb=memory_mb, stall_s=_STALL_S)
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as directory:
        begin = time.perf_counter()
        carry_out_below(Path(directory), scenario, options)
        return time.perf_counter() - begin
