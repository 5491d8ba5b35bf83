"""A PDU under way in memory."""

from __future__ import annotations

from dataclasses import dataclass

from nodes.wire import Pdu


@dataclass(frozen=True, slots=True)
class Carried:
    """One frame, which may become several copies."""

    src: int
    pdu: Pdu
    size_bytes: int
    multicast: bool  # to everybody
