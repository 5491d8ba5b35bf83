"""cmd: causal message delivery with vector time and s-records (paper 004)."""

from nodes.cmd.machine import Cmd
from nodes.cmd.notes import Alarm, Delivered, Sent
from nodes.cmd.options import CmdOptions
from nodes.cmd.pdus import MOMENT, PDUS
from nodes.cmd.rules import NUMBERING
from nodes.facet import Milestone, ProtocolSpec

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
    states=Cmd.states,
    milestones=(
        Milestone("a process came back twice", ("restart", "crash", "restart")),
        Milestone("a process had to send before it was welcomed", ("HELLO", "SUBMITTED", "HELLO"), ("DATA",)),
        Milestone("both ends of a link came back", ("restart", "ALARM peer was restarted")),
        Milestone("who was silent was heard again", ("ALARM peer is silent", "DELIVERED")),
        Milestone("the Queue was full", ("ALARM queue full",)),
    ),
    forgets=lambda options: options.scheme != "unpruned",
    silence_ns=lambda options: int(options.retry_max_ns),
)
