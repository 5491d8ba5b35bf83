"""NOTE: what a node does that the wire does not show, sent to its own loopback and captured there.

Numbered without holes per node and incarnation, so that a hole in a capture is seen. A message is named by its
origin and its `seq`; `seq` is unique per origin in the whole run and grows in the order of sending (protocols
whose numbers restart put the incarnation above them: incarnation << 32 | number).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from nodes.wire.table import I64, U8, U16, U32, U64, Of, Payload, Pdu, Proto, Vector, pdu


class NoteKind(IntEnum):
    """What happened. The arguments of each kind: peers; values; text."""

    READY = 1  # the node's process is up                        values: true time at which its local clock was read
    SUBMITTED = 2  # the application handed over a message         seq: number of the submission; peers: destinations
    SENT = 3  # the message became a PDU (origin, seq)             peers: destinations; values: number of the submission
    ACCEPTED = 4  # ST, TO: into RRL                               text: the rule
    PREACKED = 5  # ST, TO: RRL -> PRL                             text: the rule
    CONFIRMED = 6  # ST, TO: PRL -> ARL                            text: the rule
    DELIVERED = 7  # to the application (origin, seq)              values: as the protocol says
    VIEW = 8  # a view was installed                               peers: its members; seq: number; text: why
    ALARM = 9  # a person should look                              peers: whom it is about; text: why
    CLOCK = 10  # the harness moved the local clock                values: offset ns, drift ppb
    REFUSED = 11  # a submission or a PDU was refused              text: why
    STATE = 12  # machine state for the report                     text: names, values: numbers
    FAULT = 13  # harness: a fault begins or ends                  peers: nodes; text: kind and arguments
    MARK = 14  # harness: probe, start, heal, end                  text: which
    END = 15  # the node stops as asked                            values: notes sent, PDUs sent, received, refused
    RESULT = 16  # what the sender was told (HIM: SUCCESS/FAIL)     peers: suspects; text: outcome
    LEFT = 17  # the node left the group by itself                 text: why
    MEASURED = 18  # a quantity of the machine, e.g. a wait        text: name; values: numbers


@pdu(Proto.NOTE, 1, "NOTE", section="ours")
class Note(Pdu):
    """One event at one node; src 0 is the harness."""

    kind: Annotated[int, U8, "NoteKind"]
    incarnation: Annotated[int, U16, "of the node's process, from 1"]
    number: Annotated[int, U32, "of the NOTE, from 1, per incarnation"]
    local_ns: Annotated[int, U64, "the node's local clock"]
    about: Annotated[int, U16, "origin of the message it is about, or 0"]
    seq: Annotated[int, U64, "the message's number at its origin"]
    npeers: Annotated[int, U16, "length of peers"]
    nvalues: Annotated[int, U8, "length of values"]
    peers: Annotated[tuple[int, ...], Vector(U16, Of("npeers")), "nodes"]
    values: Annotated[tuple[int, ...], Vector(I64, Of("nvalues")), "numbers"]
    text: Annotated[bytes, Payload(), "UTF-8"]
