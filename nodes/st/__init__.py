"""st: selectively totally ordered broadcast on one channel (paper 000)."""

from nodes.facet import Milestone, ProtocolSpec
from nodes.st.limits import misfit
from nodes.st.machine import St
from nodes.st.notes import State
from nodes.st.options import StOptions, Timing
from nodes.st.pdus import PDUS
from nodes.st.transfer import MAX_PAYLOAD
from nodes.wire.st import StData, StRstAck
from nodes.wire.table import greatest


def longest_wait_ns(options: StOptions, nodes: int, slot_ns: int) -> int:
    """T_r, as late as it may be."""
    timing = Timing.of(options, nodes, slot_ns)
    return timing.round + timing.period


PROTOCOL = ProtocolSpec(
    name="st",
    transport="channel",
    options=StOptions,
    make=St,
    most_nodes=greatest(StData, "n"),
    misfit=lambda options, nodes, rate_bps: misfit(StData, StRstAck, options, nodes, rate_bps),
    properties=("ST-1", "ST-2", "ST-3", "ST-4", "ST-5", "NA"),
    notes=(State,),
    pdus=PDUS,
    counted=True,
    longest_wait_ns=longest_wait_ns,
    max_payload=MAX_PAYLOAD,
    phase=lambda entity: str(entity.core.phase.mode.value),
    states=lambda entity: {0: entity.core.phase.mode.value},
    milestones=(
        Milestone("a round followed at once on a round", ("STATE RECOV", "STATE DATA", "STATE PAKWAIT"), ("DATA",)),
        Milestone("a snapshot was said again", ("RST_PAK", "RST_PAK"), ("STATE ACKWAIT", "STATE DATA")),
        Milestone("an entity stood still in a round", ("STATE PAKWAIT", "pause", "resume"), ("STATE DATA",)),
        Milestone(
            "an entity was cut off when all snapshots were known", ("STATE ACKWAIT", "partition"), ("STATE DATA",)
        ),
    ),
)
