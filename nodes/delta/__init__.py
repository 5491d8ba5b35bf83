"""delta: causal order among the messages that arrive within Δ (paper 002)."""

from nodes.delta.machine import Delta
from nodes.delta.notes import Delivered, Dropped, Sent
from nodes.delta.options import DeltaOptions
from nodes.delta.pdus import MOMENT, PDUS
from nodes.facet import ProtocolSpec

PROTOCOL = ProtocolSpec(
    name="delta",
    transport="udp",
    options=DeltaOptions,
    make=Delta,
    properties=("DC-1", "DC-2", "DC-3", "DC-4"),
    notes=(Delivered, Dropped, Sent),
    pdus=PDUS,
    moment=MOMENT,
    silence_ns=lambda options: int(options.limit_ns),  # a message may wait so long for one that never comes
)
