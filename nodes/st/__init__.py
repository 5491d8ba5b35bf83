"""st: selectively totally ordered broadcast on one channel (paper 000)."""

from nodes.facet import ProtocolSpec
from nodes.st.machine import St
from nodes.st.notes import State
from nodes.st.options import StOptions
from nodes.st.pdus import PDUS
from nodes.st.transfer import MAX_PAYLOAD

PROTOCOL = ProtocolSpec(
    name="st",
    transport="channel",
    options=StOptions,
    make=St,
    properties=("ST-1", "ST-2", "ST-3", "ST-4", "ST-5"),
    notes=(State,),
    pdus=PDUS,
    max_payload=MAX_PAYLOAD,
)
