"""raw: best-effort broadcast without guarantees. What arrives is delivered, at once, as often as it arrives."""

from nodes.facet import About, ProtocolSpec, by_sender
from nodes.raw.machine import NUMBERING, Raw, RawOptions
from nodes.wire.raw import RawData

PROTOCOL = ProtocolSpec(
    name="raw",
    transport="any",
    options=RawOptions,
    make=Raw,
    lives=NUMBERING.lives,
    properties=("NC", "NA"),
    pdus=(About(pdu=RawData, fields=("seq",), message=by_sender, carries=True),),
)
