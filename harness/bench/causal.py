"""Causal order measured: what delta and cmd pay in tags and delay beside their baselines, and what comes within Δ.

One network and one workload for all: ten nodes that send to a random other one, each message with a delay of its own
from the distribution of Fig. 4 of paper 002 (mean 20 ms, so that one overtakes another all the time). Sizes of tags are
those that nodes note, for a datagram in fragments is no PDU in a capture; everything else is counted there. (Tags that
are not pruned soon need fragments; each has a delay of its own, and the message comes with the last of them.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from captures.evidence import Evidence
from captures.metrics.registry import mean
from harness.bench.emulated import Emulated, emulated
from harness.bench.row import Row, Violated
from harness.judges.causality import NOT_COUNTED, before
from harness.judges.facts import Facts
from nodes.cmd.evaluation import matrix_bytes
from nodes.cmd.notes import Sent as CmdSent
from nodes.cmd.options import CmdOptions
from nodes.delta.notes import Sent as DeltaSent
from nodes.delta.options import DeltaOptions
from nodes.wire.note import NoteKind, said

_NODES = 10
_SCENARIO = """
name = "bench-causal"
protocol = "{protocol}"
[topology]
kind = "lan"
nodes = {nodes}
[[impair]]
on = "senders"
delay = "20ms"
distribution = {{ late = "0.01%", after = "100ms" }}
[[impair]]
on = "receivers"
loss = "{loss}%"
[workload]
kind = "steady"
rate = "50/s"
for = "{for_ms}ms"
arrivals = "poisson"
destinations = {{ count = 1, among = "others" }}
payload = 64
{options}
"""
# name -> protocol, its table
_SCHEMES = {
    "raw": ("raw", ""),
    "delta, MAX_CB = 4": ("delta", '[delta]\ndelta = "100ms"\nmax_cb = 4'),
    "delta unbounded": ("delta", '[delta]\ndelta = "100ms"\nscheme = "unbounded"'),
    "delta hold": ("delta", '[delta]\ndelta = "100ms"\nscheme = "hold"'),
    "cmd, s-records": ("cmd", ""),
    "cmd matrix": ("cmd", '[cmd]\nscheme = "matrix"'),
    "cmd unpruned": ("cmd", '[cmd]\nscheme = "unpruned"'),
}
_DELTAS_MS = (20, 50, 100)
_LOSSES = (0, 1, 10)


@dataclass(frozen=True, slots=True)
class Scheme(Row):
    """One way to keep the order, or none: tags and delays."""

    name: Annotated[str, "{}"]
    messages: Annotated[int, "{:,} messages"]
    tag_bytes: Annotated[float, "{:.1f} bytes of tag"]
    tag_bytes_max: Annotated[int, "at most {}"]
    p50_ms: Annotated[float, "delivered after {:.1f} ms in the median"]
    p99_ms: Annotated[float, "{:.1f} ms at 99 %"]
    delivered_share: Annotated[float, "{:.2%} delivered"]
    inversions: Annotated[int, "{} before one that comes causally before"]
    violated: Violated


@dataclass(frozen=True, slots=True)
class Within(Row):
    """Δ and a loss: what comes in time, and what is delivered."""

    delta_ms: Annotated[int, "Δ = {} ms"]
    loss_percent: Annotated[int, "{} % loss"]
    messages: Annotated[int, "{:,} messages"]
    in_time_share: Annotated[float, "{:.2%} come within Δ"]
    delivered_share: Annotated[float, "{:.2%} are delivered"]
    p99_ms: Annotated[float, "99 % of these after {:.1f} ms"]
    inversions: Annotated[int, "{} before one that comes causally before"]
    violated: Violated


def bench_causal(for_ms: int = 4000) -> Iterator[Row]:
    """Both tables; about two minutes."""
    for name, (protocol, options) in _SCHEMES.items():
        yield scheme(name, emulated(_text(protocol, options, 0, for_ms)))
    for delta_ms in _DELTAS_MS:
        for loss_percent in _LOSSES:
            options = f'[delta]\ndelta = "{delta_ms}ms"\nmax_cb = 4'
            yield within(delta_ms, loss_percent, emulated(_text("delta", options, loss_percent, for_ms)))


def _text(protocol: str, options: str, loss_percent: int, for_ms: int) -> str:
    return _SCENARIO.format(protocol=protocol, nodes=_NODES, loss=loss_percent, for_ms=for_ms, options=options)


def scheme(name: str, run: Emulated) -> Scheme:
    """What a run says about a scheme."""
    sizes = tag_sizes(run)
    return Scheme(
        name,
        len(run.events(NoteKind.SENT)),
        mean(sizes) or 0.0,
        max(sizes, default=0),
        run.metric("latency_p50_ms"),
        run.metric("latency_p99_ms"),
        run.metric("delivered_share"),
        inversions(run.evidence),
        run.violated,
    )


def tag_sizes(run: Emulated) -> list[int]:
    """Bytes of tag per message, as its sender notes it: entries behind TS (delta), records behind the number (cmd)."""
    options = run.evidence.options
    n = len(run.evidence.nodes)
    sent = run.events(NoteKind.SENT)
    if isinstance(options, DeltaOptions):
        return [n + 10 * one.entries for event in sent if (one := said(DeltaSent, event.values))]
    if isinstance(options, CmdOptions):
        matrix = options.scheme == "matrix"
        told = (said(CmdSent, event.values) for event in sent)
        return [matrix_bytes(n) if matrix else 4 * n + 8 * one.records for one in told if one]
    return []


def within(delta_ms: int, loss_percent: int, run: Emulated) -> Within:
    """What a run says about a deadline."""
    sent = {(event.about, event.seq): event.time_ns for event in run.events(NoteKind.SENT)}
    in_time = {
        (frame.about, frame.seq)
        for frame in run.evidence.frames.rows(run.evidence.frames.came)
        if frame.time_ns - sent[frame.about, frame.seq] <= delta_ms * 1_000_000
    }
    return Within(
        delta_ms,
        loss_percent,
        len(sent),
        len(in_time) / len(sent),
        run.metric("delivered_share"),
        run.metric("latency_p99_ms"),
        inversions(run.evidence),
        run.violated,
    )


def inversions(evidence: Evidence) -> int:
    """How many deliveries took place before one of a message in their causal past, at the same node."""
    facts = Facts(evidence)
    count = 0
    for life, earlier in zip(facts.lives, before(facts), strict=True):
        log = facts.log(life.index)
        at = np.full(len(facts.keys), NOT_COUNTED, np.int64)
        at[log] = np.arange(len(log))
        greatest, _ = earlier.latest(at[earlier.messages])
        count += int((greatest > np.arange(len(log))).sum())
    return count
