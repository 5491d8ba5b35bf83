"""The judges on a protocol without any rule: raw, on networks of which each breaks one promise, and no other."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from captures.evidence import Evidence, Notes
from harness.bench.judges import GROUPS, bench_judges, orderly
from harness.judges import Outcome, judge, judges
from harness.world import World
from nodes.machine import Input, Output, Received, Setting, Submit
from nodes.protocols import NAMES, protocol
from nodes.raw.machine import Raw, RawOptions
from nodes.wire import Pdu
from nodes.wire.raw import RawData
from tests.helpers.notation import history

NODES = (1, 2, 3, 4)


class Stale(Raw):
    """A buffer that is used again too early: what goes out are the bytes of the submission before."""

    before = b""

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Submit):
            event, self.before = replace(event, data=self.before), event.data
        return super().step(event, now_ns)


class Cut(Raw):
    """The last byte of what comes is not handed on."""

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Received) and isinstance(event.pdu, RawData):
            event = Received(replace(event.pdu, payload=event.pdu.payload[:-1]))
        return super().step(event, now_ns)


def raw_run(
    seed: int, connect: Callable[[World], None], to: tuple[int, ...] = NODES, machine: type[Raw] = Raw
) -> Evidence:
    """Every node sends ten messages; the network is `connect`'s doing."""
    world = World(seed)
    for node in NODES:
        world.add(node, machine(Setting(me=node, members=NODES, seed=0), RawOptions()))
    connect(world)
    for round_ in range(10):
        for node in NODES:
            at_ns = world.now + round_ * 1_000_000
            data = b"%d from %d" % (round_, node)
            world.at(at_ns, lambda node=node, data=data: world.submit(node, to, data))  # type: ignore[misc]
    world.run()
    world.mark("end quiet")
    return world.history()


def good_channel(world: World) -> None:
    world.channel(slot_ns=100_000)


def lossy_channel(world: World) -> None:
    world.channel(slot_ns=100_000, loss=lambda pdu, receiver, now: world.random.random() < 0.1)


def reordering_mesh(world: World) -> None:
    world.mesh(lambda pdu, receiver, now: world.random.randint(1, 30_000_000))


def duplicating_channel(world: World) -> None:
    """One message comes to node 2 once more, later."""

    def twice(pdu: Pdu, receiver: int, now: int) -> bool:
        if receiver == 2 and isinstance(pdu, RawData) and pdu.seq == 3:
            world.at(now + 7_000_000, lambda: world.receive(receiver, pdu))
        return False

    world.channel(slot_ns=100_000, loss=twice)


def failing(one: Evidence, *names: str) -> set[str]:
    return {verdict.property for verdict in judge(one, names) if verdict.outcome is Outcome.FAIL}


ALL = (
    "NC",
    "NA",
    "ND",
    "SO",
    "OE",
    "SIP",
    "IE",
    "IP",
    "ST-1",
    "ST-2",
    "ST-3",
    "ST-4",
    "TD-1",
    "CD-1",
    "CD-2",
    "PROGRESS",
)


@pytest.mark.parametrize("seed", range(5))
def test_each_network_breaks_what_it_must_and_nothing_else(seed: int) -> None:
    assert failing(raw_run(seed, good_channel), *ALL) == set()
    lost = {"SIP", "IE", "IP", "ST-2", "ST-4", "TD-1", "CD-1", "CD-2"}
    assert failing(raw_run(seed, lossy_channel), *ALL) == lost
    disorder = {"SO", "OE", "ST-2", "ST-3", "TD-1", "CD-1"}
    found = failing(raw_run(seed, reordering_mesh), *ALL)
    assert disorder <= found
    assert not found & {"NC", "NA", "ND"}
    twice = failing(raw_run(seed, duplicating_channel), *ALL)
    assert {"ND", "ST-1"} <= twice
    assert not twice & {"NC", "SIP", "ST-3", "OE"}


@pytest.mark.parametrize("machine", [Stale, Cut])
def test_other_bytes_are_seen_and_by_nobody_else(machine: type[Raw]) -> None:
    assert failing(raw_run(1, good_channel, machine=machine), *ALL) == {"NA"}


def test_a_pass_needs_the_whole_evidence() -> None:
    one = raw_run(1, good_channel)
    for left_out in (random.Random(2).randrange(len(one.notes)) for _ in range(20)):
        notes = Notes(one.notes[:left_out] + one.notes[left_out + 1 :])
        holed = Evidence(one.nodes, notes, holes=("n1: NOTE missing",))
        assert all(verdict.outcome is Outcome.UNKNOWN for verdict in judge(holed, ALL)), f"without {left_out}"


def test_every_property_that_a_protocol_promises_has_a_judge() -> None:
    known = {each.property for each in judges()}
    for name in NAMES:
        try:
            promised = protocol(name).properties
        except (ImportError, AttributeError):
            continue  # the loader of scenarios complains about it
        assert set(promised) <= known, name


def test_every_judge_bears_an_empty_history() -> None:
    for each in judges():
        (verdict,) = judge(history("start end"), [each.property])
        assert "threw" not in verdict.sentence, verdict
        assert verdict.outcome is not Outcome.FAIL, verdict


# The benchmark judges what it says.


def test_the_benchmarks_history_is_orderly_and_long_enough() -> None:
    one = orderly(2000)
    assert sum(event.kind.name == "DELIVERED" for event in one.notes) == 2000
    for group, properties in GROUPS.items():
        if group != "TD":  # there everybody gets everything
            assert {verdict.outcome for verdict in judge(one, properties)} == {Outcome.PASS}


def test_the_benchmark_reports_growth() -> None:
    ticks = iter(range(1000))
    results = bench_judges(2000, 1, clock=lambda: next(ticks))
    assert [result.group for result in results] == list(GROUPS)
    assert all(result.deliveries == (1000, 2000) and result.seconds == (1, 1) for result in results)
    assert results[0].exponent == 0
