"""Every frame of a run that carries a PDU, with its bytes: what the report draws and dissects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from captures.evidence import Evidence, Frames
from captures.tables import Ints, codes


@dataclass(frozen=True, slots=True)
class Seen:
    """All of them, in the order of time; what follows is by row of `frames`."""

    frames: Frames
    time_ns: list[int]
    pdu: Ints  # index of `pdus`
    key: list[int]  # a number for each sender, type, IPv6 destination and PDU: what may be the same PDU elsewhere
    pdus: list[bytes]  # the different ones

    def destination(self, row: int) -> bytes:
        """The IPv6 destination; empty on a channel."""
        return self.frames.addresses[int(self.frames.to[row])] or b""


def seen_in(evidence: Evidence) -> Seen:
    """What was seen in a run."""
    frames = evidence.frames
    known: dict[bytes, int] = {}
    found = [known.setdefault(pdu, len(known)) for pdu in frames.pdus(np.arange(len(frames)))]
    pdu = np.array(found, np.int64)
    to = frames.to if found else pdu
    return Seen(frames, frames.time_ns.tolist(), pdu, codes(frames.src, frames.type, to, pdu).tolist(), list(known))
