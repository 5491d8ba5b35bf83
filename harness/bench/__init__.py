"""`tutti bench`: measures the testbed and the protocols, as ratios within one run (machines are shared and noisy)."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterable
from typing import Any

# name -> (module, function, what it measures); the function returns a dataclass, or several, that print themselves
BENCHES = {
    "platform": ("harness.bench.platform", "bench_platform", "whole runs against a naive testbed in the same kernel"),
    "decode": ("harness.bench.decode", "bench_decode", "the columnar decoder against Scapy, dpkt, tshark and C"),
    "fuzz": ("harness.bench.fuzz", "bench_fuzz", "a million wrong inputs for the codec, the reader and the decoder"),
    "judges": ("harness.bench.judges", "bench_judges", "judging 10^6 deliveries, and how the time grows"),
    "st": ("harness.bench.st", "bench_st", "ST: confirmations, latency under loss, growth with n"),
    "to": ("harness.bench.to", "bench_to", "TO: from a crash to the view, and back"),
    "him": ("harness.bench.him", "bench_him", "HIM: confirmation time under loss"),
    "causal": ("harness.bench.causal", "bench_causal", "delta and cmd: tag bytes and delay against the baselines"),
    "sweep": ("harness.bench.sweep", "bench_sweep", "runs per hour, the scheduler's cost, aggregation"),
    "report": ("harness.bench.report", "bench_report", "the report of 100,000 events in a browser"),
}


def bench_command(arguments: argparse.Namespace) -> int:
    """Run the benchmarks that are named, or all that there are."""
    there = [name for name, (module, _, _) in BENCHES.items() if importlib.util.find_spec(module) is not None]
    unknown = [name for name in arguments.what if name not in there]
    if unknown:
        sys.stderr.write(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(there)}\n")
        return 64
    results: dict[str, Any] = {}
    for name in arguments.what or there:
        module, function, meaning = BENCHES[name]
        sys.stderr.write(f"{name}: {meaning} ...\n")
        found = getattr(importlib.import_module(module), function)()
        results[name] = []
        rows: Iterable[Any] = [found] if dataclasses.is_dataclass(found) else found
        for row in rows:
            results[name].append(dataclasses.asdict(row))
            if not arguments.json:
                print(row, flush=True)
    if arguments.json:
        print(json.dumps(results, indent=1, default=str))
    return 0
