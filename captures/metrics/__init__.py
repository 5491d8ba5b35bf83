"""Metrics: numbers that an expectation may be about and that sweeps tabulate, each a function of the evidence of a run.

A new one is a function with `@metric(name, meaning, unit)` in the file of its family.
"""

from captures.metrics import latency, network, protocols, recovery, traffic
from captures.metrics.latency import latencies_ms
from captures.metrics.network import delays_by_link, loss_by_receiver
from captures.metrics.registry import METRICS, Metric, measure, metric

FAMILIES = (traffic, latency, network, protocols, recovery)  # importing them enters their metrics

__all__ = [
    "FAMILIES",
    "METRICS",
    "Metric",
    "delays_by_link",
    "latencies_ms",
    "loss_by_receiver",
    "measure",
    "metric",
]
