"""The stop round (paper 001 §3.2): the voters agree that entities have stopped, and what is kept of them.

STOP or STOP_PACK says what the sender has of everybody; STOP_ACK says that the sender has heard this from all voters
and what follows: REQ*, of a stopped entity the least that any of them has. When all have said so, what lies above is
deleted everywhere, and the stopped count no more. Without loss that is one STOP or STOP_PACK and one STOP_ACK per
live entity. Data transfer goes on meanwhile; a recovery round waits for the round's end to fix its line (D-TO-9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nodes.machine import Log
from nodes.st.notes import NO_QUORUM
from nodes.st.round import Mode
from nodes.to.attempt import Vector
from nodes.to.parts import Parts
from nodes.to.views import View, ViewMode, active, with_stopped
from nodes.wire.note import NoteKind
from nodes.wire.st import RESP
from nodes.wire.to import StopBlock, ToPdu, ToStop, ToStopAck, ToStopPack


@dataclass(frozen=True, slots=True)
class StopRecord:
    """The stop round I finished last, for peers that are still in it."""

    v: View
    pack: Vector
    star: Vector


class Stops:
    """The stop rounds of one entity."""

    def __init__(self, parts: Parts) -> None:
        self._core, self._standing, self._timers = parts.core, parts.standing, parts.timers
        self._transfer, self._recovery, self._waiting = parts.transfer, parts.recovery, parts.waiting
        self._live, self._leave, self._pdu_of = parts.manner.live, parts.leave, parts.pdu
        self.forget()

    def forget(self) -> None:
        """No stop round yet."""
        self._packs: dict[int, Vector] = {}
        self._acks: dict[int, Vector] = {}
        self._low: dict[tuple[int, int], int] = {}  # REQ* that I have acknowledged, per entity and incarnation (D-TO-8)
        self._last: StopRecord | None = None
        self._reported: tuple[int, Vector] = 0, ()  # a recovery round and its line, of which a counted STOP* told

    # S1

    def watch(self) -> None:
        """S1: whose T_stop has passed?"""
        here, timers = self._standing, self._timers
        silent = timers.silent(here.others())
        if silent:
            self.suspect(silent)
        if here.is_inside():
            timers.watch_for(here.others())

    def suspect(self, whom: list[int]) -> None:
        """These have stopped."""
        here = self._standing
        if here.is_inside():
            here.know(with_stopped(here.v, whom))
            self.begin(ToStop)

    def say_farewell(self) -> None:
        """A STOP about myself. If it is lost, T_stop finds out."""
        here = self._standing
        here.know(with_stopped(here.v, [self._core.me]))
        self._say(ToStop, self.report())

    def begin(self, row: type[Any]) -> None:
        """The stops that I know of are to be agreed on."""
        here = self._standing
        if not self._can_decide():
            return
        aborted_join = here.vm is ViewMode.ADMITTING and here.promised is None
        self._packs, self._acks = {}, {}
        here.enter(ViewMode.STOPPING)
        self._core.counters["stop_rounds"] += 1
        if aborted_join:
            self._waiting.look_again()
        self._say(row, self.report())
        self._timers.repeat()
        self.advance()
        if self._live and here.vm is ViewMode.STOPPING and here.promised is None:
            self._waiting.look_again()  # nobody has committed a join that I have not acknowledged

    def _can_decide(self) -> bool:
        """Stop bits are never taken back: who has lost its quorum can never commit again, and leaves (D-TO-4)."""
        here, promised = self._standing, self._standing.promised
        left = [
            j
            for j in active(here.v)
            if here.v[j - 1] == here.committed[j - 1] or (promised is not None and here.v[j - 1] == promised.v[j - 1])
        ]
        if len(left) >= here.quorum:
            return True
        missing = tuple(j for j in range(1, self._core.n + 1) if j not in left)
        self._core.note(Log(NoteKind.ALARM, peers=missing, text=NO_QUORUM))
        self._core.counters["no_quorum"] += 1
        self._leave(NO_QUORUM)
        return False

    # What I say

    def report(self) -> Vector:
        """ackvec(): what I have of everybody. Of a stopped one no more than I have agreed to keep (D-TO-8)."""
        report, here = list(self._transfer.log.treq), self._standing
        for k, code in enumerate(here.v):
            if code & 1:
                known = code >> 1 == here.committed[k] >> 1
                report[k] = min(report[k], self._low.get((k, code >> 1), report[k])) if known else 1
        return tuple(report)

    def _say(self, row: type[Any], ack: Vector) -> None:
        self._core.emit(self._pdu(row, ack))

    def _pdu(self, row: type[Any], ack: Vector, flags: int = 0, **view: View) -> Any:
        """With the line of the recovery round that I am in, once it is fixed."""
        current = self._recovery.round
        if current is None or current.c is None:
            return self._pdu_of(row, flags, ack=ack, round=0, c=(0,) * self._core.n, **view)
        return self._pdu_of(row, flags, ack=ack, round=current.number, c=current.c, **view)

    def repeat(self) -> None:
        self._say(ToStopPack, self.report())
        if self._core.me in self._acks:
            self._say(ToStopAck, self._acks[self._core.me])

    # S2

    def on_stop(self, x: StopBlock) -> None:
        here, record = self._standing, self._last
        answerable = not x.flags & RESP and x.src != self._core.me
        if record is not None and x.v == record.v and (here.vm is not ViewMode.STOPPING or x.v != here.v):
            if answerable:
                self._answer(record)
            return
        known = here.merge(here.v, x.v)
        if self._too_early(known):
            return  # it comes again after my commit
        if known != here.v:
            here.know(known)
            self.begin(ToStopPack)
        if here.vm is not ViewMode.STOPPING:
            return
        if x.v == here.v:
            if not here.holds_me(x):
                return  # it will learn of the join that I came with, and say it again, or go on without me
            if isinstance(x, ToStopAck):
                self._acks[x.src] = x.ack
            else:
                self._packs.setdefault(x.src, x.ack)
            if x.round:
                self._reported = x.round, x.c
            self.advance()
        elif answerable:
            self._core.answer("STOP_PACK", lambda: self._pdu(ToStopPack, self.report()))

    def _too_early(self, known: View) -> bool:
        """Does the news raise an incarnation whose predecessor I have not yet seen out?"""
        here = self._standing
        for mine, then, committed in zip(here.v, known, here.committed, strict=True):
            if then >> 1 > mine >> 1 and (not committed & 1 or here.vm is ViewMode.ADMITTING):
                return True
        return False

    def _answer(self, record: StopRecord) -> None:
        self._core.answer(
            "STOP",
            lambda: self._pdu(ToStopPack, record.pack, RESP, v=record.v),
            lambda: self._pdu(ToStopAck, record.star, RESP, v=record.v),
        )

    # Agreement

    def advance(self) -> None:
        """As far as what has come allows."""
        here, me = self._standing, self._core.me
        voters = here.voters()
        self._packs[me] = self.report()
        if me not in self._acks and all(j in self._packs for j in voters):
            star = self._star(voters)
            for k, code in enumerate(here.v):
                if code & 1:
                    key = (k, code >> 1)
                    self._low[key] = min(self._low.get(key, star[k]), star[k])
            self._acks[me] = star
            self._say(ToStopAck, star)
        if len(voters) >= here.quorum and all(j in self._acks for j in voters):
            self._commit_round(voters)

    def _star(self, voters: list[int]) -> Vector:
        """REQ*: of a stopped entity the least that any voter has; of the others what I have (D-TO-1)."""
        treq = self._transfer.log.treq
        return tuple(
            [
                min([self._packs[j][k] for j in voters]) if code & 1 else treq[k]
                for k, code in enumerate(self._standing.v)
            ]
        )

    def _commit_round(self, voters: list[int]) -> None:
        here, star = self._standing, self._acks[self._core.me]
        gone = [k for k, code in enumerate(here.v) if code & 1 and code != here.committed[k]]
        for k in gone:
            if any(self._acks[j][k] != star[k] for j in voters):
                self._core.note(Log(NoteKind.ALARM, peers=(k + 1,), text="one view, two REQ*"))
        self._commit(gone, star)
        self._end(star)

    def _commit(self, whom: list[int], star: Vector) -> None:
        """§3.2 (4), (5). Of an incarnation that was never committed there is nothing to delete."""
        here, log = self._standing, self._transfer.log
        committed = list(here.committed)
        for k in whom:
            if here.v[k] >> 1 == committed[k] >> 1 and not here.printed.star:
                deleted = log.delete_from(k + 1, star[k])
                if deleted:
                    self._core.counters["deleted"] += deleted
            committed[k] = here.v[k]
        here.commit(tuple(committed), "stop")
        log.count_only(here.members)
        self.forget_earlier_lives()

    def forget_earlier_lives(self) -> None:
        """What was agreed about an incarnation matters until a later one is a member."""
        committed = self._standing.committed
        self._low = {key: low for key, low in self._low.items() if key[1] >= committed[key[0]] >> 1}

    def _end(self, star: Vector) -> None:
        here = self._standing
        self._last = StopRecord(here.v, self._packs[self._core.me], star)
        here.release()
        self._timers.rest()
        here.enter(ViewMode.NORMAL)
        self._timers.restart()
        self._recovery.adopt(*self._reported)
        self._reported = 0, ()
        self._waiting.look_again()
        if self._core.phase.mode is Mode.DATA:
            self._transfer.trim()
            self._transfer.progress()
        else:
            self._recovery.go_on()

    def learn(self, x: ToPdu) -> None:
        """A stop that is committed anywhere is committed here: whoever did had my STOP_ACK, hence the same REQ*.

        Otherwise who suspects one more in between waits for ever for a view that the others have left behind.
        """
        here = self._standing
        if x.committed == here.committed or x.committed[x.src - 1] != x.v[x.src - 1]:
            return
        learnt = [
            k
            for k, (mine, theirs) in enumerate(zip(here.committed, x.committed, strict=True))
            if theirs == mine | 1 != mine and here.v[k] == theirs and (k, mine >> 1) in self._low
        ]
        if not learnt:
            return
        star = tuple([self._low.get((k, code >> 1), 1) for k, code in enumerate(here.v)])
        self._commit(learnt, star)
        if here.vm is ViewMode.STOPPING:
            if here.has_stops_to_commit():
                self.advance()
            else:
                self._end(star)
