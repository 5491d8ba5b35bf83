"""What the values of delta's NOTEs say."""

from __future__ import annotations

from typing import NamedTuple


class Sent(NamedTuple):
    """SENT."""

    submission: int
    ts: int  # TS_m
    entries: int  # of the tag, for all destinations


class Delivered(NamedTuple):
    """DELIVERED."""

    digest: int  # of what was delivered
    ts: int  # TS_m
    waited_ns: int  # since its arrival
    # The part of it in which R0 and condition (1) were true, as far as this agent can know: an entry that MAX_CB cut
    # off may have made some of it necessary, which only the whole history shows (evaluation.py).
    unnecessary_ns: int
    mine: int  # entries of the tag for this node: |CB_m[i]|
    entries: int


class Dropped(NamedTuple):
    """REFUSED, of a message: "late" (R1) or "overtaken" (D-DC-13: never, unless clocks differ by more than ε)."""

    ts: int  # TS_m
    late_ns: int  # how long after its limit it came; negative: in time
