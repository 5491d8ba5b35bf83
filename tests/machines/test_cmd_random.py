"""cmd under thousands of adverse schedules: reordering, loss, duplicates, multicast, restarts.

Checked in each: no causal violation, everything is delivered, at the very moment the last message before it was, all
falls silent; and after every single step the invariants that no capture shows: CD-3 (one record per pair), CD-4 (what
is known and has no record is delivered) and CD-5 (the vector counts the events of the causal past).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from captures.evidence import Event
from harness.world import World
from nodes.cmd.machine import Cmd
from nodes.cmd.options import CmdOptions, Printed, SchemeName
from nodes.cmd.orders import SRecords
from nodes.machine import Setting
from nodes.wire import Pdu
from nodes.wire.cmd import CmdData, CmdMatrix
from nodes.wire.note import NoteKind
from tests.helpers.seeds import EverySeed
from tests.helpers.verdicts import objections, out_of_order

MS = 1_000_000
SCHEDULES = 10_000 if os.environ.get("TUTTI_THOROUGH") else 4_000
BATCH = 400

Message = tuple[int, int]  # origin, t


class Watched(World):
    """A world in which the state of every entity is compared with what really happened, after each step."""

    def __init__(self, seed: int, white_box: bool) -> None:
        super().__init__(seed)
        self.white_box = white_box
        self.read = 0  # events so far
        self.past: dict[int, dict[Message | tuple[int, Message], None]] = {}  # node -> its causal past, as events
        self.at_send: dict[Message, dict[Message | tuple[int, Message], None]] = {}
        self.to: dict[Message, tuple[int, ...]] = {}
        self.delivered: set[tuple[int, Message]] = set()

    def _after(self, number: int, outputs: list[object]) -> None:
        super()._after(number, outputs)
        if self.white_box and outputs:
            self.follow()
            self.check(number)

    def follow(self) -> None:
        """What happened, from the notes alone: the events in each node's causal past."""
        for event in self.events[self.read :]:
            message = (event.about, event.seq)
            past = self.past.setdefault(event.node, {})
            if event.kind is NoteKind.SENT:
                past[message] = None
                self.at_send[message] = dict(past)
                self.to[message] = event.peers
            elif event.kind is NoteKind.DELIVERED:
                self.delivered.add((event.node, message))
                if event.about != event.node:
                    past.update(self.at_send[message])
                    past[event.node, message] = None
        self.read = len(self.events)

    def check(self, number: int) -> None:
        machine = self.machine(number)
        assert isinstance(machine, Cmd)
        order = machine.order
        assert isinstance(order, SRecords)
        pairs = Counter((k, to) for k, to, _ in order.r)
        assert all(count == 1 for count in pairs.values()), f"CD-3: {order.r}"
        # An event is (origin, t) for a sending, (node, message) for a delivery: its process stands first in both.
        counts = Counter(event[0] for event in self.past.get(number, {}))
        assert order.v == {k: counts[k] for k in order.v}, f"CD-5: n{number} {order.v} {counts}"
        newest = {(k, to): t for k, to, t in order.r}
        for (k, t), destinations in self.to.items():
            for to in destinations:
                if t <= order.v[k] and to != k and newest.get((k, to), -1) < t:
                    assert (to, (k, t)) in self.delivered, f"CD-4: n{number} thinks {k}:{t} delivered at n{to}"


@dataclass(slots=True)
class Run:
    """One schedule, drawn from its seed."""

    seed: int
    world: Watched
    options: CmdOptions
    arrivals: dict[tuple[int, Message], int] = field(default_factory=dict)  # (node, message) -> first arrival
    lossy: bool = False


def run(seed: int, printed: Printed | None = None, scheme: SchemeName = "s_records", white_box: bool = False) -> Run:
    draw = random.Random(seed)
    n = draw.randint(2, 5)
    members = tuple(range(1, n + 1))
    options = CmdOptions(
        scheme=scheme,
        retry_ns=draw.choice([20, 60]) * MS,
        queue_limit=draw.choice([1, 3, 1000]),
        attempts=40,
        printed=printed or Printed(),
    )
    made = Run(seed, Watched(seed, white_box), options)
    for me in members:
        made.world.add(me, Cmd(Setting(me=me, members=members, seed=me), options))
    loss, again = draw.choice([0.0, 0.0, 0.1, 0.3]), draw.choice([0.0, 0.2])
    made.lossy = loss > 0 or again > 0
    slow = draw.choice([0.1, 0.4])
    many = draw.choice([0.0, 0.3, 1.0])

    def delay(pdu: Pdu, to: int, now: int) -> int | None:
        if draw.random() < again:
            made.world.at(now + draw.randint(MS, 50 * MS), lambda: made.world.receive(to, pdu))
        if draw.random() < loss:
            return None
        wait = draw.randint(20 * MS, 60 * MS) if draw.random() < slow else draw.randint(MS, 6 * MS)
        if isinstance(pdu, CmdData | CmdMatrix):
            key = (to, (pdu.src, pdu.t))
            made.arrivals[key] = min(made.arrivals.get(key, 1 << 62), now + wait)  # a repetition may be faster
        return wait

    made.world.mesh(delay)
    at = made.world.now
    for _ in range(draw.randint(6, 20)):
        at += draw.randint(0, 6 * MS)
        source = draw.choice(members)
        to = tuple(draw.sample(members, draw.randint(1, n) if draw.random() < many else 1))
        made.world.at(at, lambda source=source, to=to: made.world.submit(source, to, b""))  # type: ignore[misc]
    made.world.run(max_events=20_000)
    return made


def check(seed: int, scheme: SchemeName = "s_records", white_box: bool = False) -> None:
    made = run(seed, scheme=scheme, white_box=white_box)
    history = replace(made.world.history(), options=CmdOptions(scheme=scheme))
    vector_time = () if scheme == "matrix" else ("CD-5",)
    assert objections(history, "CD-1", "CD-3", *vector_time, "NC", "ND") == []
    assert made.world.settled()
    wanted = Counter(
        (node, (event.about, event.seq))
        for event in history.notes
        if event.kind is NoteKind.SENT
        for node in event.peers
    )
    got = Counter((event.node, (event.about, event.seq)) for event in history.notes if event.kind is NoteKind.DELIVERED)
    assert got == wanted
    if not made.lossy and made.options.queue_limit > 20:
        at_the_moment_the_rule_allows(made, history.notes)


def at_the_moment_the_rule_allows(made: Run, events: Sequence[Event]) -> None:
    """When it arrived, or when the last of the messages before it to the same node was delivered there."""
    before: dict[int, set[Message]] = {}
    past: dict[Message, frozenset[Message]] = {}
    to = {(event.about, event.seq): event.peers for event in events if event.kind is NoteKind.SENT}
    when: dict[tuple[int, Message], int] = {}
    for event in events:
        message, known = (event.about, event.seq), before.setdefault(event.node, set())
        if event.kind is NoteKind.SENT:
            past[message] = frozenset(known)
            known.add(message)
        elif event.kind is NoteKind.DELIVERED:
            when[event.node, message] = event.time_ns
            known |= past[message] | {message}
            if event.about != event.node:
                awaited = [when[event.node, earlier] for earlier in past[message] if event.node in to[earlier]]
                arrival = made.arrivals[event.node, message]
                assert event.time_ns == max([arrival, *awaited]), f"{event}"


@pytest.mark.parametrize("first", range(0, SCHEDULES, BATCH))
def test_order_liveness_and_the_exact_moment(first: int, every_seed: EverySeed) -> None:
    every_seed(range(first, first + BATCH), lambda seed: check(seed, white_box=seed % 4 == 0))


@pytest.mark.parametrize("scheme", ["unpruned", "matrix"])
def test_the_baselines_keep_the_same_order(scheme: SchemeName, every_seed: EverySeed) -> None:
    every_seed(range(200), lambda seed: check(seed, scheme))


@pytest.mark.parametrize("printed", [Printed(skip=True), Printed(repeat=True)], ids=["D-CM-5", "D-CM-6"])
def test_two_printed_rules_are_only_wasteful(printed: Printed, every_seed: EverySeed) -> None:
    def wrong(seed: int) -> bool:
        world = run(seed, printed).world
        return bool(out_of_order(world.history())) or not world.settled()

    every_seed(range(200), wrong)


@pytest.mark.parametrize(
    "printed",
    [Printed(clock=True), Printed(sequence=True), Printed(multicast=True)],
    ids=["D-CM-1", "D-CM-2", "D-CM-4"],
)
def test_each_printed_rule_breaks_the_order(printed: Printed) -> None:
    """The same schedules, and the checks above fail."""
    assert any(out_of_order(run(seed, printed).world.history()) for seed in range(300))


def test_the_printed_queue_rule_leaves_messages_behind() -> None:
    """D-CM-3."""
    assert any(not run(seed, Printed(queue=True)).world.settled() for seed in range(100))


@pytest.mark.parametrize("printed", [Printed(clock=True), Printed(sequence=True)], ids=["D-CM-1", "D-CM-2"])
def test_the_invariants_see_a_record_that_is_dropped_too_early(printed: Printed) -> None:
    with pytest.raises(AssertionError, match=r"CD-4|CD-3"):
        for seed in range(300):
            run(seed, printed, white_box=True)


def test_cd_3_sees_two_records_of_one_pair() -> None:
    with pytest.raises(AssertionError, match="CD-3"):
        for seed in range(300):
            run(seed, Printed(repeat=True), white_box=True)
