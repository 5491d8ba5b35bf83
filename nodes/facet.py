"""What readers of captures must know of a protocol's PDUs: plain data and pure functions, exported with its PROTOCOL.

The functions take numbers, or whole columns of them: the same arithmetic holds for both. A field that is a list comes
as a column of lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from nodes.wire import Pdu

Numbers: TypeAlias = Any  # an int, or an array of them: machines do not import numpy


class Lists(Protocol):
    """A column of lists of numbers."""

    @property
    def counts(self) -> Numbers:
        """How many elements each has."""

    def at(self, place: Numbers) -> Numbers:
        """The element at this place of each, from 0; 0 where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Which message a type of PDU carries or is about, named as NOTEs name it, and what its tag is."""

    pdu: type[Pdu]
    fields: tuple[str, ...]  # what `message` is told, behind the PDU's sender
    message: Callable[..., tuple[Numbers, Numbers]]  # its origin and its number there; 0 and 0: about none
    carries: bool = False  # it carries the message: whoever has it can deliver
    tag: str = ""  # the field that holds the entries of the tag
    tag_bytes: Callable[[int, Numbers], Numbers] | None = None  # how long the tag is: number of nodes, of entries


def by_sender(src: Numbers, seq: Numbers) -> tuple[Numbers, Numbers]:
    """Its sender's message of that number."""
    return src, seq


def by_origin(src: Numbers, origin: Numbers, seq: Numbers) -> tuple[Numbers, Numbers]:
    """The message that it names."""
    return origin, seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When the protocol's rule allows a delivery, beyond that all before it in causal order must be delivered.

    A time stamp is the sender's clock as SENT tells it; the limits hold by the receiver's clock.
    """

    # Options -> at which age a message is waited for no longer; None: it is waited for until it comes.
    expires_ns: Callable[[Any], int] | None = None
    stamp: Callable[[Sequence[int]], int] = lambda values: 0  # values of SENT -> the message's time stamp
    # Options, receiver, time stamp, `told` of the PDU -> the time before which it may not be delivered.
    not_before_ns: Callable[..., int] | None = None
    told: tuple[str, ...] = ()
