"""What stop rounds and joins work on: the parts of one entity, and how a PDU of the view control is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nodes.st.core import Core
from nodes.st.recovery import Recovery
from nodes.st.transfer import Transfer
from nodes.to.attempt import Attempt
from nodes.to.live import Manner
from nodes.to.standing import Standing
from nodes.to.timers import Timers
from nodes.to.waiting import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Each writes its own state only; the others call its methods."""

    core: Core
    standing: Standing
    attempt: Attempt
    manner: Manner
    timers: Timers
    transfer: Transfer
    recovery: Recovery
    waiting: Waiting
    leave: Callable[[str], None]  # forget everything, and come back as the next incarnation

    def pdu(self, row: type[Any], flags: int = 0, **fields: Any) -> Any:
        """A PDU of the view control."""
        return row(
            **self.core.head,
            flags=flags,
            epoch=self.core.phase.epoch,
            tseq=self.transfer.sl.tseq,
            **{**self.standing.stamp(), **fields},
        )
