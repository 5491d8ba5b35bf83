"""Every frame of a run that carries a PDU, with its bytes: what the report draws and dissects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from captures.evidence import Evidence, Frame


@dataclass(frozen=True, slots=True)
class Seen:
    """One frame at one place."""

    what: Frame
    pdu: bytes
    to: bytes  # IPv6 destination; empty on a channel


def frames_of(evidence: Evidence) -> list[Seen]:
    """All frames in the order of time."""
    frames = evidence.frames
    everything = np.arange(len(frames))
    to = [frames.addresses[index] or b"" for index in frames.to.tolist()] if len(frames) else []
    return list(map(Seen, frames, frames.pdus(everything), to))
