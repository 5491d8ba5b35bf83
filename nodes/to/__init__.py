"""to: totally ordered broadcast on one channel in a cluster whose entities stop and come back (paper 001)."""

from nodes.facet import ProtocolSpec
from nodes.st.notes import State
from nodes.st.transfer import MAX_PAYLOAD
from nodes.to.machine import To
from nodes.to.options import ToOptions
from nodes.to.pdus import PDUS

PROTOCOL = ProtocolSpec(
    name="to",
    transport="channel",
    options=ToOptions,
    make=To,
    properties=("TD-1", "TD-2", "TD-3", "TD-4", "TD-5", "TD-6"),
    notes=(State,),
    pdus=PDUS,
    beats=lambda options: True,
    max_payload=MAX_PAYLOAD,
)
