"""A PDU under way in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from nodes.wire import Pdu


@dataclass(frozen=True, slots=True)
class Carried:
    """One frame, which may become several copies."""

    src: int
    pdu: Pdu
    size_bytes: int
    multicast: bool  # to everybody
    # Of one copy on the port towards a node, where somebody asks: how much later chance lets it go on, each time.
    later_ns: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a PDU on the port towards a node."""

    pdu: Pdu
    receiver: int
    at_ns: int  # when it came there
    copies: list[tuple[int, Carried]] = field(default_factory=list)  # how late a fault of chosen PDUs made each

    def copy(self, frame: Carried, late_ns: int) -> Carried:
        """One more, which is followed."""
        self.copies.append((late_ns, replace(frame, later_ns=[0])))
        return self.copies[-1][1]

    @property
    def is_by_chance(self) -> bool:
        """Did chance do anything to it?"""
        return any(copy.later_ns != [0] for _, copy in self.copies)

    @property
    def copies_ns(self) -> list[int]:
        """How late each copy that is left goes on."""
        return sorted(late + more for late, copy in self.copies for more in copy.later_ns or ())
