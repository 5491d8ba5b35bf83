"""DELTA: Δ-causal ordering with bounded tags (paper 002 §3.2, §3.3)."""

from __future__ import annotations

from typing import Annotated

from nodes.wire.table import U8, U16, U64, Of, Payload, Pdu, Proto, Records, SumOf, Vector, pdu


@pdu(Proto.DELTA, 1, "DATA", section="002 §3.3 S4")
class DeltaData(Pdu):
    """(m, CB_m, sender, TS_m, dest_m); CB_m is grouped by destination, in the order of the members."""

    seq: Annotated[int, U64, "number at its origin: incarnation << 32 | count from 1"]
    ts: Annotated[int, U64, "TS_m: the sender's local clock, ns, from 1"]
    ndest: Annotated[int, U16, "length of dest"]
    dest: Annotated[tuple[int, ...], Vector(U16, Of("ndest")), "dest_m"]
    n: Annotated[int, U16, "processes in the group: length of counts"]
    counts: Annotated[tuple[int, ...], Vector(U8, Of("n")), "|CB_m[k]| for each process k"]
    cb: Annotated[tuple[tuple[int, ...], ...], Records((("l", U16), ("x", U64)), SumOf("counts")), "(sender, TS)"]
    payload: Annotated[bytes, Payload(), "what the application gave"]
