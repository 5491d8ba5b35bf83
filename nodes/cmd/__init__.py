"""cmd: causal message delivery with vector time and s-records (paper 004)."""

from nodes.cmd.machine import Cmd
from nodes.cmd.notes import Alarm, Delivered, Sent
from nodes.cmd.options import CmdOptions
from nodes.cmd.pdus import MOMENT, PDUS
from nodes.cmd.rules import NUMBERING
from nodes.facet import ProtocolSpec

PROTOCOL = ProtocolSpec(
    name="cmd",
    transport="udp",
    options=CmdOptions,
    make=Cmd,
    lives=NUMBERING.lives,
    properties=("CD-1", "CD-2", "CD-3", "NA"),
    notes=(Alarm, Delivered, Sent),
    pdus=PDUS,
    moment=MOMENT,
    phase=Cmd.phase,
    silence_ns=lambda options: int(options.retry_max_ns),
)
