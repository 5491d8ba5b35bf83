"""own: a program of yours, in any language, that answers lines on its standard input (docs/own-node.md)."""

from nodes.machine import ProtocolSpec
from nodes.own.options import OwnOptions
from nodes.program import Program

PROTOCOL = ProtocolSpec(
    name="own", transport="channel", options=OwnOptions, make=Program, properties=("NC",),
    beats=lambda options: bool(options.heartbeats), max_payload=1200,
)  # fmt: skip
