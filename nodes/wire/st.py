"""PDUs of ST: selectively totally ordered broadcast on one channel (paper 000).

The field blocks `ClusterPdu`, `DataBlock`, `SnapshotBlock` and `RoundBlock` are shared with TO (nodes/wire/to.py).
Entities are 1..n; element j-1 of a vector is about E_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from nodes.wire.table import U8, U16, U32, Flags, Members, Of, Payload, Pdu, Proto, Vector, pdu

# Flags of every PDU of ST and TO.
NEED = 1  # the sender is unsettled: please acknowledge
RETX = 2  # a retransmission
RESP = 4  # an answer, never to be answered itself
PHASE = 8  # RST_ACK of an entity that is recovering, with a fresh `miss`

FLAGS = Flags(1, "NEED", "RETX", "RESP", "PHASE")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPdu(Pdu):
    """What every PDU of a cluster begins with."""

    cluster: Annotated[int, U16, "the cluster's number"]
    n: Annotated[int, U8, "entities in the cluster"]
    flags: Annotated[int, FLAGS, "NEED please acknowledge, RETX again, RESP answer, PHASE recovering"]
    epoch: Annotated[int, U32, "recovery rounds finished by the sender; of RST*: the round"]
    tseq: Annotated[int, U32, "TSEQ of this PDU; of RST*: the sender's next"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataBlock(ClusterPdu):
    """Data transfer. With no destination it is an ACK PDU, which consumes a TSEQ (D-ST-8)."""

    buf: Annotated[int, U16, "free buffers of the sender, in PDUs"]
    dst: Annotated[tuple[int, ...], Members("n"), "DST: the destinations"]
    ack: Annotated[tuple[int, ...], Vector(U32, Of("n")), "ACK_j: TSEQ expected next from E_j"]
    pseq: Annotated[tuple[int, ...], Vector(U32, Of("n")), "PSEQ_j: number among those for E_j (stamped, then moved)"]
    if TYPE_CHECKING:
        payload: bytes  # on the wire the last field of each kind, behind what it adds


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotBlock(ClusterPdu):
    """What the sender had received when it stopped its data transfer for the round."""

    a_t: Annotated[tuple[int, ...], Vector(U32, Of("n")), "TREQ_j at the start of the round"]
    a_p: Annotated[tuple[int, ...], Vector(U32, Of("n")), "PREQ_j at the start of the round"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBlock(SnapshotBlock):
    """The second phase of a round: how far the sender had sent, where the line is, what it still misses."""

    d: Annotated[tuple[int, ...], Vector(U32, Of("n")), "PSEQ_j: number of the next PDU for E_j"]
    c: Annotated[tuple[int, ...], Vector(U32, Of("n")), "the failure line: PDUs of E_j from this TSEQ on are behind it"]
    lo: Annotated[tuple[int, ...], Vector(U32, Of("n")), "the first PDU of E_j that the sender misses now"]
    words: Annotated[int, U8, "words of `held` per entity"]
    held: Annotated[tuple[int, ...], Vector(U32, Of("n", "words")), "bit b of E_j: PSEQ lo+1+b is held; top word first"]


@pdu(Proto.ST, 1, "DATA", section="000 §3.1")
class StData(DataBlock):
    """One PDU of the data transfer; with no destination it is an ACK PDU."""

    payload: Annotated[bytes, Payload(), "what the application gave"]


@pdu(Proto.ST, 2, "RST", section="000 §4.2 (1)")
class StRst(SnapshotBlock):
    """I have lost a PDU that was for me."""


@pdu(Proto.ST, 3, "RST_PAK", section="000 §4.2 (2)")
class StRstPak(SnapshotBlock):
    """I have stopped; this is what I have."""


@pdu(Proto.ST, 4, "RST_ACK", section="000 §4.2 (3)")
class StRstAck(RoundBlock):
    """I know what everybody has; this is where I stand and what I miss."""
