"""tcp: what paper 003 compares itself with (§3.4.1): connect, send, acknowledge, close, with every other node."""

from nodes.facet import ProtocolSpec
from nodes.him.notes import Delivered, Result
from nodes.tcp.machine import NUMBERING, Tcp
from nodes.tcp.options import TcpOptions

PROTOCOL = ProtocolSpec(
    name="tcp",
    transport="tcp",
    options=TcpOptions,
    make=Tcp,
    lives=NUMBERING.lives,
    properties=("HI-1", "HI-3", "HI-4", "NA"),
    notes=(Delivered, Result),
    max_payload=1184,
    silence_ns=lambda options: options.give_up_ns,
)
