"""ST: every PDU has its own destinations (paper 000); one entity, put together from its parts."""

from __future__ import annotations

from collections.abc import Mapping

from nodes.machine import Input, Output, Received, Setting, Submit
from nodes.st.core import Core, Rows, earliest
from nodes.st.membership import Everybody
from nodes.st.options import StOptions
from nodes.st.recovery import Recovery
from nodes.st.round import Mode
from nodes.st.transfer import Transfer
from nodes.wire import Pdu
from nodes.wire.st import DataBlock, SnapshotBlock, StData, StRst, StRstAck, StRstPak


class St:
    """E_i of an ST cluster: a counter per destination."""

    def __init__(self, setting: Setting, options: StOptions) -> None:
        rows = Rows(StData, StRst, StRstPak, StRstAck)
        core = self.core = Core(setting, options, rows, slot=tuple(range(len(setting.members))))
        everybody = Everybody(setting.members)
        self.transfer = Transfer(core, everybody)
        self.recovery = Recovery(core, everybody, self.transfer)

    @property
    def deadline(self) -> int | None:
        """The earlier of T_ack and T_r."""
        return earliest(self.transfer.deadline, self.recovery.deadline)

    def step(self, event: Input, now_ns: int) -> list[Output]:
        """Take one input."""
        core = self.core
        core.now_ns = now_ns
        if isinstance(event, Received):
            if self.transfer.admits(event.pdu):
                self._dispatch(event.pdu)
        elif isinstance(event, Submit):
            self.transfer.submit(event)
        self.transfer.fire()
        self.recovery.fire()
        for pdu in self.recovery.due():
            self._dispatch(pdu)
        self.transfer.settle()
        return core.take_outputs()

    def _dispatch(self, pdu: Pdu) -> None:
        if isinstance(pdu, DataBlock):
            self.recovery.on_data(pdu)
        elif isinstance(pdu, SnapshotBlock):
            self.recovery.on_pdu(pdu)

    def settled(self) -> bool:
        """No request, no unconfirmed PDU, no round."""
        return self.core.phase.mode is Mode.DATA and self.transfer.settled()

    def counters(self) -> Mapping[str, int]:
        """Totals by name."""
        return dict(self.core.counters)
