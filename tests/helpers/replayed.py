"""Scenarios whose runs must be equal to the byte wherever and however they are carried out."""

from __future__ import annotations

from tests import ROOT

ONE_CHANNEL = """
name = "replayed"
protocol = "st"
seed = 7
[topology]
kind = "one_channel"
nodes = 4
channel = { rate = "10mbit", delay = "200us" }
[[impair]]
on = "receivers"
loss = "3%"
[workload]
kind = "bursts"
rounds = 5
destinations = { fraction = 0.5 }
"""

ROUTED = """
name = "replayed"
protocol = "raw"
seed = 7
[topology]
kind = "tree"
nodes = 4
[[impair]]
on = "receivers"
delay = "5ms"
jitter = "3ms"
loss = "2%"
duplicate = "1%"
[workload]
kind = "steady"
rate = "50/s"
for = "1s"
arrivals = "poisson"
"""

SCENARIOS = {
    "one_channel": ONE_CHANNEL,
    "routed": ROUTED,
    "every_fault": (ROOT / "harness/scenarios/raw/everything.toml").read_text(),
}
