"""The join (paper 001 §3.3): the members agree from where on an entity that has come back takes part.

RCV says that it is back, as a new incarnation that knows nothing. Whoever enters the join stops sending and says in
RCV_PACK what it will send next (NXT, frozen: D-TO-14); whoever has all RCV_PACKs and everything before these points
says RCV_ACK. When all have said so, the members deliver what lies before the points, the joiner begins there, and
data from behind them, which may have come earlier, is taken in the order in which it came.

Founding: a cluster whose members have all gone cannot admit anybody. When a quorum of joiners hears nobody else for
2 T_stop, they join each other (RCV_PACK and RCV_ACK with PHASE). Entities that are not among them count as stopped.
A joiner that has ever answered a member never founds in that incarnation, and a founder that hears a member leaves,
since either may have been committed: so no entity is in two clusters.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from nodes.st.recovery import Mode
from nodes.to.stop import JoinRecord, Stopping
from nodes.to.views import ViewMode, active, first_incarnation, with_stopped
from nodes.wire.note import NoteKind
from nodes.wire.st import PHASE, RESP, DataBlock
from nodes.wire.to import JoinBlock, StopBlock, ToData, ToPdu, ToRcv, ToRcvAck, ToRcvPack, ToStopPack, ViewBlock

NOBODY = 1  # the code of an entity that is not among the founders: stopped before its first incarnation


class Joining(Stopping):
    """E_i with joins."""

    def _empty(self) -> None:
        super()._empty()
        self._rpacks: dict[int, JoinBlock] = {}
        self._racks: dict[int, JoinBlock] = {}
        self._fnxt, self._fnxtp = 1, 1  # frozen
        self._met_member = False  # a member knows that I am here, and may have committed me
        self._founding = False  # other founders do
        self._joiners: dict[int, tuple[int, int]] = {}  # other joiners: incarnation, when heard
        self._joining_since = self._now
        self._returns: dict[int, ToRcv] = {}  # heard in a recovery round: joins begin between rounds

    # R1

    def _start(self) -> None:
        if self.incarnation == first_incarnation(1):
            self._hear_all()
            self._heartbeat_at = self._now + self.view_timing.heartbeat
        else:
            self._begin_joining()

    def _come_back(self) -> None:
        self.incarnation += 1
        self._begin_joining()

    def _begin_joining(self) -> None:
        view = [0] * self.n
        self.committed = tuple(view)
        view[self.index] = self.incarnation << 1
        self.v = tuple(view)
        self._heard = [self._now] * self.n
        self._joining_since = self._now
        self._enter_view_mode(ViewMode.JOINING)
        self._emit(self._view_pdu(ToRcv))
        self._view_at = self._next_repetition()
        self._watch_at = self._now + self.view_timing.stop

    # R2

    def _on_view(self, x: ToPdu) -> None:
        if isinstance(x, ToRcv):
            self._on_return(x)
        elif isinstance(x, JoinBlock):
            self._on_join(x)
        elif isinstance(x, StopBlock):
            if self.vm is ViewMode.JOINING:
                self._hear_of_stop(x)
            else:
                self._on_stop(x)

    def _on_return(self, x: ToRcv) -> None:
        j, mine = x.src, self.v[x.src - 1]
        incarnation = x.v[j - 1] >> 1
        if j == self.me:
            return
        if self.vm is ViewMode.JOINING:
            self._joiners[j] = (incarnation, self._now)
        elif self.vm is ViewMode.STOPPING:
            return  # it is repeated
        elif not mine & 1 and incarnation == mine >> 1:
            if self.vm is ViewMode.ADMITTING:
                self._answer("RCV_PACK", lambda: self._join_pdu(ToRcvPack, RESP))
            elif self.v == self.committed:
                self._answer("RCV_ACK", lambda: self._join_pdu(ToRcvAck, RESP))
        elif incarnation > mine >> 1:
            if not mine & 1:
                self._suspect([j])  # it was restarted before anybody missed it (D-TO-13)
            elif self.mode is not Mode.DATA:
                self._returns[j] = x
            elif mine == self.committed[j - 1]:
                view = list(self.v)
                view[j - 1] = incarnation << 1
                self.v = tuple(view)
                self._admit_joiners()

    def _admit_joiners(self) -> None:
        """enterR(). A join for which I have sent RCV_ACK may be committed elsewhere: its record stays."""
        self._rpacks, self._racks = {}, {}
        self._freeze()
        self._ack_at = None
        self._enter_view_mode(ViewMode.ADMITTING)
        self._counters["joins"] += 1
        self._hear_all()
        self._say_pack()
        self._advance_join()

    def _freeze(self) -> None:
        """NXT and NXTP: where I stand."""
        self._fnxt, self._fnxtp = self.sl.tseq, self.sl.pseq[0]

    def _say_pack(self) -> None:
        pack = self._join_pdu(ToRcvPack)
        self._rpacks[self.me] = pack
        self._emit(pack)
        self._view_at = self._next_repetition()

    def _join_pdu(self, row: type[Any], flags: int = 0) -> Any:
        if self._founding and self.vm is ViewMode.JOINING:
            flags |= PHASE
        return self._view_pdu(row, flags, ack=tuple(self.log.treq), nxt=self._fnxt, nxtp=self._fnxtp)

    def _settle(self) -> None:
        if self._returns and self.mode is Mode.DATA:
            returns, self._returns = self._returns, {}
            for x in returns.values():
                self._on_return(x)
        super()._settle()
        if self.mode is Mode.DATA:
            if self.vm is ViewMode.NORMAL and self.v != self.committed:
                self._admit_joiners()  # its join was interrupted by a stop round
            elif self.vm is ViewMode.ADMITTING:
                mine = self._racks.get(self.me)
                if mine is not None and mine.epoch != self.epoch:
                    self._say_ack()  # a recovery round has come between (D-TO-19)
                self._advance_join()

    # R3

    def _on_join(self, x: JoinBlock) -> None:
        if self.vm is ViewMode.STOPPING:
            return
        answerable = not x.flags & RESP and x.src != self.me
        if self.vm is ViewMode.NORMAL and x.v == self.v == self.committed:
            if isinstance(x, ToRcvPack) and answerable:
                self._answer("RCV_ACK", lambda: self._join_pdu(ToRcvAck, RESP))
            return
        if not (self._merge_as_joiner(x) if self.vm is ViewMode.JOINING else self._merge_as_member(x)):
            return
        if x.v == self.v:
            self._collect_join(x)
        elif answerable:
            self._answer("RCV_PACK", lambda: self._join_pdu(ToRcvPack))

    def _merge_as_joiner(self, x: JoinBlock) -> bool:
        if is_member(x):
            if self._founding:
                self._leave(f"n{x.src} is a member of a cluster")
                return False
            self._met_member = True
        elif x.flags & PHASE:
            if self._met_member:
                return False
            if not self._founding:
                self._founding = True
                self._heard = [self._now] * self.n
        else:
            return not self._founding  # another joiner: what it knows of the view, it has from members
        known = self._merge(self.v, x.v)
        if known != self.v:
            self._begin_again(known)
            self._say_pack()
        return True

    def _begin_again(self, known: tuple[int, ...]) -> None:
        """A joiner learns a later view. It keeps the record of a join that others may have committed.

        It has committed nothing itself: to show the view as committed would bear false witness of another joiner.
        """
        self.v = known
        self._rpacks, self._racks = {}, {}
        self._joining_since = self._now

    def _merge_as_member(self, x: JoinBlock) -> bool:
        known = self._merge(self.v, x.v)
        if known == self.v:
            return True
        pairs = list(zip(self.v, known, strict=True))
        if any(then >> 1 > mine >> 1 and not mine & 1 for mine, then in pairs):
            return False  # it was restarted; its stop comes first
        if any(then != mine and then & 1 for mine, then in pairs):
            self.v = known
            self._stop_round(ToStopPack)
            return False
        if self.mode is not Mode.DATA:
            return False
        self.v = known
        self._admit_joiners()
        return True

    def _collect_join(self, x: JoinBlock) -> None:
        j, log = x.src, self.log
        if j == self.me:
            return  # my own counts since I said it; what comes back may be older
        self._rpacks[j] = x
        if isinstance(x, ToRcvAck):
            self._racks[j] = x
        if self.vm is not ViewMode.JOINING and j in self.members and log.preq[j - 1] == x.nxtp:
            log.treq[j - 1] = max(log.treq[j - 1], x.nxt)  # only ACK PDUs are missing, and they need no repair
            log.al.raise_one(self.index, j - 1, log.treq[j - 1])
        self._advance_join()

    def _advance_join(self) -> None:
        joining = self.vm is ViewMode.JOINING
        complete = joining or (self.mode is Mode.DATA and not self._gap_before_join())
        if self.me not in self._racks and complete and self._all_current(self._rpacks):
            self._joined = JoinRecord(self.v, self._points("nxt"), self._points("nxtp"))
            self._say_ack()
            self._view_at = self._next_repetition()
        if self._joined is not None and self._joined.v == self.v and self._all_current(self._racks):
            epochs = {x.epoch for x in self._racks.values() if is_member(x)}
            if joining and len(epochs) <= 1:
                self._commit_join(self._joined, max(epochs, default=0))
            elif not joining and epochs == {self.epoch} and self.mode is Mode.DATA:
                self._commit_join(self._joined, self.epoch)

    def _all_current(self, packs: dict[int, JoinBlock]) -> bool:
        """Has everybody spoken, and nobody before it committed an earlier join that others have committed?

        Whoever learns of that commit in the middle of this join may send before it enters the join again: for one
        view it then has two NXT, and the one that it says as a member of the later committed view holds.
        """
        if self.printed.flush:
            return all(j in packs for j in active(self.v))
        latest = tuple(map(max, self.committed, *[x.committed for x in self._rpacks.values()]))
        if self.vm is not ViewMode.JOINING and self.committed != latest:
            return False
        return all(
            j in packs and (j == self.me or latest[j - 1] != self.v[j - 1] or packs[j].committed == latest)
            for j in active(self.v)
        )

    def _say_ack(self) -> None:
        self._racks[self.me] = self._join_pdu(ToRcvAck)
        self._emit(self._racks[self.me])

    def _points(self, name: str) -> tuple[int, ...]:
        return tuple([getattr(self._rpacks[j], name) if j in self._rpacks else 1 for j in range(1, self.n + 1)])

    def _gap_before_join(self) -> bool:
        """Do I lack data that a member sent before its point?"""
        return any(self.log.preq[j - 1] < self._rpacks[j].nxtp for j in self.members if j in self._rpacks)

    def _commit_join(self, record: JoinRecord, epoch: int) -> None:
        log, joiner = self.log, self.vm is ViewMode.JOINING
        came = [k for k, code in enumerate(record.v) if not code & 1 and (joiner or self.committed[k] != code)]
        if joiner:
            self.epoch = epoch
        else:
            self._flush(record, came)
        for k in range(self.n):
            if k in came:
                log.treq[k], log.preq[k] = record.nxt[k], record.nxtp[k]
                log.held[k].clear()
                log.control[k].clear()
                log.al.set_source(k, record.nxt[k])
                log.pal.set_source(k, record.nxt[k])
                self._buf[k] = self._buf[self.index]
            else:
                for j in range(self.n):
                    log.al.raise_one(j, k, record.nxt[k])
                    log.pal.raise_one(j, k, record.nxt[k])
            log.al.raise_one(self.index, k, log.treq[k])
        if joiner:
            self.committed = record.v
        else:
            self.committed = tuple([c if v & 1 else v for v, c in zip(record.v, self.committed, strict=True)])
        self._low = {key: low for key, low in self._low.items() if key[1] >= self.committed[key[0]] >> 1}
        self._joined = None
        self._rpacks, self._racks = {}, {}
        self._joiners = {}
        if self.vm is not ViewMode.STOPPING:
            self._view_at = None
            self._enter_view_mode(ViewMode.NORMAL)
        self._install("join")
        self._hear_all()
        self.sl.drop_below(log.al.minimum[self.index])
        self._replay_buffered(agreed=True)
        if any(v & 1 and v != c for v, c in zip(self.v, self.committed, strict=True)):
            if self.vm is ViewMode.NORMAL:
                self._stop_round(ToStopPack)
            elif self.vm is ViewMode.STOPPING:
                self._advance_stop()
        if self.vm is ViewMode.NORMAL and self.mode is Mode.DATA:
            self._progress()

    def _flush(self, record: JoinRecord, came: list[int]) -> None:
        """§3.3 (4): a member delivers what lies before the points, which all members have.

        So does what is left of those who have stopped, and of the earlier lives of those who come: the members agreed
        on it in a stop round, and the joiner will never have it.
        """
        log = self.log
        accepted = set(map(id, log.rrl))
        before: list[DataBlock] = []
        after: list[DataBlock] = []
        for p in log.all():
            past = p.src - 1 in came or record.v[p.src - 1] & 1
            earlier = past or p.tseq < record.nxt[p.src - 1]
            (before if earlier or self.printed.flush else after).append(p)
        for p in before:
            if id(p) in accepted:
                self._note(NoteKind.PREACKED, p.src, self._id(p), text="join")
            self._deliver(p, "join")
        log.prl.clear()
        log.rrl = deque(after)

    # X0.3 and D1

    def _learn(self, x: ToPdu) -> None:
        if self.vm is not ViewMode.JOINING:
            self._learn_stop(x)
        record = self._joined
        if record is None or (self.printed.flush and self.vm is not ViewMode.JOINING):
            return
        whom = [self.index] if self.vm is ViewMode.JOINING else range(self.n)
        for k in whom:
            code = record.v[k]
            if not code & 1 and x.committed[k] == code != self.committed[k]:
                epoch = x.epoch - 1 if type(x).__name__.startswith("ToRst") else x.epoch
                self._commit_join(record, epoch)
                return

    def _must_wait(self, p: ToData) -> bool:
        k = p.src - 1
        if self.vm is ViewMode.JOINING or self.v[k] != self.committed[k]:
            return not (self.printed.freeze and self.vm is not ViewMode.JOINING and self.v[k] & 1)
        if self.printed.flush:
            return False
        pack, record = self._rpacks.get(p.src), self._joined
        if self.vm is ViewMode.ADMITTING and pack is not None and p.tseq >= pack.nxt:
            return True
        return self.vm in (ViewMode.ADMITTING, ViewMode.STOPPING) and record is not None and p.tseq >= record.nxt[k]

    # Time

    def _repeat_view(self) -> None:
        """T_r'."""
        if self.vm is ViewMode.STOPPING:
            self._repeat_stop()
            return
        if self.vm is ViewMode.JOINING and not any(j != self.me for j in self._rpacks):
            self._emit(self._view_pdu(ToRcv))
            if not (self._met_member or self._founding):
                return
        self._say_pack()
        if self.me in self._racks:
            self._say_ack()
        elif self.vm is ViewMode.ADMITTING and self.mode is Mode.DATA and self._gap_before_join():
            self._start_round()  # what a member lacks must come before the join (D-TO-19)

    def _watch(self) -> None:
        if self.vm is ViewMode.JOINING:
            self._watch_as_joiner()
        else:
            super()._watch()

    def _watch_as_joiner(self) -> None:
        stop = self.view_timing.stop
        self._watch_at = self._now + stop // 2
        if self._founding or self._met_member:
            silent = [j for j in active(self.v) if j != self.me and self._now - self._heard[j - 1] >= stop]
            if self._now - self._joining_since >= 4 * stop:
                self._leave("the join came to nothing")
            elif self._founding and silent:
                self._found_without(silent)
            return
        silence = self._now - max([self._joining_since, *self._member_times()])
        fresh = {j: inc for j, (inc, heard) in self._joiners.items() if self._now - heard < stop}
        if silence >= 2 * stop and len(fresh) + 1 >= self.quorum:
            self._found(fresh)

    def _found_without(self, silent: list[int]) -> None:
        """A founder has stopped before the cluster was there. No member is touched: all in this view are founders."""
        known = with_stopped(self.v, silent)
        if len(active(known)) < self.quorum:
            self._leave("the founding came to nothing")
        else:
            self._begin_again(known)
            self._say_pack()

    def _member_times(self) -> list[int]:
        return [at for j, at in enumerate(self._heard, 1) if j != self.me and j not in self._joiners]

    def _found(self, others: dict[int, int]) -> None:
        """The joiners become a cluster of their own."""
        view = [NOBODY] * self.n
        for j, incarnation in others.items():
            view[j - 1] = incarnation << 1
        view[self.index] = self.incarnation << 1
        self._counters["foundings"] += 1
        self._founding = True
        self._heard = [self._now] * self.n
        self._begin_again(tuple(view))
        self._say_pack()

    def _hear_of_stop(self, x: StopBlock) -> None:
        """S2.1: a joiner takes no part in a stop round, but the view it joins changes."""
        known = self._merge(self.v, x.v)
        if known != self.v and self._met_member and is_member(x):
            self._begin_again(known)


def is_member(x: ToPdu | ViewBlock) -> bool:
    """Does the sender take part in a committed view?"""
    return x.committed[x.src - 1] == x.v[x.src - 1]
