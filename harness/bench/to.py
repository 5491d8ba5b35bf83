"""TO measured: from a crash to the agreed view and the next delivery, and back; from the NOTEs of emulated runs.

One run has a crash, a restart, a link that is cut and comes back, and a farewell, on a channel of 10 Mbit/s; 0, 10
and 30 % of all frames are lost at every receiver. Heartbeats and T_stop follow from the channel time of a PDU
(nodes/to/options.py); what is chosen here is `silence`, the heartbeats in a row whose loss means a stop. A table of
its own shows what it buys: false exclusions of a cluster to which nothing happens, by silence. In virtual time
computing takes none: these are the times of the protocol on its channel, not of Python.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from captures.evidence import Event
from captures.metrics.latency import submitted_ns
from harness.bench.emulated import Emulated, emulated
from harness.bench.row import Row, Violated
from nodes.machine import full_frame_bytes
from nodes.st.options import Timing
from nodes.to.options import ToOptions, ViewTiming
from nodes.wire.note import NoteKind
from topologies.plan import Channel

_SIZES = (3, 5, 9, 16)
_SILENCE = {0: 12, 10: 12, 30: 20}  # by loss in percent: loss ** silence is below 10**-10
_TRIED = (8, 12, 20)  # fewer than 9 change nothing: T_stop outlasts a recovery round
_MS = 1_000_000
_PACE, _FLOW, _BUSY = 100, 500, 2_000  # messages a second of all together
_CALM_S = 10

_HEAD = """
name = "bench-to"
protocol = "to"
limit = "60s"
settle = "{settle}ms"
[topology]
kind = "one_channel"
nodes = {n}
channel = {{ rate = "10mbit", delay = "20us" }}
[[impair]]
on = "receivers"
loss = "{loss}%"
[to]
silence = {silence}
recovery = "{recovery}"
[workload]
kind = "steady"
rate = "{rate}/s"
for = "{length}ms"
arrivals = "poisson"
"""
_CRASH = """
[[fault]]
at = "{crash}ms"
kind = "crash"
node = "n{n}"
"""
_RESTART = """
[[fault]]
at = "{restart}ms"
kind = "restart"
node = "n{n}"
"""
_CUT = """
[[fault]]
at = "{cut}ms"
kind = "link"
link = "n1-s1"
for = "{cut_for}ms"
"""
_LEAVE = """
[[fault]]
at = "{leave}ms"
kind = "leave"
node = "n{n}"
"""


def _head(n: int, loss: int, silence: int, rate: int, length: int, recovery: str = "suspended") -> str:
    settle = 200 + 5 * loss * n  # the last messages wait for the last rounds
    return _HEAD.format(n=n, loss=loss, silence=silence, rate=rate, length=length, recovery=recovery, settle=settle)


def stop_ms(n: int, silence: int) -> int:
    """T_stop of the runs, rounded up."""
    slot = Channel(10_000_000).slot_ns(full_frame_bytes(n, 64))
    options = ToOptions(silence=silence)
    return -(-ViewTiming.of(options, Timing.of(options.transfer(), n, slot), n, slot).stop // _MS)


@dataclass(frozen=True, slots=True)
class Line(Row):
    """What the best peer needed (Corosync with token 300, three members, no loss, no traffic)."""

    crash_ms: Annotated[float, "the line to beat, without loss and traffic: crash to view {:.0f} ms"] = 690
    graceful_ms: Annotated[float, "graceful stop {:.0f} ms"] = 70
    rejoin_ms: Annotated[float, "rejoin {:.0f} ms (at 30 % loss no stable membership)"] = 360


@dataclass(frozen=True, slots=True)
class Changes(Row):
    """One cluster size and loss: the longest at any entity, in ms; infinite if not before the next fault."""

    n: Annotated[int, "n = {}"]
    loss_percent: Annotated[int, "{} % loss"]
    silence: Annotated[int, "silence {}"]
    stop_ms: Annotated[int, "T_stop {} ms"]
    crash_to_view: Annotated[float, "crash to view {:.1f} ms"]  # at all live entities, without the dead one
    crash_to_delivery: Annotated[float, "to delivery of what was submitted since {:.1f} ms"]
    restart_to_view: Annotated[float, "restart to view {:.1f} ms"]  # at all, the one that is back included
    healed_to_view: Annotated[float, "link back to view {:.1f} ms"]
    left_to_view: Annotated[float, "farewell to view {:.1f} ms"]
    false_exclusions: Annotated[int, "{} false exclusions"]
    virtual_s: Annotated[float, "in {:.1f} s"]
    violated: Violated


@dataclass(frozen=True, slots=True)
class Silence(Row):
    """How many are excluded though they live, by how many lost heartbeats mean a stop."""

    n: Annotated[int, "false exclusions, n = {}"]
    loss_percent: Annotated[int, "{} % loss"]
    virtual_s: Annotated[float, "{:.0f} s"]
    excluded: Annotated[dict[int, int], "by silence {}"]


@dataclass(frozen=True, slots=True)
class Cost(Row):
    """What a crash costs, without loss, while all together send 500 messages a second."""

    n: Annotated[int, "n = {}"]
    stop_frames: Annotated[int, "{} STOP frames (at best two for each that lives)"]
    repeated: Annotated[float, "{:g} repetitions per message"]
    outage_ms: Annotated[float, "longest time without a delivery at a live entity {:.1f} ms"]
    stop_ms: Annotated[int, "T_stop {} ms"]
    violated: Violated


@dataclass(frozen=True, slots=True)
class Join(Row):
    """What a join delays on a busy channel: five entities, 2000 messages a second together, no loss."""

    recovery: Annotated[str, "recovery {}"]
    longest_ms: Annotated[float, "a member is in a join for {:.2f} ms at most"]
    sent: Annotated[int, "members send {} messages in it"]
    violated: Violated


def bench_to() -> Iterator[Row]:
    """All tables."""
    yield Line()
    for loss in _SILENCE:
        for n in _SIZES:
            yield _changes(n, loss)
    for n in _SIZES:
        yield _cost(n)
    for recovery in ("suspended", "live"):
        yield _join(recovery)
    for loss in (10, 30):
        yield _false_exclusions(9, loss)


def _false_exclusions(n: int, loss: int) -> Silence:
    found = {}
    for silence in _TRIED:
        run = emulated(_head(n, loss, silence, 2, _CALM_S * 1_000))
        found[silence] = _exclusions(run)
    return Silence(n, loss, _CALM_S, found)


def _exclusions(run: Emulated) -> int:
    """How often somebody was taken out of the view, by the count of whoever saw it most often."""
    members: dict[int, set[int]] = {}
    seen: Counter[tuple[int, int]] = Counter()  # who was taken out, who saw it
    for view in run.events(NoteKind.VIEW):
        before = members.get(view.node, set(run.evidence.nodes))
        members[view.node] = set(view.peers)
        if view.text == "stop":
            seen.update((gone, view.node) for gone in before - set(view.peers))
    return sum(max(count for (gone, _), count in seen.items() if gone == node) for node in {gone for gone, _ in seen})


def _changes(n: int, loss: int) -> Changes:
    silence = _SILENCE[loss]
    stop = stop_ms(n, silence)
    crash, span = 300, 100 + 2 * stop + loss * n  # time enough for what rounds under loss take
    cut = crash + 2 * span
    leave = cut + 2 * span
    head = _head(n, loss, silence, _PACE // n, leave + span + 100)
    faults = _CRASH.format(crash=crash, n=n) + _RESTART.format(restart=crash + span, n=n)
    run = emulated(head + faults + _CUT.format(cut=cut, cut_for=span) + _LEAVE.format(leave=leave, n=n))
    died, back, cut_off, healed, left = (event.time_ns for event in run.events(NoteKind.FAULT))
    everybody = set(run.evidence.nodes)
    others = everybody - {n}
    return Changes(
        n,
        loss,
        silence,
        stop,
        _until_view(run, (died, back), others, others),
        _until_delivery(run, died, others),
        _until_view(run, (back, cut_off), everybody, everybody),
        _until_view(run, (healed, left), everybody, everybody),
        _until_view(run, (left, left + span * _MS), others, others),
        max(0, _exclusions(run) - 3),
        (run.evidence.notes[-1].time_ns - run.evidence.notes[0].time_ns) / 1e9,
        run.violated,
    )


def _until_view(run: Emulated, between_ns: tuple[int, int], whom: set[int], members: set[int]) -> float:
    """Until the last of them has that view, in ms; infinite if that is not before the end."""
    begin, end = between_ns
    views = run.events(NoteKind.VIEW)
    return _until_all(whom, (one for one in views if begin < one.time_ns < end and set(one.peers) == members), begin)


def _until_delivery(run: Emulated, since_ns: int, whom: set[int]) -> float:
    """Until the last of them has delivered something that was submitted since then, in ms."""
    fresh = {message for message, at_ns in submitted_ns(run.evidence).items() if at_ns > since_ns}
    return _until_all(whom, (one for one in run.events(NoteKind.DELIVERED) if (one.about, one.seq) in fresh), since_ns)


def _until_all(whom: set[int], events: Iterable[Event], since_ns: int) -> float:
    """Until the last of them has noted one of these, in ms; infinite if one of them never does."""
    first: dict[int, int] = {}
    for event in events:
        first.setdefault(event.node, event.time_ns)
    return (max(first[node] for node in whom) - since_ns) / _MS if first.keys() >= whom else math.inf


def _cost(n: int) -> Cost:
    stop = stop_ms(n, 12)
    head = _head(n, 0, 12, _FLOW // n, 200 + stop)
    run = emulated(head + _CRASH.format(crash=150, n=n))
    frames = sum(run.metric(f"frames:to.{title}") for title in ("STOP", "STOP_PACK", "STOP_ACK"))
    repeated, outage = run.metric("retransmitted_per_data"), run.metric("outage_max_ms")
    return Cost(n, round(frames), repeated, outage, stop, run.violated)


def _join(recovery: str, n: int = 5) -> Join:
    stop = stop_ms(n, 12)
    head = _head(n, 0, 12, _BUSY // n, 150 + stop, recovery)
    run = emulated(head + _CRASH.format(crash=110, n=n) + _RESTART.format(restart=130 + stop, n=n))
    joins = _joins(run)
    sent = sum(
        one.node == node and begin <= one.time_ns < end
        for one in run.events(NoteKind.SENT)
        for node, begin, end in joins
    )
    return Join(recovery, max(end - begin for _, begin, end in joins) / _MS, sent, run.violated)


def _joins(run: Emulated) -> list[tuple[int, int, int]]:
    """Who was in a join, from when until when."""
    begun: dict[int, int] = {}
    found = []
    for event in sorted((*run.events(NoteKind.STATE), *run.events(NoteKind.VIEW)), key=lambda one: one.time_ns):
        if event.text == "admitting":
            begun.setdefault(event.node, event.time_ns)
        elif event.kind is NoteKind.VIEW and event.node in begun:
            found.append((event.node, begun.pop(event.node), event.time_ns))
    return found
