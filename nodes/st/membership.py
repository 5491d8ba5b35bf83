"""Who belongs to the cluster: what the data transfer and the recovery rounds ask, and ST's answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from nodes.st.round import Round
from nodes.wire.st import ClusterPdu, DataBlock


class Membership(Protocol):
    """The questions. Whoever answers otherwise than ST (nodes/to) changes nothing in the data transfer."""

    @property
    def members(self) -> frozenset[int]:
        """Who takes part in minima and rounds."""

    def may_speak(self) -> bool:
        """May I send data and ACK PDUs, as far as others have a say in it?"""

    def stamp(self) -> dict[str, Any]:
        """Further fields of every PDU."""

    def id(self, p: DataBlock) -> int:
        """The number of p in the run."""

    def concerns_me(self, pdu: ClusterPdu) -> bool:
        """Does what it acknowledges of mine concern what I have sent?"""

    def line(self, current: Round) -> tuple[int, ...] | None:
        """c, once it can be told."""

    def sources(self) -> Collection[int]:
        """Of whom everything must be there before a round ends."""


class Everybody:
    """ST: all are members, always."""

    def __init__(self, members: tuple[int, ...]) -> None:
        self.members = frozenset(members)

    def may_speak(self) -> bool:
        return True

    def stamp(self) -> dict[str, Any]:
        return {}

    def id(self, p: DataBlock) -> int:
        return p.tseq

    def concerns_me(self, pdu: ClusterPdu) -> bool:
        return True

    def line(self, current: Round) -> tuple[int, ...] | None:
        return current.line(self.members)

    def sources(self) -> Collection[int]:
        return self.members
