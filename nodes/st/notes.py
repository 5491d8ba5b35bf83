"""What the values of the NOTEs of ST and TO say."""

from __future__ import annotations

from typing import NamedTuple

NO_QUORUM = "no quorum"  # the text of an ALARM of TO, which names who is missing


class State(NamedTuple):
    """STATE: the text is the mode that was entered. TO's V follows, an element for each entity."""

    epoch: int  # of the recovery rounds
