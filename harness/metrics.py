"""The metrics that an expectation may be about; they live with the captures, for sweeps use them too."""

from captures.metrics import METRICS, Metric, latencies_ms, measure, sent_frames

__all__ = ["METRICS", "Metric", "latencies_ms", "measure", "sent_frames"]
