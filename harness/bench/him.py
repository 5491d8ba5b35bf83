"""HIM measured: how long a confirmation takes under loss, and what a loss-free message costs.

Confirmation is measured as NORM's watermark was, the hardest peer there is: one message at a time, two receivers,
round trips of a millisecond, random loss at every receiver; NORM's figures are its fastest setting (GRTT 1 ms, back-off
4, over IPv6 where that was measured), 200 messages each, on a machine of the same kind. In virtual time computing takes
none: ours are the times of the protocol on its network.

Costs are counted in the captures of a line of four routers, beside TCP's on the same network (nodes/tcp).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from harness.bench.emulated import Emulated, emulated
from harness.bench.row import Row, Violated

_NORM_MS = {0: (2.19, 4.3), 1: (2.18, 10.0), 5: (2.19, 22.0), 10: (4.30, 23.0), 20: (6.39, 45.0)}  # half, 99 %
_CONFIRMATION = """
name = "bench-him-confirmation"
protocol = "him"
[topology]
kind = "lan"
nodes = 3
[[impair]]
on = "receivers"
delay = "500us"
loss = "{loss}%"
[workload]
kind = "bursts"
rounds = {messages}
every = "150ms"
senders = "n1"
payload = 200
"""
_SIZES = (5, 10, 20, 50)
_COST = """
name = "bench-him-cost"
protocol = "{protocol}"
[topology]
kind = "line"
nodes = {nodes}
routers = 4
[[impair]]
on = "routers"
delay = "2ms"
[workload]
kind = "bursts"
rounds = 5
every = "1s"
senders = "n1"
payload = 200
"""
_ROUND_TRIP_MS = 12.0  # of the farthest pair: three cables of 2 ms, there and back
_COUNTED = ("him.DATA", "him.QUERY", "him.ANSWER", "him.REPORT")  # what the paper counts; END comes on top


@dataclass(frozen=True, slots=True)
class Confirmation(Row):
    """One loss: from sending until the sender is told, beside NORM."""

    loss_percent: Annotated[int, "{} % loss"]
    messages: Annotated[int, "{:,} messages"]
    success_share: Annotated[float, "{:.1%} SUCCESS"]
    p50_ms: Annotated[float, "confirmed after {:.2f} ms in the median"]
    p99_ms: Annotated[float, "{:.2f} ms at 99 %"]
    norm_p50_ms: Annotated[float, "NORM {:.2f} ms"]
    norm_p99_ms: Annotated[float, "{:.1f} ms{row.verdict}"]
    violated: Violated

    @property
    def verdict(self) -> str:
        faster = self.p50_ms <= self.norm_p50_ms and self.p99_ms < self.norm_p99_ms
        return "" if faster else ": NORM IS FASTER"


@dataclass(frozen=True, slots=True)
class Cost(Row):
    """One group behind four routers, without loss, beside TCP."""

    nodes: Annotated[int, "n = {}"]
    packets: Annotated[float, "{:g} packets per message (2n + 1)"]
    ends: Annotated[float, "{:g} END"]
    received: Annotated[float, "{:g} received by the sender"]
    round_trips: Annotated[float, "complete after {:.3f} round trips of the farthest pair (1.5)"]
    tcp_packets: Annotated[float, "TCP {:g} packets"]
    tcp_round_trips: Annotated[float, "{:.3f} round trips"]


def bench_him(messages: int = 1000, sizes: tuple[int, ...] = _SIZES) -> Iterator[Row]:
    """All of it; about three minutes."""
    for loss_percent in _NORM_MS:
        yield confirmation(loss_percent, messages)
    for nodes in sizes:
        yield cost(nodes)


def confirmation(loss_percent: int, messages: int) -> Confirmation:
    """One loss."""
    run = emulated(_CONFIRMATION.format(loss=loss_percent, messages=messages))
    return Confirmation(
        loss_percent,
        messages,
        run.metric("success_share"),
        run.metric("decision_p50_ms"),
        run.metric("decision_p99_ms"),
        *_NORM_MS[loss_percent],
        run.violated,
    )


def cost(nodes: int) -> Cost:
    """One size."""
    run = emulated(_COST.format(protocol="him", nodes=nodes))
    if run.violated:
        raise AssertionError(f"a group of {nodes} without loss violates {', '.join(run.violated)}")
    tcp = emulated(_COST.format(protocol="tcp", nodes=nodes))
    sent = Counter(frame.title for frame in run.evidence.frames.rows(run.evidence.frames.sent))
    count = run.metric("sent")
    return Cost(
        nodes,
        sum(sent[title] for title in _COUNTED) / count,
        sent["him.END"] / count,
        _received(run) / count,
        run.metric("completion_max_ms") / _ROUND_TRIP_MS,
        tcp.metric("packets_per_message"),
        tcp.metric("completion_max_ms") / _ROUND_TRIP_MS,
    )


def _received(run: Emulated) -> int:
    frames = run.evidence.frames
    return int((frames.node[frames.came] == 1).sum())
