"""PDUs of TO with dynamic clusters: entities that stop and come back (paper 001).

Data transfer and recovery rounds are those of ST with everybody as destination, hence with one PSEQ counter. Every
PDU carries two views, one number per entity: incarnation << 1 | stopped (the paper's BMAP, D-TO-3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from nodes.wire.st import ClusterPdu, DataBlock, RoundBlock, SnapshotBlock
from nodes.wire.table import U32, Exactly, Of, Payload, Proto, Vector, pdu


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBlock(ClusterPdu):
    """A PDU of the view control."""

    v: Annotated[tuple[int, ...], Vector(U32, Of("n")), "V: incarnation << 1 | stopped of each entity, as I know it"]
    committed: Annotated[tuple[int, ...], Vector(U32, Of("n")), "the view I committed last, coded like V"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopBlock(ViewBlock):
    """A PDU of a stop round."""

    ack: Annotated[tuple[int, ...], Vector(U32, Of("n")), "REQ_j: SEQ expected next from E_j"]
    round: Annotated[int, U32, "the recovery round I am in if its line is known to me, or 0"]
    c: Annotated[tuple[int, ...], Vector(U32, Of("n")), "that line (D-TO-9)"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinBlock(ViewBlock):
    """A PDU of a join."""

    ack: Annotated[tuple[int, ...], Vector(U32, Of("n")), "REQ_j: SEQ expected next from E_j"]
    nxt: Annotated[int, U32, "NXT: the SEQ I send next, frozen since the join began (D-TO-14)"]
    nxtp: Annotated[int, U32, "NXTP: the PSEQ I send next, frozen"]


@pdu(Proto.TO, 1, "DATA", section="001 §3.2")
class ToData(DataBlock):
    """One PDU of the data transfer; with no destination it is an ACK PDU."""

    pseq: Annotated[tuple[int, ...], Vector(U32, Exactly(1)), "PSEQ: number among the data PDUs, which are for all"]
    v: Annotated[tuple[int, ...], Vector(U32, Of("n")), "V: incarnation << 1 | stopped of each entity, as I know it"]
    committed: Annotated[tuple[int, ...], Vector(U32, Of("n")), "the view I committed last, coded like V"]
    payload: Annotated[bytes, Payload(), "what the application gave"]


@pdu(Proto.TO, 2, "RST", section="000 §4.2 (1)")
class ToRst(SnapshotBlock):
    """I have lost a PDU."""

    v: Annotated[tuple[int, ...], Vector(U32, Of("n")), "V"]
    committed: Annotated[tuple[int, ...], Vector(U32, Of("n")), "the committed view"]


@pdu(Proto.TO, 3, "RST_PAK", section="000 §4.2 (2)")
class ToRstPak(SnapshotBlock):
    """I have stopped sending; this is what I have."""

    v: Annotated[tuple[int, ...], Vector(U32, Of("n")), "V"]
    committed: Annotated[tuple[int, ...], Vector(U32, Of("n")), "the committed view"]


@pdu(Proto.TO, 4, "RST_ACK", section="000 §4.2 (3)")
class ToRstAck(RoundBlock):
    """I know the line; this is where I stand and what I miss."""

    d: Annotated[tuple[int, ...], Vector(U32, Exactly(1)), "PSEQ of my next data PDU"]
    v: Annotated[tuple[int, ...], Vector(U32, Of("n")), "V"]
    committed: Annotated[tuple[int, ...], Vector(U32, Of("n")), "the committed view"]


@pdu(Proto.TO, 5, "STOP", section="001 §3.2 (1)")
class ToStop(StopBlock):
    """I hold an entity for stopped."""


@pdu(Proto.TO, 6, "STOP_PACK", section="001 §3.2 (2)")
class ToStopPack(StopBlock):
    """I know of it; this is what I have of everybody."""


@pdu(Proto.TO, 7, "STOP_ACK", section="001 §3.2 (3)")
class ToStopAck(StopBlock):
    """I know what everybody has; `ack` is REQ*: what will be kept of the stopped."""


@pdu(Proto.TO, 8, "RCV", section="001 §3.3 (1)")
class ToRcv(ViewBlock):
    """I am back, as a new incarnation that knows nothing."""


@pdu(Proto.TO, 9, "RCV_PACK", section="001 §3.3 (2)")
class ToRcvPack(JoinBlock):
    """I know of the join; this is where I begin to send after it."""


@pdu(Proto.TO, 10, "RCV_ACK", section="001 §3.3 (3)")
class ToRcvAck(JoinBlock):
    """I know where everybody begins, and I have everything before."""


ToPdu = (
    ToData | ToRst | ToRstPak | ToRstAck | ToStop | ToStopPack | ToStopAck | ToRcv | ToRcvPack | ToRcvAck
)  # whatever carries views
