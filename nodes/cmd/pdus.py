"""What the PDUs of causal delivery say to those who read captures, and when a message may be delivered."""

from nodes.facet import About, Moment, by_sender
from nodes.wire.cmd import CmdData, CmdMatrix

PDUS = (
    About(
        pdu=CmdData,
        fields=("t",),
        message=by_sender,
        carries=True,
        tag="r",
        tag_bytes=lambda nodes, records: 4 * nodes + 8 * records,
    ),
    About(
        pdu=CmdMatrix,
        fields=("t",),
        message=by_sender,
        carries=True,
        tag_bytes=lambda nodes, _: 4 * nodes * nodes,  # counters, and no entries
    ),
)

MOMENT = Moment()  # as soon as all before it are there
