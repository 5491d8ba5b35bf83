"""MAELSTROM: messages of nodes that were written for Maelstrom, each as one PDU or, if it is long, several."""

from __future__ import annotations

from typing import Annotated

from nodes.wire.table import U16, U64, Payload, Pdu, Proto, pdu


@pdu(Proto.MAELSTROM, 1, "MESSAGE", section="ours")
class MaelstromMessage(Pdu):
    """A part of a message to one node."""

    dest: Annotated[int, U16, "the node that it is for"]
    number: Annotated[int, U64, "of the message: the life of its sender << 32 | a count"]
    part: Annotated[int, U16, "which part this is, from 0"]
    parts: Annotated[int, U16, "how many there are"]
    payload: Annotated[bytes, Payload(), "of the JSON object that the node wrote"]
