"""What the PDUs of TO say to those who read captures."""

from nodes.facet import About, Lists, Numbers
from nodes.wire.to import ToData


def _message(src: Numbers, tseq: Numbers, dst: Lists, v: Lists) -> tuple[Numbers, Numbers]:
    """The sender's incarnation stands in its own element of V (paper 001 §3); an ACK PDU has no destinations."""
    carries = dst.counts > 0
    return src * carries, (v.at(src - 1) >> 1 << 32 | tseq) * carries


PDUS = (About(pdu=ToData, fields=("tseq", "dst", "v"), message=_message, carries=True),)
