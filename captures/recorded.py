"""What the recorder counted at a capture point, to be held against what its file has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recorded:
    """Frames of one capture point."""

    written: int
    received: int
    dropped: int = 0
    if_dropped: int = 0  # by the interface
