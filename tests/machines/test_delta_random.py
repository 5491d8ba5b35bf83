"""delta under thousands of adverse schedules: reordering, loss, duplicates, skew, drift, coarse clocks, multicast.

Checked in each: no causal violation, everything that arrives in time is delivered, at the very instant the rule
allows (recomputed here from the tags on the wire), nothing late is, tags stay within their bound, all settles.
"""

from __future__ import annotations

import os
import random
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from captures.evidence import Event
from harness.judges.base import Holds
from harness.judges.delta import deadline, no_unnecessary_wait
from harness.judges.facts import Facts
from harness.world import Clock, World
from nodes.delta.machine import Delta
from nodes.delta.notes import Delivered
from nodes.delta.options import DeltaOptions, Printed
from nodes.delta.schemes import Hold, scheme_for
from nodes.delta.tags import unpack
from nodes.machine import Setting
from nodes.wire import Pdu
from nodes.wire.delta import DeltaData
from nodes.wire.note import NoteKind, said
from tests.helpers.seeds import EverySeed
from tests.helpers.verdicts import objections, out_of_order

UNIT = 1_000_000
START = 1_000_000_000
DELTA = 5 * UNIT
SCHEDULES = 12_000 if os.environ.get("TUTTI_THOROUGH") else 6_000
BATCH = 500


@dataclass(slots=True)
class Run:
    """One schedule, drawn from its seed."""

    seed: int
    options: DeltaOptions
    n: int
    messages: int
    world: World
    clocks: dict[int, Clock] = field(default_factory=dict)
    arrivals: dict[tuple[int, int, int], int] = field(default_factory=dict)  # node, source, seq -> true time
    pdus: dict[tuple[int, int], DeltaData] = field(default_factory=dict)
    tick_ns: int = 1


def clock_of(draw: random.Random, epsilon_ns: int, tick_ns: int) -> Clock:
    """Within ε/2 of true time by offset and drift, so any two within ε; the tick comes on top, equal for all."""
    offset = draw.choice((-2, -1, 0, 1, 2)) * epsilon_ns // 4
    wander = draw.randint(-epsilon_ns // 4, epsilon_ns // 4) if abs(offset) <= epsilon_ns // 4 else 0

    def clock(now: int) -> int:
        local = now + offset + wander * min(now - START, 60 * UNIT) // (60 * UNIT)  # drifts for the first 60 units
        return local // tick_ns * tick_ns

    return clock


def run(
    seed: int, printed: Printed | None = None, messages: int = 0, adjust: Callable[[Delta], None] = lambda agent: None
) -> Run:
    draw = random.Random(seed)
    tick_ns = draw.choice([1, 1, UNIT // 2, UNIT])
    epsilon_ns = draw.choice([0, 0, 1, 2, 3]) * max(
        tick_ns, UNIT // 2
    )  # whole ticks: what comes within Δ is then in time
    options = DeltaOptions(
        delta_ns=DELTA,
        epsilon_ns=epsilon_ns,
        max_cb=draw.choice([1, 1, 2, 3, 4]),
        scheme=draw.choice(("bounded", "bounded", "bounded", "unbounded", "hold")),
        printed=printed or Printed(),
    )
    n = draw.randint(2, 5)
    made = Run(seed, options, n, messages or draw.randint(8, 30), World(seed), tick_ns=tick_ns)
    members = tuple(range(1, n + 1))
    for me in members:
        made.clocks[me] = clock_of(draw, epsilon_ns, tick_ns)
        agent = Delta(Setting(me=me, members=members, seed=me), options)
        adjust(agent)
        made.world.add(me, agent, made.clocks[me])
    loss, again = draw.choice([0.0, 0.05, 0.2]), draw.choice([0.0, 0.2])
    slow, at_least = draw.choice([(0.1, 0.0), (0.4, 0.0), (0.3, 4.5)])

    def arrive(pdu: DeltaData, to: int, delay: int) -> None:
        key = (to, pdu.src, pdu.seq)
        made.arrivals[key] = min(made.arrivals.get(key, 1 << 62), made.world.now + delay)

    def delay(pdu: Pdu, to: int, now: int) -> int | None:
        assert isinstance(pdu, DeltaData)
        made.pdus[pdu.src, pdu.seq] = pdu
        if draw.random() < loss:
            return None
        units = draw.uniform(at_least, 7) if draw.random() < slow else draw.expovariate(4)
        wait = round(units * UNIT)
        arrive(pdu, to, wait)
        if draw.random() < again:
            second = draw.randint(0, 8 * UNIT)
            arrive(pdu, to, second)
            made.world.at(now + second, lambda: made.world.receive(to, pdu))
        return wait

    made.world.mesh(delay)
    rate = draw.choice([1, 3])
    at = START + 5 * UNIT
    for _ in range(made.messages):
        at += round(draw.expovariate(rate) * UNIT)
        source = draw.choice(members)
        to = tuple(draw.sample(members, draw.choice([1, 1, 2, n])))
        made.world.at(at, lambda source=source, to=to: made.world.submit(source, to, b""))  # type: ignore[misc]
    made.world.run(max_events=100_000)
    return made


def true_time(clock: Clock, local: int) -> int:
    """The first instant at which a clock shows at least `local`."""
    return START + bisect_left(range(200 * UNIT), local, key=lambda now: clock(START + now))


def allowed_at(made: Run, node: int, pdu: DeltaData, delivered: Callable[[int, int], int | None]) -> int | None:
    """When R0..R2 allow a message that arrived, from its tag alone; None if it came too late."""
    clock, limit = made.clocks[node], made.options.limit_ns
    arrival = made.arrivals[node, pdu.src, pdu.seq]
    if pdu.ts + limit < clock(arrival):
        return None
    mine = unpack(pdu, tuple(range(1, made.n + 1))).get(node, {})
    earliest = max(pdu.ts, scheme_for(made.options).not_before(pdu.ts, mine))
    instants = [arrival]
    if clock(arrival) < earliest:
        instants.append(true_time(clock, earliest))
    for sender, ts in mine.items():
        at = delivered(sender, ts)
        if at is None or at > arrival:
            expiry = true_time(clock, ts + limit + 1)
            instants.append(expiry if at is None else min(at, expiry))
    return max(instants)


def check(seed: int) -> None:
    made = run(seed)
    history = replace(made.world.history(), options=made.options)
    assert objections(history, "DC-1", "DC-2", "DC-3", "DC-4", "NC", "ND") == []
    for exact in (deadline, no_unnecessary_wait):  # in memory a timer wakes a machine at the next tick of its clock
        assert isinstance(exact(Facts(history), made.tick_ns), Holds)
    assert made.world.settled()
    deliveries: dict[int, list[Event]] = {node: [] for node in history.nodes}
    for event in history.notes:
        if event.kind is NoteKind.DELIVERED:
            deliveries[event.node].append(event)
        assert event.text != "overtaken", f"{event}"
        assert event.kind is not NoteKind.ALARM, f"{event}"
    for node, log in deliveries.items():

        def delivered(sender: int, ts: int, log: list[Event] = log) -> int | None:
            stamps = ((event, said(Delivered, event.values)) for event in log if event.about == sender)
            return next((event.time_ns for event, told in stamps if told is not None and told.ts >= ts), None)

        allowed = {
            (source, seq): at
            for to, source, seq in made.arrivals
            if to == node and (at := allowed_at(made, node, made.pdus[source, seq], delivered)) is not None
        }
        took_place = [((event.about, event.seq), event.time_ns) for event in log if event.about != node]
        assert sorted(took_place) == sorted(allowed.items()), f"n{node}"
    bound = made.options.max_cb * made.n if made.options.scheme == "bounded" else made.n**2
    assert all(len(pdu.cb) <= bound for pdu in made.pdus.values())


@pytest.mark.parametrize("first", range(0, SCHEDULES, BATCH))
def test_order_deadline_and_the_exact_moment(first: int, every_seed: EverySeed) -> None:
    every_seed(range(first, first + BATCH), check)


@pytest.mark.parametrize(
    "printed",
    [
        Printed(entry=True),
        Printed(stamp=True, overtaken=True),
        Printed(order=True, overtaken=True),
        Printed(skew=True, overtaken=True),
    ],
    ids=["D-DC-1", "D-DC-2", "D-DC-3", "D-DC-9"],
)
def test_each_printed_rule_is_caught(printed: Printed) -> None:
    """Longer schedules of the same kind; where the printed rule fails, the repaired one does not."""
    seed = next(seed for seed in range(400) if out_of_order(run(seed, printed, 100).world.history()))
    assert not out_of_order(run(seed, None, 100).world.history())


def test_a_hold_that_is_too_short_is_caught() -> None:
    """The O(N) tag rests on w > Δ/3; a scheme that holds nothing back breaks the order."""
    hasty = Hold(DeltaOptions(delta_ns=1))

    def adjust(agent: Delta) -> None:
        agent.scheme = hasty

    seed = next(seed for seed in range(400) if out_of_order(run(seed, None, 100, adjust).world.history()))
    assert not out_of_order(run(seed, None, 100).world.history())
