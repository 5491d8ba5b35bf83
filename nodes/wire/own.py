"""OWN: what a program of the user's own sends. The program says what its bytes mean; we know whom they are about."""

from __future__ import annotations

from typing import Annotated

from nodes.wire.table import U8, U16, U64, Payload, Pdu, Proto, pdu


@pdu(Proto.OWN, 1, "PDU", section="ours")
class OwnPdu(Pdu):
    """One PDU of a program: its kind, the message that it carries or is about, and bytes."""

    kind: Annotated[int, U8, "the program's own numbering"]
    origin: Annotated[int, U16, "of the message, or 0"]
    seq: Annotated[int, U64, "number of the message at its origin, or 0"]
    payload: Annotated[bytes, Payload(), "as the program says"]
