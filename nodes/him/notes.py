"""What the values of HIM's NOTEs say."""

from __future__ import annotations

from typing import NamedTuple

SILENT = "silent"  # the text of an ALARM about members that were not heard for so many periods of ALIVE
SILENT_PERIODS = 3
NO_MULTICAST = "no multicast"  # the text of an ALARM about a member whom the originator served himself


class Delivered(NamedTuple):
    """DELIVERED."""

    digest: int  # of what was delivered
    round: int  # the multicast that brought it, from 0


class Result(NamedTuple):
    """RESULT."""

    round: int  # the last multicast before the sender was told, from 0
