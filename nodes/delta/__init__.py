"""delta: causal order among the messages that arrive within Δ (paper 002)."""

from nodes.delta.machine import Delta
from nodes.delta.notes import Delivered, Dropped, Sent
from nodes.delta.options import DeltaOptions
from nodes.delta.pdus import MOMENT, PDUS
from nodes.delta.rules import silent_until_expiry
from nodes.facet import Milestone, ProtocolSpec

MOST_TAGGED = 256  # nodes of which a set without a bound can have all others: its length is a byte


def misfit(options: DeltaOptions, nodes: int, rate_bps: int) -> str:
    """Sets of all others must be told."""
    if options.scheme == "bounded" or nodes <= MOST_TAGGED:
        return ""
    return f"{options.scheme} has at most {MOST_TAGGED} nodes: the length of a set is a byte"


PROTOCOL = ProtocolSpec(
    name="delta",
    transport="udp",
    clock="local",
    options=DeltaOptions,
    make=Delta,
    misfit=misfit,
    phase=Delta.phase,
    states=Delta.states,
    milestones=(
        Milestone("two messages waited for the end of a silence", ("restart", "SUBMITTED", "SUBMITTED"), ("SENT",)),
        Milestone("an agent died again in its silence", ("restart", "SUBMITTED", "crash"), ("SENT",)),
        Milestone("a message came too late", ("REFUSED late",)),
        Milestone("an agent that stood still delivered what had waited", ("pause", "resume", "DELIVERED"), ("SENT",)),
    ),
    properties=("DC-1", "DC-2", "DC-3", "DC-4", "NA"),
    notes=(Delivered, Dropped, Sent),
    pdus=PDUS,
    moment=MOMENT,
    # So long a message may wait for one that never comes, and who comes back is silent (R7).
    silence_ns=lambda options: silent_until_expiry(options.limit_ns, options.epsilon_ns),
)
