"""The join without a pause (`recovery = "live"`): members go on sending, which paper 001 leaves as future work.

The points NXT are frozen as before, but they divide what is sent: a PDU from behind its source's point waits at every
receiver until the join is committed, and is then taken in the order in which it came. Two things must be told apart
that cannot be confused while senders pause:

* A PDU may come before its source's RCV_PACK. It shows the view that its source is about to commit, so it waits
  until that source's point is known.
* A recovery round needs everything that its members have sent, and begins a new epoch. It voids the attempt: who
  enters it takes what has waited as ordinary data, and says a new point, in the new epoch, when the round has ended.
  Points and RCV_ACKs count in their own epoch only, the joiner's too. Nobody can have committed the attempt: who
  had, showed it in the round, and was followed before the round was entered.

While it goes from one join into the next (another joiner has come), a member keeps its point: the first join may be
committed elsewhere, and what lies behind it must go on waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodes.machine import Setting
from nodes.st.recovery import Mode
from nodes.to.join import is_member
from nodes.to.machine import To
from nodes.to.options import ToOptions
from nodes.to.views import ViewMode
from nodes.wire.st import RETX, ClusterPdu, DataBlock
from nodes.wire.to import JoinBlock, ToData


class LiveTo(To):
    """One entity whose sending no join suspends."""

    def _empty(self) -> None:
        super()._empty()
        self._void = False  # a round has ended the attempt at a join

    def _may_speak(self) -> bool:
        return super()._may_speak() or (self.vm is ViewMode.ADMITTING and not self._void)

    # What waits

    def _must_wait(self, p: ToData) -> bool:
        if super()._must_wait(p):
            return True
        at_rest = self.mode is Mode.DATA and self.vm in (ViewMode.NORMAL, ViewMode.ADMITTING)
        point_known = self.vm is ViewMode.ADMITTING and p.src in self._rpacks
        return at_rest and not point_known and self._sent_in_a_join(p)

    def _sent_in_a_join(self, p: ToData) -> bool:
        """Did its source know of somebody who joins, and whom I have not let in, nor seen stop again?"""
        views = zip(p.v, p.committed, self.committed, strict=True)
        return any(not known & 1 and known != theirs and known > mine for known, theirs, mine in views)

    def _collect_join(self, x: JoinBlock) -> None:
        if x.epoch != self.epoch or self.mode is not Mode.DATA:
            return
        known = self._rpacks.get(x.src)
        if x.src != self.me and (known is None or known.nxt != x.nxt):
            self._rpacks[x.src] = x
            self._replay_buffered()  # what its source sent before the point is ordinary
        super()._collect_join(x)

    def _say_pack(self) -> None:
        super()._say_pack()
        self._replay_buffered()

    def _stop_round(self, row: type[Any]) -> None:
        super()._stop_round(row)
        if self.vm is ViewMode.STOPPING and self._joined is None:
            self._replay_buffered()  # nobody has committed a join that I have not acknowledged

    def _sees_the_future(self, pdu: ClusterPdu, expected: Sequence[int]) -> bool:
        """What is sent again after a join may have been sent before it: then it acknowledges an earlier life of mine,
        which is not read (D-ST-19)."""
        again = isinstance(pdu, DataBlock) and pdu.flags & RETX
        return not again and super()._sees_the_future(pdu, expected)

    # Rounds and attempts

    def _freeze(self) -> None:
        if self.vm is not ViewMode.ADMITTING or self._void:
            super()._freeze()
        self._void = False

    def _enter(self) -> None:
        """E5, E6: a round voids the attempt."""
        self.mode = Mode.PAKWAIT
        self._void = self.vm is ViewMode.ADMITTING
        self._joined = None
        self._rpacks, self._racks = {}, {}
        self._replay_buffered()
        super()._enter()

    def _settle(self) -> None:
        if self._void and self.vm is ViewMode.ADMITTING and self.mode is Mode.DATA:
            self._admit_joiners()
        super()._settle()

    def _advance_join(self) -> None:
        if not self._void:
            super()._advance_join()

    def _repeat_view(self) -> None:
        if not (self._void and self.vm is ViewMode.ADMITTING):
            super()._repeat_view()

    def _merge_as_joiner(self, x: JoinBlock) -> bool:
        if not is_member(x) or x.epoch == self.epoch:
            return super()._merge_as_joiner(x)
        if x.epoch < self.epoch:
            return False
        self.epoch, self._joined = x.epoch, None
        self._begin_again(self.v)
        merged = super()._merge_as_joiner(x)
        if merged and self.me not in self._rpacks:
            self._say_pack()
        return merged


def entity(setting: Setting, options: ToOptions) -> To:
    """E_i, with the recovery that was chosen."""
    return LiveTo(setting, options) if options.recovery == "live" else To(setting, options)
