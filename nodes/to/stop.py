"""The stop round (paper 001 §3.2): the voters agree that entities have stopped, and what is kept of them.

STOP or STOP_PACK says what the sender has of everybody; STOP_ACK says that the sender has heard this from all voters
and what follows: REQ*, of a stopped entity the least that any of them has. When all have said so, what lies above is
deleted everywhere, and the stopped count no more. Without loss that is one STOP or STOP_PACK and one STOP_ACK per
live entity. Data transfer goes on meanwhile; a recovery round waits for the round's end to fix its line (D-TO-9).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from nodes.st.recovery import Mode, Round
from nodes.to.control import Control
from nodes.to.views import View, ViewMode, active, with_stopped
from nodes.wire.note import NoteKind
from nodes.wire.st import RESP
from nodes.wire.to import StopBlock, ToPdu, ToStop, ToStopAck, ToStopPack

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StopRecord:
    """The stop round I finished last, for peers that are still in it."""

    v: View
    pack: Vector
    star: Vector


@dataclass(frozen=True, slots=True)
class JoinRecord:
    """A join for which I have sent RCV_ACK, so that somebody may have committed it."""

    v: View
    nxt: Vector
    nxtp: Vector


class Stopping(Control):
    """E_i with stop rounds."""

    def _empty(self) -> None:
        super()._empty()
        self._packs: dict[int, Vector] = {}
        self._sacks: dict[int, Vector] = {}
        self._low: dict[tuple[int, int], int] = {}  # REQ* that I have acknowledged, per entity and incarnation (D-TO-8)
        self._stopped: StopRecord | None = None
        self._joined: JoinRecord | None = None  # jrec
        self._reported_c: tuple[int, Vector] | None = None  # a line that a counted STOP* told of

    # S1

    def _suspect(self, whom: list[int]) -> None:
        if self.vm in (ViewMode.JOINING, ViewMode.LEFT):
            return
        self.v = with_stopped(self.v, whom)
        self._stop_round(ToStop)

    def _take_leave(self) -> None:
        """A farewell is a STOP about myself. If it is lost, T_stop finds out."""
        if self.vm not in (ViewMode.JOINING, ViewMode.LEFT):
            self.v = with_stopped(self.v, [self.me])
            self._emit_stop(ToStop, self._report())
            self._fall_silent()

    def _stop_round(self, row: type[Any]) -> None:
        if not self._can_decide():
            return
        aborted_join = self.vm is ViewMode.ADMITTING and self._joined is None
        self._packs, self._sacks = {}, {}
        self._enter_view_mode(ViewMode.STOPPING)
        self._counters["stop_rounds"] += 1
        if aborted_join:
            self._replay_buffered()
        self._emit_stop(row, self._report())
        self._view_at = self._next_repetition()
        self._advance_stop()

    def _can_decide(self) -> bool:
        """Stop bits are never taken back: who has lost its quorum can never commit again, and leaves (D-TO-4)."""
        record = self._joined
        left = [
            j
            for j in active(self.v)
            if self.v[j - 1] == self.committed[j - 1] or (record is not None and self.v[j - 1] == record.v[j - 1])
        ]
        if len(left) >= self.quorum:
            return True
        missing = tuple(j for j in range(1, self.n + 1) if j not in left)
        self._note(NoteKind.ALARM, peers=missing, text="no quorum")
        self._counters["no_quorum"] += 1
        self._leave("no quorum")
        return False

    def _report(self) -> Vector:
        """ackvec(): what I have of everybody. Of a stopped one no more than I have agreed to keep (D-TO-8)."""
        report = list(self.log.treq)
        for k, code in enumerate(self.v):
            if code & 1:
                known = code >> 1 == self.committed[k] >> 1
                report[k] = min(report[k], self._low.get((k, code >> 1), report[k])) if known else 1
        return tuple(report)

    def _emit_stop(self, row: type[Any], ack: Vector, flags: int = 0) -> None:
        number, c = self._own_line()
        self._emit(self._view_pdu(row, flags, ack=ack, round=number, c=c))

    def _own_line(self) -> tuple[int, Vector]:
        """cst: the line of the recovery round I am in, once it is fixed."""
        if self.round is not None and self.round.c is not None:
            return self.round.number, self.round.c
        return 0, (0,) * self.n

    # S2

    def _on_stop(self, x: StopBlock) -> None:
        answerable = not x.flags & RESP and x.src != self.me
        record = self._stopped
        if record is not None and x.v == record.v and (self.vm is not ViewMode.STOPPING or x.v != self.v):
            if answerable:
                self._answer_stop(record)
            return
        known = self._merge(self.v, x.v)
        if self._too_early(known):
            return  # it comes again after my commit
        if known != self.v:
            self.v = known
            self._stop_round(ToStopPack)
        if self.vm is not ViewMode.STOPPING:
            return
        if x.v == self.v:
            if isinstance(x, ToStopAck):
                self._sacks[x.src] = x.ack
            else:
                self._packs.setdefault(x.src, x.ack)
            if x.round:
                self._reported_c = (x.round, x.c)
            self._advance_stop()
        elif answerable:
            self._limited("STOP_PACK", lambda: self._emit_stop(ToStopPack, self._report()))

    def _too_early(self, known: View) -> bool:
        """Does the news raise an incarnation whose predecessor I have not yet seen out?"""
        for mine, then, committed in zip(self.v, known, self.committed, strict=True):
            if then >> 1 > mine >> 1 and (not committed & 1 or self.vm is ViewMode.ADMITTING):
                return True
        return False

    def _answer_stop(self, record: StopRecord) -> None:
        def both() -> None:
            for row, ack in ((ToStopPack, record.pack), (ToStopAck, record.star)):
                number, c = self._own_line()
                self._emit(self._view_pdu(row, RESP, v=record.v, ack=ack, round=number, c=c))

        self._limited("STOP", both)

    def _repeat_stop(self) -> None:
        self._emit_stop(ToStopPack, self._report())
        if self.me in self._sacks:
            self._emit_stop(ToStopAck, self._sacks[self.me])

    def _advance_stop(self) -> None:
        voters = self._voters()
        self._packs[self.me] = self._report()
        if self.me not in self._sacks and all(j in self._packs for j in voters):
            star = self._star(voters)
            for k, code in enumerate(self.v):
                if code & 1:
                    key = (k, code >> 1)
                    self._low[key] = min(self._low.get(key, star[k]), star[k])
            self._sacks[self.me] = star
            self._emit_stop(ToStopAck, star)
        if len(voters) >= self.quorum and all(j in self._sacks for j in voters):
            self._commit_stop(voters)

    def _star(self, voters: list[int]) -> Vector:
        """REQ*: of a stopped entity the least that any voter has; of the others what I have (D-TO-1)."""
        return tuple(
            [
                min([self._packs[j][k] for j in voters]) if code & 1 else self.log.treq[k]
                for k, code in enumerate(self.v)
            ]
        )

    def _commit_stop(self, voters: list[int]) -> None:
        star = self._sacks[self.me]
        for k, code in enumerate(self.v):
            if code & 1 and any(self._sacks[j][k] != star[k] for j in voters):
                self._note(NoteKind.ALARM, peers=(k + 1,), text="one view, two REQ*")
        self._commit_stopped([k for k, code in enumerate(self.v) if code & 1 and code != self.committed[k]], star)
        self._end_stop_round(star)

    def _commit_stopped(self, whom: list[int], star: Vector) -> None:
        """§3.2 (4), (5). Of an incarnation that was never committed there is nothing to delete."""
        committed = list(self.committed)
        for k in whom:
            if self.v[k] >> 1 == committed[k] >> 1 and not self.printed.star:
                self._delete_from(k, star[k])
            committed[k] = self.v[k]
        self.committed = tuple(committed)
        self._low = {key: low for key, low in self._low.items() if key[1] >= committed[key[0]] >> 1}
        self._install("stop")

    def _end_stop_round(self, star: Vector) -> None:
        self._stopped = StopRecord(self.v, self._packs[self.me], star)
        self._joined = None
        self._view_at = None
        self._enter_view_mode(ViewMode.NORMAL)
        self._hear_all()
        if self.mode is Mode.PAKWAIT and self.round is not None and self._reported_c is not None:
            number, c = self._reported_c
            if self.round.c is None and number == self.round.number:
                self.round.c = c
        self._reported_c = None
        self._replay_buffered()
        if self.mode is Mode.DATA:
            self.sl.drop_below(self.log.al.minimum[self.index])
            self._progress()
        else:
            self._advance()
            self._finish_if_complete()

    def _learn_stop(self, x: ToPdu) -> None:
        """A stop that is committed anywhere is committed here: whoever did had my STOP_ACK, hence the same REQ*.

        Otherwise who suspects one more in between waits for ever for a view that the others have left behind.
        """
        if x.committed == self.committed or x.committed[x.src - 1] != x.v[x.src - 1]:
            return
        learnt = [
            k
            for k, (mine, theirs) in enumerate(zip(self.committed, x.committed, strict=True))
            if theirs == mine | 1 != mine and self.v[k] == theirs and (k, mine >> 1) in self._low
        ]
        if not learnt:
            return
        star = [self._low.get((k, code >> 1), 1) for k, code in enumerate(self.v)]
        self._commit_stopped(learnt, tuple(star))
        if self.vm is ViewMode.STOPPING:
            if all(v == c for v, c in zip(self.v, self.committed, strict=True) if v & 1):
                self._end_stop_round(tuple(star))
            else:
                self._advance_stop()

    def _delete_from(self, k: int, star: int) -> None:
        """§3.2 (4): of a stopped entity nothing is kept that one of us lacks."""
        log = self.log
        gone = [p for p in log.rrl if p.src == k + 1 and p.tseq >= star]
        if gone:
            log.rrl = deque(p for p in log.rrl if not (p.src == k + 1 and p.tseq >= star))
            log.preq[k] = min([log.preq[k], *[p.pseq[0] for p in gone]])
            self._counters["deleted"] += len(gone)
        log.held[k].clear()
        log.treq[k] = star

    # L: recovery rounds among the members of a view

    def _sources_to_complete(self) -> list[int]:
        """Of a stopped entity nothing more can come, and what I reported of it stays what I have (D-TO-2)."""
        return [j for j in sorted(self.members) if not self.v[j - 1] & 1]

    def _fix_line(self, current: Round) -> bool:
        """The line is fixed once, by whoever has all snapshots outside a stop round, and adopted by the others."""
        if current.c is None and current.acks:
            current.c = next(iter(current.acks.values())).c
        if current.c is None and self.vm is ViewMode.STOPPING:
            return False
        return super()._fix_line(current)
