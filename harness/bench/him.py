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

from harness.bench.emulated import Emulated, emulated

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
class Confirmation:
    """One loss: from sending until the sender is told, beside NORM."""

    loss_percent: int
    messages: int
    success_share: float
    p50_ms: float
    p99_ms: float
    norm_p50_ms: float
    norm_p99_ms: float
    violated: tuple[str, ...]

    def __str__(self) -> str:
        good = not self.violated and self.p50_ms <= self.norm_p50_ms and self.p99_ms < self.norm_p99_ms
        return (
            f"confirmation at {self.loss_percent} % loss, {self.messages:,} messages: {self.p50_ms:.2f} / "
            f"{self.p99_ms:.2f} ms (half / 99 %), NORM {self.norm_p50_ms:.2f} / {self.norm_p99_ms:.1f}; "
            f"{self.success_share:.1%} SUCCESS"
            + (f"; violated: {', '.join(self.violated)}" if self.violated else "" if good else "; NORM is faster")
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """One group without loss, beside TCP."""

    nodes: int
    packets: float  # per message, without the END
    ends: float
    received: float  # by the sender
    round_trips: float  # until the last neighbour has answered, of the farthest pair
    tcp_packets: float
    tcp_round_trips: float

    def __str__(self) -> str:
        return (
            f"n = {self.nodes} behind four routers: {self.packets:g} packets per message (2n+1 = {2 * self.nodes + 1}) "
            f"and {self.ends:g} END, {self.received:g} received by the sender; complete after {self.round_trips:.3f} "
            f"round trips (1.5); TCP {self.tcp_packets:g} packets, {self.tcp_round_trips:.3f} round trips"
        )


def bench_him(messages: int = 1000, sizes: tuple[int, ...] = _SIZES) -> Iterator[Confirmation | Cost]:
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
