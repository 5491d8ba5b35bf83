"""ST: every PDU has its own destinations (paper 000)."""

from __future__ import annotations

from nodes.machine import Setting
from nodes.st.entity import Entity
from nodes.st.options import StOptions
from nodes.st.transfer import Rows
from nodes.wire.st import StData, StRst, StRstAck, StRstPak


class St(Entity):
    """One entity of an ST cluster: a counter per destination."""

    def __init__(self, setting: Setting, options: StOptions) -> None:
        rows = Rows(StData, StRst, StRstPak, StRstAck)
        super().__init__(setting, options, rows, tuple(range(len(setting.members))))
