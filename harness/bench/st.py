"""ST measured: how it grows with the cluster, and how long a confirmation takes under loss.

The first table is one PDU of every entity at the same instant, again and again, on a channel of 10 Mbit/s: each burst
is settled before the next. The second is the work that other group communication systems were measured with: three
members, 200 messages a second each, 200 bytes, random loss at every receiver. In virtual time computing takes none:
latencies are those of the protocol on its channel, not of Python.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from captures.metrics import latencies_ms
from captures.metrics.registry import quantile
from harness.bench.emulated import Emulated, emulated
from harness.bench.row import Row, Violated
from harness.world import World
from nodes.machine import Setting, full_frame_bytes
from nodes.st.machine import St
from nodes.st.options import StOptions
from nodes.wire.note import NoteKind
from topologies.plan import Channel

_SIZES = (3, 5, 10, 16)
_BURSTS = 50
_BURST = """
name = "bench-st-{nodes}"
protocol = "st"
[topology]
kind = "one_channel"
nodes = {nodes}
channel = {{ rate = "10mbit", delay = "20us" }}
[workload]
kind = "bursts"
rounds = {bursts}
every = "200ms"
payload = 256
"""
_LOSSES = (0, 1, 5, 10, 20)
_RATES = {"10mbit": 1e7, "100mbit": 1e8}
_UNDER_LOSS = """
name = "bench-st-loss"
protocol = "st"
limit = "120s"
[topology]
kind = "one_channel"
nodes = 3
channel = {{ rate = "{rate}", delay = "20us" }}
[[impair]]
on = "receivers"
loss = "{loss}%"
[workload]
kind = "steady"
rate = "{per_s}/s"
for = "{for_s}s"
payload = 200
[st]
{options}
"""


@dataclass(frozen=True, slots=True)
class Growth(Row):
    """One cluster size: speed, cost and latency without loss."""

    nodes: Annotated[int, "n = {}"]
    memory_per_s: Annotated[float, "{:,.0f} PDUs confirmed by an entity per wall second in memory"]
    emulated_per_s: Annotated[float, "{:,.0f} emulated"]
    bytes_per_delivered_byte: Annotated[float, "{:.2f} bytes on the channel per delivered byte"]
    confirmation_slots: Annotated[float, "confirmed after {:.1f} channel times of a DATA PDU in the median"]


@dataclass(frozen=True, slots=True)
class Exponents(Row):
    """The powers of n by which the growth above goes, fitted on logarithms."""

    bytes_per_delivered_byte: Annotated[float, "growth with n: bytes per delivered byte n^{:.2f}"]
    confirmation_slots: Annotated[float, "confirmation n^{:.2f}"]


@dataclass(frozen=True, slots=True)
class UnderLoss(Row):
    """Three members with 200 messages of 200 bytes a second each. At 10 % others take 5 and 30 ms, and keep half."""

    rate: Annotated[str, "{}"]
    loss_percent: Annotated[int, "{} % loss"]
    p50_ms: Annotated[float, "confirmed {:.2f} ms after submission in the median"]
    p99_ms: Annotated[float, "{:.2f} ms at 99 %"]
    delivered_share: Annotated[float, "delivered {:.4f}"]
    kept: Annotated[float, "{:.2f} of the loss-free rate kept on a saturated channel"]
    violated: Violated


def bench_st() -> Iterator[Row]:
    """Both tables."""
    growth = []
    for nodes in _SIZES:
        growth.append(_growth(nodes))
        yield growth[-1]
    yield Exponents(
        _exponent([(one.nodes, one.bytes_per_delivered_byte) for one in growth]),
        _exponent([(one.nodes, one.confirmation_slots) for one in growth]),
    )
    for rate in _RATES:
        yield from under_loss(rate)


def _growth(nodes: int) -> Growth:
    run = emulated(_BURST.format(nodes=nodes, bursts=_BURSTS))
    return Growth(
        nodes,
        _memory_per_s(nodes),
        len(run.events(NoteKind.CONFIRMED)) / run.wall_s,
        run.metric("bytes_per_delivered_byte"),
        run.metric("confirmation_p50_ms") * 1e6 / _slot_ns(nodes),
    )


def _slot_ns(nodes: int) -> int:
    """The channel time of a DATA PDU."""
    return Channel(round(_RATES["10mbit"])).slot_ns(full_frame_bytes(nodes, 256))


def _memory_per_s(nodes: int) -> float:
    """The same bursts in memory."""
    members = tuple(range(1, nodes + 1))
    slot_ns = _slot_ns(nodes)
    world = World(1)
    for me in members:
        world.add(me, St(Setting(me=me, members=members, seed=me, slot_ns=slot_ns), StOptions()))
    world.channel(slot_ns)
    for burst in range(_BURSTS):
        for me in members:
            world.at(world.now + burst * 200_000_000, lambda me=me: world.submit(me, members, bytes(256)))  # type: ignore[misc]
    begin = time.perf_counter()
    world.run()
    took = time.perf_counter() - begin
    return sum(one.kind is NoteKind.CONFIRMED for one in world.history().notes) / took


def _exponent(points: list[tuple[int, float]]) -> float:
    """Least squares on a double logarithmic scale."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in points), strict=True)
    return statistics.linear_regression(xs, ys).slope


def under_loss(rate: str, options: str = "") -> Iterator[UnderLoss]:
    """One channel rate, all losses."""
    loss_free = 0.0
    for loss in _LOSSES:
        text = {"rate": rate, "loss": loss, "options": options}
        paced = emulated(_UNDER_LOSS.format(per_s=200, for_s=5, **text))
        waits = latencies_ms(paced.evidence, NoteKind.CONFIRMED)
        pushed = emulated(_UNDER_LOSS.format(per_s=round(_RATES[rate] / 5e3), for_s=5e6 / _RATES[rate], **text))
        per_s = confirmed_per_s(pushed)
        loss_free = loss_free or per_s
        yield UnderLoss(
            rate,
            loss,
            _at(waits, 0.5),
            _at(waits, 0.99),
            paced.metric("delivered_share"),
            per_s / loss_free,
            (*paced.violated, *pushed.violated),
        )


def _at(ordered: list[float], share: float) -> float:
    found = quantile(ordered, share)
    return math.nan if found is None else found


def confirmed_per_s(run: Emulated) -> float:
    """PDUs per second of virtual time, from the first submission to the last confirmation."""
    times = [one.time_ns for one in run.events(NoteKind.CONFIRMED)]
    first = min(one.time_ns for one in run.events(NoteKind.SUBMITTED))
    return len(times) / (max(times) - first) * 1e9
