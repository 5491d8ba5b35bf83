"""What a node's machine is told about the world: a function of the scenario, on the network and in memory alike."""

from __future__ import annotations

from pathlib import Path

from harness.scenario import Scenario
from nodes.keys import read_key
from nodes.machine import Setting, full_frame_bytes
from nodes.protocols import protocol
from topologies.plan import Plan
from topologies.seeds import seed_for


def setting_of(scenario: Scenario, plan: Plan, me: int, incarnation: int, read_delay_ns: int) -> Setting:
    """For node `me`, at the start of that incarnation, with the reader that it then has."""
    members = tuple(range(1, scenario.topology.nodes + 1))
    slot_ns = 0
    if plan.channel is not None:
        payload = getattr(scenario.workload, "payload", 64)
        slot_ns = plan.channel.slot_ns(full_frame_bytes(len(members), payload))
    key_file = protocol(scenario.protocol).key_file(scenario.options)
    return Setting(
        me=me,
        members=members,
        seed=seed_for(scenario.seed, "machine", f"n{me}"),
        incarnation=incarnation,
        slot_ns=max(slot_ns, read_delay_ns),
        buffer_pdus=scenario.node.buffer_pdus,
        hops={other: plan.hops(me, other) for other in members},
        key=read_key(Path(key_file)) if key_file else b"",
    )
