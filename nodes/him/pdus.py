"""What the packets of HIM say to those who read captures."""

from nodes.facet import About, by_origin
from nodes.wire.him import HimAnswer, HimConfirm, HimData, HimEnd, HimQuery, HimReport

PDUS = tuple(
    About(pdu=packet, fields=("origin", "seq"), message=by_origin, carries=packet is HimData)
    for packet in (HimData, HimQuery, HimAnswer, HimReport, HimEnd, HimConfirm)
)
