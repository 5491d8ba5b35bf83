"""Metrics: numbers that an expectation may be about and that sweeps tabulate, each a function of the evidence of a run.

A new one is a function with `@metric(name, meaning, unit)` in a file here.
"""

import importlib
import pkgutil

from captures.metrics.latency import latencies_ms
from captures.metrics.network import delays_by_link, loss_by_receiver
from captures.metrics.registry import METRICS, Metric, measure, metric

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

__all__ = [
    "METRICS",
    "Metric",
    "delays_by_link",
    "latencies_ms",
    "loss_by_receiver",
    "measure",
    "metric",
]
