"""What the values of CMD's NOTEs say. For the scheme "matrix" counters take the place of s-records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SILENT, RESTARTED = "peer is silent", "peer was restarted"  # the texts of those ALARMs


class Sent(NamedTuple):
    """SENT. V(m) follows, in the order of the members (nothing for the scheme "matrix")."""

    submission: int
    records: int  # s-records that the tags of all copies have in common


def vector(values: Sequence[int]) -> tuple[int, ...]:
    """V(m), as a SENT says it behind its other values."""
    return tuple(values[len(Sent._fields) :])


class Delivered(NamedTuple):
    """DELIVERED."""

    digest: int  # of what was delivered
    waited_ns: int  # in the Queue
    records: int  # of the copy
    mine: int  # those of them that were for this node


class Alarm(NamedTuple):
    """ALARM: a peer was restarted or is silent, or the Queue is full."""

    messages: int  # how many are lost or wait
