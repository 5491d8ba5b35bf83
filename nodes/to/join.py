"""The join (paper 001 §3.3): the members agree from where on an entity that has come back takes part.

RCV says that it is back, as a new incarnation that knows nothing. Whoever enters the join stops sending and says in
RCV_PACK what it will send next (NXT, frozen: D-TO-14); whoever has all RCV_PACKs and everything before these points
says RCV_ACK. When all have said so, the members deliver what lies before the points, the joiner begins there, and
data from behind them, which may have come earlier, is taken in the order in which it came.

Here is what members and joiners do alike, and what members do; what a joiner does alone is in joiner.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodes.st.round import Mode
from nodes.to.attempt import JoinRecord, is_member
from nodes.to.joiner import Joiner
from nodes.to.parts import Parts
from nodes.to.stop import Stops
from nodes.to.views import ViewMode, active
from nodes.wire.st import PHASE, RESP, RETX, DataBlock, SnapshotBlock
from nodes.wire.to import JoinBlock, ToPdu, ToRcv, ToRcvAck, ToRcvPack, ToStopPack


class Joins:
    """The joins of one entity."""

    def __init__(self, parts: Parts, stops: Stops) -> None:
        self._core, self._standing, self._attempt = parts.core, parts.standing, parts.attempt
        self._manner, self._timers, self._pdu_of = parts.manner, parts.timers, parts.pdu
        self._transfer, self._recovery, self._waiting = parts.transfer, parts.recovery, parts.waiting
        self._stops, self.joiner = stops, Joiner(parts, self._say_pack)
        self.forget()

    def forget(self) -> None:
        """No join yet."""
        self._attempt.forget()
        self.joiner.forget()
        self._returns: dict[int, ToRcv] = {}  # heard in a recovery round: joins begin between rounds

    def _is_between_rounds(self) -> bool:
        return self._core.phase.mode is Mode.DATA

    # R2

    def on_return(self, x: ToRcv) -> None:
        """RCV."""
        here, core, j = self._standing, self._core, x.src
        mine, incarnation = here.v[j - 1], x.v[j - 1] >> 1
        if j == core.me:
            return
        if here.vm is ViewMode.JOINING:
            self.joiner.on_return(x)
        elif here.vm is ViewMode.STOPPING:
            return  # it is repeated
        elif not mine & 1 and incarnation == mine >> 1:
            if here.vm is ViewMode.ADMITTING:
                core.answer("RCV_PACK", lambda: self._pdu(ToRcvPack, RESP))
            elif here.v == here.committed:
                core.answer("RCV_ACK", lambda: self._pdu(ToRcvAck, RESP))
        elif incarnation > mine >> 1:
            if not mine & 1:
                self._stops.suspect([j])  # it was restarted before anybody missed it (D-TO-13)
            elif not self._is_between_rounds():
                self._returns[j] = x
            elif mine == here.committed[j - 1]:
                here.know(tuple([incarnation << 1 if i == j else code for i, code in enumerate(here.v, 1)]))
                self._admit()

    def _admit(self) -> None:
        """enterR(). A join for which I have sent RCV_ACK may be committed elsewhere: its record stays."""
        self._attempt.clear()
        if not self._manner.keeps_point():
            self._attempt.nxt, self._attempt.nxtp = self._transfer.sl.tseq, self._transfer.sl.pseq[0]
        self._attempt.void = False
        self._transfer.hush()
        self._standing.enter(ViewMode.ADMITTING)
        self._core.counters["joins"] += 1
        self._timers.restart()
        self._say_pack()
        self._advance()

    # What I say

    def _pdu(self, row: type[Any], flags: int = 0) -> Any:
        if self.joiner.founding and self._standing.vm is ViewMode.JOINING:
            flags |= PHASE
        log, mine = self._transfer.log, self._attempt
        return self._pdu_of(row, flags, ack=tuple(log.treq), nxt=mine.nxt, nxtp=mine.nxtp)

    def _say_pack(self) -> None:
        pack = self._attempt.packs[self._core.me] = self._pdu(ToRcvPack)
        self._core.emit(pack)
        self._timers.repeat()
        if self._manner.live:
            self._waiting.look_again()

    def _say_ack(self) -> None:
        ack = self._attempt.acks[self._core.me] = self._pdu(ToRcvAck)
        self._core.emit(ack)

    def repeat(self) -> None:
        """T_r'."""
        here, attempt, me = self._standing, self._attempt, self._core.me
        if attempt.void and here.vm is ViewMode.ADMITTING:
            return  # a new point comes after the round
        if here.vm is ViewMode.JOINING and not any(j != me for j in attempt.packs):
            self.joiner.call()
            if not (self.joiner.met_member or self.joiner.founding):
                return
        self._say_pack()
        if me in attempt.acks:
            self._say_ack()
        elif here.vm is ViewMode.ADMITTING and self._is_between_rounds() and self._is_gap_before_points():
            self._recovery.start()  # what a member lacks must come before the join (D-TO-19)

    # Recovery rounds

    def round_begins(self) -> None:
        """With live recovery, a round voids the attempt: what has waited is ordinary data, and belongs into it."""
        if self._manner.live:
            self._attempt.void = self._standing.vm is ViewMode.ADMITTING
            self._standing.release()
            self._attempt.clear()
            self._waiting.look_again()

    def resume(self) -> None:
        """First after every event: what a recovery round has put off."""
        if self._attempt.void and self._standing.vm is ViewMode.ADMITTING and self._is_between_rounds():
            self._admit()
        if self._returns and self._is_between_rounds():
            returns, self._returns = self._returns, {}
            for x in returns.values():
                self.on_return(x)

    def go_on(self) -> None:
        """Last after every event: a join that waited for the end of a round."""
        here = self._standing
        if not self._is_between_rounds():
            return
        if here.vm is ViewMode.NORMAL and here.v != here.committed:
            self._admit()  # its join was interrupted by a stop round
        elif here.vm is ViewMode.ADMITTING:
            mine = self._attempt.acks.get(self._core.me)
            if mine is not None and mine.epoch != self._core.phase.epoch:
                self._say_ack()  # a recovery round has come between (D-TO-19)
            self._advance()

    # R3

    def on_join(self, x: JoinBlock) -> None:
        """RCV_PACK, RCV_ACK."""
        here, core = self._standing, self._core
        if here.vm is ViewMode.STOPPING:
            return
        answerable = not x.flags & RESP and x.src != core.me
        if here.vm is ViewMode.NORMAL and x.v == here.v == here.committed:
            if isinstance(x, ToRcvPack) and answerable:
                core.answer("RCV_ACK", lambda: self._pdu(ToRcvAck, RESP))
            return
        if not (self.joiner.follows(x) if here.vm is ViewMode.JOINING else self._follows(x)):
            return
        if not here.is_in_join():
            return  # I enter it after the recovery round that I am in, and have no point until then
        if x.v == here.v:
            self._collect(x)
        elif answerable:
            core.answer("RCV_PACK", lambda: self._pdu(ToRcvPack))

    def _follows(self, x: JoinBlock) -> bool:
        """As a member, learn from x; whether it may belong to the attempt that I am in."""
        here = self._standing
        known = here.merge(here.v, x.v)
        if known == here.v:
            return True
        pairs = list(zip(here.v, known, strict=True))
        if any(then >> 1 > mine >> 1 and not mine & 1 for mine, then in pairs):
            return False  # it was restarted; its stop comes first
        if any(then != mine and then & 1 for mine, then in pairs):
            here.know(known)
            self._stops.begin(ToStopPack)
            return False
        if not self._is_between_rounds():
            return False
        here.know(known)
        self._admit()
        return True

    def _collect(self, x: JoinBlock) -> None:
        here, log, packs, j = self._standing, self._transfer.log, self._attempt.packs, x.src
        if j == self._core.me or not self._manner.counts(x):
            return  # my own counts since I said it; what comes back may be older
        known = packs.get(j)
        packs[j] = x
        if self._manner.live and (known is None or known.nxt != x.nxt):
            self._waiting.look_again()  # what its source sent before the point is ordinary
            if self._attempt.void:
                return  # that has shown a loss, and begun a round: the point is void with the attempt
        if isinstance(x, ToRcvAck):
            self._attempt.acks[j] = x
        if here.vm is not ViewMode.JOINING and j in here.members:
            log.skip_acks(j, x.nxt, x.nxtp)
        self._advance()

    def _advance(self) -> None:
        here, attempt, joining = self._standing, self._attempt, self._standing.vm is ViewMode.JOINING
        if attempt.void:
            return
        ready = joining or (self._is_between_rounds() and not self._is_gap_before_points())
        if self._core.me not in attempt.acks and ready and self._have_all_said(attempt.packs):
            here.promise(attempt.record(here.v))
            self._say_ack()
            self._timers.repeat()
        promised = here.promised
        if promised is not None and promised.v == here.v and self._have_all_said(attempt.acks):
            epochs = {x.epoch for x in attempt.acks.values() if is_member(x)}
            if joining and len(epochs) <= 1:
                self._commit(promised, max(epochs, default=0))
            elif not joining and epochs == {self._core.phase.epoch} and self._is_between_rounds():
                self._commit(promised, self._core.phase.epoch)

    def _have_all_said(self, said: Mapping[int, JoinBlock]) -> bool:
        """Has everybody spoken, and nobody before it committed an earlier join that others have committed?

        Whoever learns of that commit in the middle of this join may send before it enters the join again: it then
        announces two points for one view, of which the one announced after the commit counts.
        """
        here, me = self._standing, self._core.me
        if here.printed.flush:
            return all(j in said for j in active(here.v))
        latest = tuple(map(max, here.committed, *[x.committed for x in self._attempt.packs.values()]))
        if here.vm is not ViewMode.JOINING and here.committed != latest:
            return False
        return all(
            j in said and (j == me or latest[j - 1] != here.v[j - 1] or said[j].committed == latest)
            for j in active(here.v)
        )

    def _is_gap_before_points(self) -> bool:
        """Do I lack data that a member sent before its point?"""
        preq, packs = self._transfer.log.preq, self._attempt.packs
        return any(preq[j - 1] < packs[j].nxtp for j in self._standing.members if j in packs)

    # The commit

    def learn(self, x: ToPdu) -> None:
        """X0.3: a join that is committed anywhere is committed here."""
        here, record = self._standing, self._standing.promised
        joining = here.vm is ViewMode.JOINING
        if record is None or (here.printed.flush and not joining) or not here.may_learn_from(x):
            return
        epoch = _epoch_of_sender(x) if joining else self._core.phase.epoch
        if epoch is None:
            return
        for k in [self._core.index] if joining else range(self._core.n):
            code = record.v[k]
            if not code & 1 and x.committed[k] == code > here.committed[k]:
                self._commit(record, epoch)
                return

    def _commit(self, record: JoinRecord, epoch: int) -> None:
        here, log, joiner = self._standing, self._transfer.log, self._standing.vm is ViewMode.JOINING
        came = [j for j, code in enumerate(record.v, 1) if not code & 1 and (joiner or here.committed[j - 1] != code)]
        if joiner:
            self._recovery.join_epoch(epoch)
        else:
            self._flush(record, came)
        for j, (nxt, nxtp) in enumerate(zip(record.nxt, record.nxtp, strict=True), 1):
            if j in came:
                self._transfer.begin_source(j, nxt, nxtp)
            else:
                log.all_have(j, nxt)
        self._attempt.clear()
        here.release()
        if here.vm is not ViewMode.STOPPING:
            self._timers.rest()
            here.enter(ViewMode.NORMAL)
        pairs = zip(record.v, here.committed, strict=True)
        here.commit(record.v if joiner else tuple([c if v & 1 else v for v, c in pairs]), "join")
        here.see_out()
        log.count_only(here.members)
        self._stops.forget_earlier_lives()
        self._timers.restart()
        self._transfer.trim()
        self._waiting.look_again(agreed=True)
        if here.has_stops_to_commit():
            if here.vm is ViewMode.NORMAL:
                self._stops.begin(ToStopPack)
            elif here.vm is ViewMode.STOPPING:
                self._stops.advance()
        if here.vm is ViewMode.NORMAL and self._is_between_rounds():
            self._transfer.progress()

    def _flush(self, record: JoinRecord, came: list[int]) -> None:
        """§3.3 (4): a member delivers what lies before the points, which all members have.

        So does what is left of those who have stopped, and of the earlier lives of those who come: the members agreed
        on it in a stop round, and the joiner will never have it.
        """
        before: list[DataBlock] = []
        after: list[DataBlock] = []
        for p in self._transfer.log.all():
            past = p.src in came or record.v[p.src - 1] & 1
            earlier = past or p.tseq < record.nxt[p.src - 1]
            (before if earlier or self._standing.printed.flush else after).append(p)
        self._transfer.deliver_at_once(before, after, "join")


def _epoch_of_sender(x: ToPdu) -> int | None:
    """How many recovery rounds x's sender has finished, if x tells. What is sent again is of a round that its sender is
    still in, or has finished; so are the PDUs of a round, but the answers to who is late in it."""
    if isinstance(x, DataBlock) and x.flags & RETX:
        return None
    is_in_round = isinstance(x, SnapshotBlock) and x.flags & (RESP | PHASE) != RESP | PHASE
    return x.epoch - is_in_round
