"""CMD: causal delivery with vector time and s-records (paper 004 §3), and the reliable sub-layer below it.

The sub-layer is ours: the paper asks for channels that lose nothing. Its four fields stand first in every PDU
that it repeats: whose incarnation sent it, for which incarnation of the receiver, the copy's number on that link, and
how often it was sent before.
"""

from __future__ import annotations

from typing import Annotated

from nodes.wire.table import U8, U16, U32, Of, Payload, Pdu, Proto, Records, Vector, pdu


@pdu(Proto.CMD, 1, "DATA", section="004 §3.3")
class CmdData(Pdu):
    """The copy of a message for one destination: V(m) and R(m)."""

    incarnation: Annotated[int, U16, "of the sender"]
    to_incarnation: Annotated[int, U16, "of the receiver, as the sender knows it"]
    link: Annotated[int, U32, "number of this copy from this sender to this receiver, from 1"]
    repeated: Annotated[int, U8, "how often this copy was sent before"]
    t: Annotated[int, U32, "local time of the send: V(m)[src]"]
    n: Annotated[int, U16, "processes: length of v"]
    nrec: Annotated[int, U16, "number of s-records"]
    v: Annotated[tuple[int, ...], Vector(U32, Of("n")), "V(m), in the order of the processes"]
    r: Annotated[
        tuple[tuple[int, ...], ...],
        Records((("k", U16), ("l", U16), ("t", U32)), Of("nrec")),
        "R(m): P_k sent to P_l at its time t",
    ]
    payload: Annotated[bytes, Payload(), "what the application gave"]


@pdu(Proto.CMD, 2, "MATRIX", section="baseline of 004 §1")
class CmdMatrix(Pdu):
    """The copy of a message for one destination, ordered by an N x N matrix of counters instead."""

    incarnation: Annotated[int, U16, "of the sender"]
    to_incarnation: Annotated[int, U16, "of the receiver, as the sender knows it"]
    link: Annotated[int, U32, "number of this copy from this sender to this receiver, from 1"]
    repeated: Annotated[int, U8, "how often this copy was sent before"]
    t: Annotated[int, U32, "number of the message at its origin"]
    n: Annotated[int, U16, "processes"]
    sent: Annotated[tuple[int, ...], Vector(U32, Of("n", "n")), "row k, column l: messages from P_k to P_l"]
    payload: Annotated[bytes, Payload(), "what the application gave"]


@pdu(Proto.CMD, 3, "ACK", section="ours, sub-layer")
class CmdAck(Pdu):
    """What has arrived on a link."""

    incarnation: Annotated[int, U16, "of the sender of this acknowledgement"]
    to_incarnation: Annotated[int, U16, "of the node whose copies are acknowledged"]
    upto: Annotated[int, U32, "every copy up to this number is here"]
    link: Annotated[int, U32, "and so is the copy that is answered"]
    repeated: Annotated[int, U8, "as that copy says: which of its sendings is answered"]


@pdu(Proto.CMD, 4, "HELLO", section="ours, sub-layer")
class CmdHello(Pdu):
    """I was restarted: what you sent to an earlier incarnation of me is lost."""

    incarnation: Annotated[int, U16, "of the sender"]


@pdu(Proto.CMD, 5, "WELCOME", section="ours, sub-layer")
class CmdWelcome(Pdu):
    """The answer to HELLO: here begins what I send to this incarnation of you."""

    incarnation: Annotated[int, U16, "of the sender"]
    to_incarnation: Annotated[int, U16, "of the receiver, as it said"]
    mark: Annotated[int, U32, "nothing with t up to this will come"]
