"""NOTE: what a node does that the wire does not show, sent to its own loopback and captured there.

Numbered without holes per node and incarnation, so that a hole in a capture is seen. A message is named by its
origin and its `seq`; `seq` is unique per origin in the whole run and grows in the order of sending (protocols
whose numbers restart put the incarnation above them: incarnation << 32 | number).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, NamedTuple, TypeVar

from nodes.wire.table import I64, U8, U16, U32, U64, Of, Payload, Pdu, Proto, Vector, pdu


class NoteKind(IntEnum):
    """What happened. The arguments of each kind: peers; values (below, or in the protocol's package); text."""

    READY = 1  # the node's process is up                        values: Ready
    SUBMITTED = (
        2  # the application handed over a message         seq: its number; peers: destinations; values: Submitted
    )
    SENT = 3  # the message became a PDU (origin, seq)             peers: destinations; values: Sent, and more
    ACCEPTED = 4  # ST, TO: into RRL                               text: the rule
    PREACKED = 5  # ST, TO: RRL -> PRL                             text: the rule
    CONFIRMED = 6  # ST, TO: PRL -> ARL                            text: the rule
    DELIVERED = 7  # to the application (origin, seq)              values: Delivered, and more
    VIEW = 8  # a view was installed                               peers: its members; seq: number; text: why
    ALARM = 9  # a person should look                              peers: whom it is about; text: why
    CLOCK = 10  # the harness moved the local clock                values: ClockSet
    REFUSED = 11  # a submission or a PDU was refused              text: why; of a submission values: Refused
    STATE = 12  # machine state for the report                     text: a mode, or the names of values
    FAULT = 13  # harness: a fault begins or ends                  peers: nodes; text: kind and arguments
    MARK = 14  # harness: probe, start, heal, never, end           text: which; values: Never, Over
    END = 15  # the node stops as asked                            values: End
    RESULT = 16  # what the sender was told (HIM: SUCCESS/FAIL)     peers: suspects; text: outcome
    LEFT = 17  # the node left the group by itself                 text: why
    MEASURED = 18  # a quantity of the machine, e.g. a wait        text: name; values: numbers


# What the values of a NOTE say, by kind. A protocol that says more has tuples of its own, in nodes/PROTOCOL/notes.py:
# they begin like these, so that what all protocols have in common is read in one way.


class Ready(NamedTuple):
    """READY."""

    true_ns: int  # at which the local clock was read


class Submitted(NamedTuple):
    """SUBMITTED."""

    digest: int  # of the payload


class Delivered(NamedTuple):
    """DELIVERED: what every protocol says first."""

    digest: int  # of what was delivered


class Sent(NamedTuple):
    """SENT: what every protocol says first."""

    submission: int  # its number


class Refused(NamedTuple):
    """REFUSED, of a submission. ST and TO give its number as `seq` instead."""

    submission: int


class ClockSet(NamedTuple):
    """CLOCK."""

    offset_ns: int  # local minus true time
    drift_ppb: int


class Over(NamedTuple):
    """MARK end."""

    quiet: int  # 1: all was settled; 0: the time was over


class Never(NamedTuple):
    """MARK never: a fault of the scenario did not happen."""

    fault: int  # its number, from 1


class End(NamedTuple):
    """END: the totals of the node's process."""

    notes: int  # this one included
    sent: int  # PDUs
    received: int
    settled: int  # 1: the machine owed nothing


Meaning = TypeVar("Meaning", bound=NamedTuple)


def digest_of(payload: bytes) -> int:
    """So much of a hash (SHA-256) as a browser's numbers hold: nobody delivers other bytes unseen.

    A CRC would be cheaper, but is blind to just those damages that the check of the PDU has missed.
    """
    return int.from_bytes(hashlib.sha256(payload).digest()[:6])


def submission(kind: NoteKind, seq: int, values: Sequence[int]) -> int:
    """Which submission a SUBMITTED, a SENT, or the REFUSED of a submission is about."""
    return seq if kind is NoteKind.SUBMITTED or not values else values[0]


def said(meaning: type[Meaning], values: Sequence[int]) -> Meaning | None:
    """The values of a NOTE by their names; None if there are fewer. What may follow (a vector) is not among them."""
    count = len(meaning._fields)
    return meaning._make(values[:count]) if len(values) >= count else None


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
