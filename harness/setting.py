"""What a node's machine is told about the world: a function of the scenario, on the network and in memory alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.scenario import Scenario
from nodes.keys import read_key
from nodes.machine import Setting, full_frame_bytes
from nodes.protocols import protocol
from topologies.plan import Plan
from topologies.seeds import seed_for

_PATIENCE = 300  # times the longest time-out ...
_PATIENCE_NS = 10_000_000_000  # ... and not less than that


def setting_of(scenario: Scenario, plan: Plan, me: int, incarnation: int, read_delay_ns: int) -> Setting:
    """For node `me`, at the start of that incarnation, with the reader that it then has."""
    members = tuple(range(1, scenario.topology.nodes + 1))
    key_file = protocol(scenario.protocol).key_file(scenario.options)
    return Setting(
        me=me,
        members=members,
        seed=seed_for(scenario.seed, "machine", f"n{me}"),
        incarnation=incarnation,
        slot_ns=slot_ns(scenario, plan, read_delay_ns),
        buffer_pdus=scenario.node.buffer_pdus,
        hops={other: plan.hops(me, other) for other in members},
        key=read_key(Path(key_file)) if key_file else b"",
    )


def slot_ns(scenario: Scenario, plan: Plan, read_delay_ns: int) -> int:
    """The time for which a full PDU occupies the channel, or a way to a node that is slower from the start, or a slower
    reader; 0: there is none of them."""
    if plan.channel is None:
        return read_delay_ns
    payload = getattr(scenario.workload, "payload", 64)
    frame = full_frame_bytes(scenario.topology.nodes, payload)
    ways = [replace(plan.channel, rate_bps=rate) for one in scenario.impair if (rate := one.impairment.rate_bps)]
    return max(read_delay_ns, *[way.slot_ns(frame) for way in (plan.channel, *ways)])


def livelock_ns(scenario: Scenario, plan: Plan) -> int:
    """For how long frames may flow while nothing is accepted, delivered or decided."""
    if scenario.livelock_ns is not None:
        return scenario.livelock_ns
    facet, options = protocol(scenario.protocol), scenario.options
    slot = slot_ns(scenario, plan, scenario.node.read_delay_ns)
    longest_ns = max(facet.silence_ns(options), facet.longest_wait_ns(options, scenario.topology.nodes, slot))
    return max(_PATIENCE * longest_ns, _PATIENCE_NS)
