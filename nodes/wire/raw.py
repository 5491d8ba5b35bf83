"""RAW: best effort without any guarantee; the control of every experiment."""

from __future__ import annotations

from typing import Annotated

from nodes.wire.table import U16, U32, Of, Payload, Pdu, Proto, Vector, pdu


@pdu(Proto.RAW, 1, "DATA", section="ours")
class RawData(Pdu):
    """One message, sent once."""

    seq: Annotated[int, U32, "number at its origin, from 1"]
    ndest: Annotated[int, U16, "length of dest"]
    dest: Annotated[tuple[int, ...], Vector(U16, Of("ndest")), "destinations"]
    payload: Annotated[bytes, Payload(), "what the application gave"]
