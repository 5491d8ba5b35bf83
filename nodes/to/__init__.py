"""to: totally ordered broadcast on one channel in a cluster whose entities stop and come back (paper 001)."""

from nodes.facet import Milestone, ProtocolSpec
from nodes.st.limits import misfit
from nodes.st.notes import State
from nodes.st.options import Timing
from nodes.st.transfer import MAX_PAYLOAD
from nodes.to.machine import To
from nodes.to.options import ToOptions, ViewTiming
from nodes.to.pdus import PDUS
from nodes.to.views import LIVES
from nodes.wire.table import greatest
from nodes.wire.to import ToData, ToRstAck


def longest_wait_ns(options: ToOptions, nodes: int, slot_ns: int) -> int:
    """T_stop."""
    return ViewTiming.of(options, Timing.of(options.transfer(), nodes, slot_ns), nodes, slot_ns).stop


PROTOCOL = ProtocolSpec(
    name="to",
    transport="channel",
    options=ToOptions,
    make=To,
    most_nodes=greatest(ToData, "n"),
    misfit=lambda options, nodes, rate_bps: misfit(ToData, ToRstAck, options.transfer(), nodes, rate_bps),
    lives=LIVES,
    properties=("TD-1", "TD-2", "TD-3", "TD-4", "TD-5", "TD-6", "NA"),
    notes=(State,),
    pdus=PDUS,
    longest_wait_ns=longest_wait_ns,
    beats=lambda options: True,
    max_payload=MAX_PAYLOAD,
    phase=To.phase,
    states=To.states,
    milestones=(
        Milestone("a joiner died between its two acknowledgements", ("RCV", "RCV_PACK", "crash"), ("RCV_ACK",)),
        Milestone("a member died while it took part in a stop round", ("STATE stopping", "crash"), ("STATE normal",)),
        Milestone("two rounds overlapped", ("STATE ACKWAIT", "STATE PAKWAIT"), ("STATE DATA",)),
        Milestone("a stop round began in a join", ("STATE admitting", "STATE stopping"), ("STATE normal",)),
        Milestone("who had no quorum got one again", ("ALARM no quorum", "VIEW")),
        Milestone("who had come back left again", ("LEFT", "STATE normal", "LEFT")),
    ),
)
