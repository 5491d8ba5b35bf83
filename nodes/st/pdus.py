"""What the PDUs of ST say to those who read captures."""

from nodes.facet import About, Lists, Numbers
from nodes.wire.st import StData


def _message(src: Numbers, tseq: Numbers, dst: Lists) -> tuple[Numbers, Numbers]:
    """A DATA PDU without destinations is an ACK PDU (D-ST-8): about no message."""
    carries = dst.counts > 0
    return src * carries, tseq * carries


PDUS = (About(pdu=StData, fields=("tseq", "dst"), message=_message, carries=True),)
