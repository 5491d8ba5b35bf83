"""What members do while somebody joins: pause, as paper 001 has it, or go on (`recovery = "live"`), its future work.

With live recovery the points NXT are frozen as before, but they divide what is sent: a PDU from behind its source's
point waits at every receiver until the join is committed, and is then taken in the order in which it came. Two things
must be told apart that cannot be confused while senders pause:

* A PDU may come before its source's RCV_PACK. It shows the view that its source is about to commit, so it waits
  until that source's point is known.
* A recovery round needs everything that its members have sent, and begins a new epoch. It voids the attempt: who
  enters it takes what has waited as ordinary data, and says a new point, in the new epoch, when the round has ended.
  Points and RCV_ACKs count in their own epoch only, the joiner's too. Nobody can have committed the attempt: who
  had, showed it in the round, and was followed before the round was entered. Whom one may not follow, in a stop round
  of which he is no voter, takes one into no round.

While it goes from one join into the next (another joiner has come), a member keeps its point: the first join may be
committed elsewhere, so with whoever has promised it, what lies behind the point goes on waiting. Before a later point
it would be lacking: nobody could say RCV_ACK, and nobody commit.
"""

from __future__ import annotations

from nodes.st.core import Core
from nodes.st.round import Mode
from nodes.to.attempt import Attempt
from nodes.to.standing import Standing
from nodes.to.views import ViewMode
from nodes.wire.to import JoinBlock, ToData


class Manner:
    """What follows from `recovery`, "suspended" or "live", for one entity."""

    def __init__(self, core: Core, standing: Standing, attempt: Attempt, live: bool) -> None:
        self.live = live
        self._phase, self._standing, self._attempt = core.phase, standing, attempt

    def may_speak(self) -> bool:
        """May a member send data although it is in a join?"""
        return self.live and self._standing.vm is ViewMode.ADMITTING and not self._attempt.void

    def keeps_point(self) -> bool:
        """Does my point stay where it is in the next attempt? It does while I may have sent something behind it."""
        return self.may_speak()

    def must_wait(self, p: ToData) -> bool:
        """Must p wait although its source's point is not known?"""
        if not self.live:
            return False
        admitting = self._standing.vm is ViewMode.ADMITTING
        at_rest = self._phase.mode is Mode.DATA and (admitting or self._standing.vm is ViewMode.NORMAL)
        point_known = admitting and p.src in self._attempt.packs
        return at_rest and not point_known and self._sent_in_a_join(p)

    def _sent_in_a_join(self, p: ToData) -> bool:
        """Did its source know of somebody who joins, and whom I have not let in, nor seen stop again?"""
        views = zip(p.v, p.committed, self._standing.committed, strict=True)
        return any(not known & 1 and known != theirs and known > mine for known, theirs, mine in views)

    def counts(self, x: JoinBlock) -> bool:
        """Is x about the attempt that I am in?"""
        return not self.live or (x.epoch == self._phase.epoch and self._phase.mode is Mode.DATA)
