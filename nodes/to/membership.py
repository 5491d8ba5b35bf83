"""TO's answers to what the data transfer and the recovery rounds ask (nodes/st/membership.py).

Members come and go: minima and rounds count those of the committed view, of a stopped entity nothing more is waited
for, and what belongs behind a change of the view waits for it (D1).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from nodes.st.core import Core
from nodes.st.round import Round
from nodes.to.attempt import Attempt
from nodes.to.live import Manner
from nodes.to.standing import Standing
from nodes.to.views import ViewMode
from nodes.wire.st import RETX, ClusterPdu, DataBlock
from nodes.wire.to import ToData, ToPdu


class Membership:
    """A view, in which entities stop and which others join."""

    def __init__(self, core: Core, standing: Standing, attempt: Attempt, manner: Manner) -> None:
        self._core, self._standing, self._attempt, self._manner = core, standing, attempt, manner

    @property
    def members(self) -> frozenset[int]:
        return self._standing.members

    def may_speak(self) -> bool:
        vm = self._standing.vm
        return vm in (ViewMode.NORMAL, ViewMode.STOPPING) or self._manner.may_speak()

    def stamp(self) -> dict[str, Any]:
        return self._standing.stamp()

    def id(self, p: DataBlock) -> int:
        """TSEQs begin again with every incarnation."""
        assert isinstance(p, ToData)
        return (p.v[p.src - 1] >> 1) << 32 | p.tseq

    def concerns_me(self, pdu: ClusterPdu) -> bool:
        """An acknowledgement may be about an earlier life of mine. So may that of what is sent again: it may have been
        sent before I was let in, and shows a later view than it was sent in (D-ST-19)."""
        assert isinstance(pdu, ToPdu)
        is_old = isinstance(pdu, DataBlock) and pdu.flags & RETX
        return pdu.committed[self._core.index] == self._standing.code and not is_old

    def line(self, current: Round) -> tuple[int, ...] | None:
        """The line is fixed once, by whoever has all snapshots outside a stop round, and adopted by the others."""
        if current.acks:
            return next(iter(current.acks.values())).c
        return None if self._standing.vm is ViewMode.STOPPING else current.line(self.members)

    def sources(self) -> Collection[int]:
        """Of a stopped entity nothing more can come, and what I reported of it stays what I have (D-TO-2)."""
        return [j for j in self.members if not self._standing.v[j - 1] & 1]

    def must_wait(self, p: ToData) -> bool:
        """D1: does p belong behind a view change?"""
        return self._is_behind_a_change(p) or self._manner.must_wait(p)

    def _is_behind_a_change(self, p: ToData) -> bool:
        here, k = self._standing, p.src - 1
        if here.vm is ViewMode.JOINING or here.v[k] != here.committed[k]:
            return not (here.printed.freeze and here.vm is not ViewMode.JOINING and here.v[k] & 1)
        if here.printed.flush:
            return False
        pack, record = self._attempt.packs.get(p.src), here.promised
        if here.vm is ViewMode.ADMITTING and pack is not None and p.tseq >= pack.nxt:
            return True
        in_change = here.vm in (ViewMode.ADMITTING, ViewMode.STOPPING)
        return in_change and record is not None and p.tseq >= record.nxt[k]
