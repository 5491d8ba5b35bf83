"""The network in memory: ways from the plan, and what an interface does to a packet."""

from __future__ import annotations

import pytest

from harness.explore.memory import carry_out
from harness.explore.netem import Netem
from harness.explore.stage import START_NS
from harness.explore.ways import CHANNEL, Step, way
from harness.scenario import loads
from nodes.wire.note import NoteKind
from topologies.distributions import Normal
from topologies.impairments import GilbertElliott, Impairment
from topologies.kinds import build
from topologies.plan import Channel

MS = 1_000_000


def flat(steps: list[Step]) -> list[tuple[str, int]]:
    return [found for step in steps for found in ((step.interface, step.receiver), *flat(step.after))]


def test_a_channel_is_passed_once_by_all_the_sender_included() -> None:
    plan = build("one_channel", 3, channel=Channel(10_000_000))
    assert flat(way(plan, 2, (1, 2, 3))) == [
        ("n2-eth0", 0),
        (CHANNEL, 0),
        ("s1-eth1", 1),
        ("s1-eth2", 2),
        ("s1-eth3", 3),
    ]


def test_behind_routers_the_common_part_is_passed_once() -> None:
    plan = build("two_sites", 4)
    steps = flat(way(plan, 1, (2, 3, 4)))
    assert [receiver for _, receiver in steps if receiver] == [3, 2, 4] or sorted(r for _, r in steps if r) == [2, 3, 4]
    assert sum(interface == "r1-eth1" for interface, _ in steps) == 1  # one copy over the long cable, for 2 and 4
    assert {interface for interface, receiver in steps if receiver} == {"s1-eth3", "s2-eth2", "s2-eth4"}


@pytest.mark.parametrize("kind", ["star", "line", "ring", "tree", "mesh", "lan"])
def test_every_way_ends_at_the_port_of_its_receiver(kind: str) -> None:
    plan = build(kind, 5)
    for source in range(1, 6):
        others = [other for other in range(1, 6) if other != source]
        steps = flat(way(plan, source, others))
        assert {receiver: interface for interface, receiver in steps if receiver} == {
            other: plan.port_towards(f"n{other}").interface for other in others
        }


def test_a_rate_lets_one_packet_after_another_through() -> None:
    netem = Netem(Impairment(delay_ns=MS, rate_bps=8_000_000), seed=1)
    first, second = netem.departures(0, 1000), netem.departures(0, 500)
    assert (first, second) == ([2 * MS], [2 * MS + MS // 2])
    assert netem.departures(100 * MS, 1000) == [102 * MS]


def test_shares_are_kept() -> None:
    draws = 4000

    def count(impairment: Impairment) -> float:
        netem = Netem(impairment, seed=3)
        return sum(len(netem.departures(0, 100)) for _ in range(draws)) / draws

    assert count(Impairment(loss=0.25)) == pytest.approx(0.75, abs=0.03)
    assert count(Impairment(duplicate=0.2)) == pytest.approx(1.2, abs=0.03)
    assert count(Impairment(corrupt=0.1)) == pytest.approx(0.9, abs=0.03)
    bursts = GilbertElliott(good_to_bad=0.1, bad_to_good=0.3)
    assert count(Impairment(loss_model=bursts)) == pytest.approx(1 - bursts.loss_share(), abs=0.04)


def test_delays_spread_as_they_are_said_to() -> None:
    uniform = Netem(Impairment(delay_ns=10 * MS, jitter_ns=5 * MS), seed=1)
    seen = [uniform.departures(0, 100)[0] for _ in range(2000)]
    assert 5 * MS <= min(seen) < 6 * MS and 14 * MS < max(seen) <= 15 * MS
    normal = Netem(Impairment(delay_ns=20 * MS, jitter_ns=2 * MS, distribution=Normal()), seed=1)
    seen = [normal.departures(0, 100)[0] for _ in range(2000)]
    assert sum(seen) / len(seen) == pytest.approx(20 * MS, rel=0.02)
    hasty = Netem(Impairment(delay_ns=10 * MS, reorder=0.5), seed=1)
    assert {hasty.departures(0, 100)[0] for _ in range(50)} == {0, 10 * MS}


def test_what_waits_is_lost_when_another_impairment_takes_its_place() -> None:
    case = loads(
        """
name = "slow"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 2
channel = { rate = "10mbit" }
[[impair]]
on = "s1>n2"
rate = "100kbit"
[workload]
kind = "script"
[[workload.message]]
at = "0s"
node = "n1"
[[workload.message]]
at = "2ms"
node = "n1"
[[fault]]
kind = "impair"
at = "1ms"
on = "s1>n2"
"""
    )
    events = carry_out(case).world.events
    delivered = [(event.node, event.seq) for event in events if event.kind is NoteKind.DELIVERED and event.node == 2]
    assert [seq & 0xFF for _, seq in delivered] == [2]  # the first does not come later


def test_nothing_is_left_of_impairments_that_overlapped() -> None:
    """The later one does not bring back the earlier one, which has ended meanwhile."""
    case = loads(
        """
name = "overlap"
protocol = "raw"
[topology]
kind = "lan"
nodes = 2
[workload]
kind = "script"
[[workload.message]]
at = "25ms"
node = "n1"
[[workload.message]]
at = "45ms"
node = "n1"
[[fault]]
kind = "impair"
at = "10ms"
for = "20ms"
on = "receivers"
loss = "100%"
[[fault]]
kind = "impair"
at = "20ms"
for = "20ms"
on = "receivers"
delay = "1ms"
"""
    )
    events = carry_out(case).world.events
    delivered = [event.time_ns - START_NS for event in events if event.kind is NoteKind.DELIVERED and event.node == 2]
    assert delivered == [26 * MS, 45 * MS]
