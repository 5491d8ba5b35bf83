"""Recovery rounds (paper 000 §4), and with them the whole entity of a cluster.

E5 receive a PDU of a round, E6 repeat, E9 receive a retransmission. Somebody lost a PDU: all stop (RST), tell what
they have (RST_PAK), agree on the line (RST_ACK), keep what lies before it as it came, get what they miss sent again,
and sort what lies behind it. ST is this entity; TO (paper 001) adds views and overrides what a view decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nodes.machine import Setting
from nodes.st.lines import Evidence, agreed_line, sort_rear
from nodes.st.options import StOptions
from nodes.st.recovery import Mode, Round, bitmap, is_held, words_for
from nodes.st.transfer import DataTransfer, Rows
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.st import PHASE, RESP, RETX, DataBlock, RoundBlock, SnapshotBlock


class Entity(DataTransfer):
    """E_i."""

    def __init__(self, setting: Setting, options: StOptions, rows: Rows, slot: tuple[int, ...]) -> None:
        super().__init__(setting, options, rows, slot)
        self._go_back = options.recovery == "go_back"
        self._words = words_for(self._window) if options.recovery == "selective" else 0
        self._answered: dict[str, int] = {}  # when an answer of this type was last sent

    def _empty(self) -> None:
        super()._empty()
        self.round: Round | None = None
        self.old: RoundBlock | None = None  # my RST_ACK of the last round, for peers that come late
        self._resent: dict[int, int] = {}  # when a TSEQ was last sent again, in this round

    def _start_round(self) -> None:
        self._counters["rounds_started"] += 1
        self._emit(self._snapshot(self._rows.rst))
        self._enter()

    def _enter(self) -> None:
        self._counters["rounds"] += 1
        self._ack_at = None
        self.round = Round(self.epoch + 1)
        self._enter_mode(Mode.PAKWAIT)
        snapshot = self._snapshot(self._rows.pak)
        self.round.snapshots[self.me] = snapshot
        self._emit(snapshot)

    def _enter_mode(self, mode: Mode) -> None:
        """Every change of mode re-arms T_r."""
        self.mode = mode
        self._round_at = None if mode is Mode.DATA else self._next_repetition()
        self._note(NoteKind.STATE, values=(self.epoch,), text=mode.value)

    def _next_repetition(self) -> int:
        return self._now + self.timing.round + int(self._random.random() * self.timing.period)

    def _on_round(self, x: SnapshotBlock) -> None:
        """E5."""
        answerable = not x.flags & RESP
        if x.epoch > self.epoch + 1:
            if answerable:
                self._keep_for_later(x)
            return
        if x.epoch <= self.epoch:
            self._on_late(x, answerable)
            return
        if self.mode is Mode.DATA:
            self._enter()
        assert self.round is not None
        repeated = self._collect(self.round, x)
        self._advance()
        if not answerable or self.mode is Mode.DATA or x.epoch != self.epoch + 1:
            return
        if isinstance(x, RoundBlock) and x.flags & PHASE:
            if self.mode is Mode.RECOV and (x.src != self.me or self._rules.own_served):
                self._serve(x)
        elif self.mode in (Mode.ACKWAIT, Mode.RECOV) and x.src != self.me and repeated:
            self._answer("RST_ACK", lambda: self._round_ack(RESP))

    def _on_late(self, x: SnapshotBlock, answerable: bool) -> None:
        """E5.2: a peer is still in the round that I have finished."""
        if x.epoch != self.epoch or self.old is None:
            self._counters["stale"] += 1
        elif answerable and x.src != self.me:
            if isinstance(x, RoundBlock) and x.flags & PHASE:
                self._serve(x)
            else:
                old = self.old
                self._answer("old", lambda: replace(old, flags=RESP | PHASE, **self._stamp()))

    def _collect(self, current: Round, x: SnapshotBlock) -> bool:
        """Take what x says. Whether its sender repeats itself, hence lacks my RST_ACK.

        What comes for the first time is not answered, so that an undisturbed round costs 2n+1 PDUs.
        """
        if isinstance(x, RoundBlock):
            return current.collect_ack(x)
        if isinstance(x, self._rows.pak):
            return current.collect_snapshot(x)
        return False

    def _answer(self, kind: str, make: Callable[[], Pdu]) -> None:
        self._limited(kind, lambda: self._emit(make()))

    def _limited(self, kind: str, do: Callable[[], None]) -> None:
        """At most one answer of a kind in T_r: more of them, from many entities, fill the channel and come late."""
        last = self._answered.get(kind)
        if last is None or self._now - last >= self.timing.answer:
            self._answered[kind] = self._now
            self._counters["answers"] += 1
            do()

    def _advance(self) -> None:
        """From phase to phase, as far as what has come allows."""
        assert self.round is not None
        if self.mode is Mode.PAKWAIT and self._fix_line(self.round):
            self._enter_mode(Mode.ACKWAIT)
            mine = self._round_ack(0)
            self.round.acks[self.me] = mine
            self._emit(mine)
        if self.mode is Mode.ACKWAIT and self.members <= self.round.acks.keys():
            self._recover(self.round)

    def _fix_line(self, current: Round) -> bool:
        """c, once all snapshots are there."""
        if current.c is None and self.members <= current.snapshots.keys():
            current.c = agreed_line([current.snapshots[j] for j in sorted(self.members)])
        return current.c is not None

    def _recover(self, current: Round) -> None:
        assert current.c is not None
        self._enter_mode(Mode.RECOV)
        log = self.log
        front, rear = self._rules.cut(log.all(), Evidence(self.me, current.c, current.snapshots))
        accepted = set(map(id, log.rrl))
        for p in front:
            if id(p) in accepted:
                self._note(NoteKind.PREACKED, p.src, self._id(p), text="before the line")
            self._deliver(p, "before the line")
        log.prl.clear()
        log.rrl = deque(rear)
        if self._go_back:
            self._discard_rear(rear, current.c)
        acks = [current.acks[j] for j in sorted(self.members)]
        if self._rules.early_expectation:
            self._expect_the_end(current)
        if self._go_back:
            for p in self.sl.unacknowledged:
                if p.epoch <= self.epoch and p.tseq >= current.c[self.index]:
                    self._resend(p, current.number)
        else:
            for x in acks:
                self._serve(x)
        self._finish_if_complete()

    def _discard_rear(self, rear: list[DataBlock], c: tuple[int, ...]) -> None:
        """Go-back: what lies behind the line is sent again by its sources; its acknowledgements are void."""
        log = self.log
        log.al.lower(c)
        log.pal.lower(c)
        for k in range(self.n):
            log.held[k].clear()
        for p in rear:
            log.preq[p.src - 1] = min(log.preq[p.src - 1], p.pseq[log.slot])
        log.rrl.clear()

    def _expect_the_end(self, current: Round) -> None:
        for j in self.members:
            self.log.preq[j - 1] = current.acks[j].d[self.log.slot]

    def _serve(self, x: RoundBlock) -> None:
        """§4.3 (1): send again what x's sender lacks."""
        lo, k = x.lo[self.index], self._slot[x.src - 1]
        words = x.held[self.index * x.words : (self.index + 1) * x.words]
        for p in self.sl.unacknowledged:
            number = p.pseq[k]
            wanted = p.epoch < x.epoch and x.src in p.dst and self._rules.asked_for(number, lo)
            if wanted and not is_held(number, lo, words):
                self._resend(p, x.epoch)

    def _resend(self, p: DataBlock, number: int) -> None:
        """One copy serves all who lost it: once per T_r/2."""
        last = self._resent.get(p.tseq)
        if last is None or self._now - last >= self.timing.round // 2:
            self._resent[p.tseq] = self._now
            self._counters["retransmitted"] += 1
            self._emit(replace(p, flags=RETX, epoch=number, **self._stamp()))

    def _on_retransmission(self, p: DataBlock) -> None:
        """E9. Its ACK, BUF and NEED are old and not read (D-ST-19)."""
        if self.log.retake(p):
            self._note(NoteKind.ACCEPTED, p.src, self._id(p), text="E9")
            self._finish_if_complete()

    def _finish_if_complete(self) -> None:
        current, log = self.round, self.log
        if self.mode is not Mode.RECOV or current is None:
            return
        sources = self._sources_to_complete()
        for j in sources:
            first, end, held = log.preq[j - 1], current.acks[j].d[log.slot], log.held[j - 1]
            if end - first > len(held) or any(number not in held for number in range(first, end)):
                return
        log.rrl = deque(sort_rear(log.rrl, self._rules.order(self.n, current.arrivals)))
        for j in sources:
            end_of = current.acks[j]
            log.treq[j - 1] = end_of.tseq
            log.preq[j - 1] = end_of.d[log.slot]
            log.al.raise_one(self.index, j - 1, end_of.tseq)
        for held in log.held:
            held.clear()
        self.old = replace(current.acks[self.me], lo=tuple(log.preq), words=0, held=())
        self.epoch += 1
        self.round = None
        self._enter_mode(Mode.DATA)
        self._resent.clear()
        self._kick(self.timing.kick)
        self._replay = True

    def _sources_to_complete(self) -> list[int]:
        """Of whom everything must be there before the round ends."""
        return sorted(self.members)

    def _repeat_round(self) -> None:
        """E6: T_r."""
        current = self.round
        assert current is not None
        self._counters["repetitions"] += 1
        if self.mode is Mode.PAKWAIT:
            self._emit(replace(current.snapshots[self.me], **self._stamp()))
        else:
            mine = self._round_ack(PHASE if self.mode is Mode.RECOV else 0)
            self._emit(mine)
            if self.mode is Mode.RECOV and self._rules.own_served:
                self._serve(mine)  # nobody else can: the copy on the loop-back may be lost again (D-ST-22)
        self._round_at = self._next_repetition()

    def _snapshot(self, row: type[Any]) -> Any:
        log = self.log
        return row(
            src=self.me,
            cluster=self._options.cluster,
            n=self.n,
            flags=0,
            epoch=self.epoch + 1,
            tseq=self.sl.tseq,
            a_t=tuple(log.treq),
            a_p=tuple(log.preq),
            **self._stamp(),
        )

    def _round_ack(self, flags: int) -> RoundBlock:
        """My RST_ACK. Snapshot, numbers and line are those of the round; what I miss is what I miss now."""
        current, log = self.round, self.log
        assert current is not None and current.c is not None
        snapshot = current.snapshots[self.me]
        held: list[int] = []
        if self._words:
            for k in range(self.n):
                held += bitmap(log.held[k], log.preq[k], self._words)
        made: RoundBlock = self._rows.ack(
            src=self.me,
            cluster=self._options.cluster,
            n=self.n,
            flags=flags,
            epoch=current.number,
            tseq=self.sl.tseq,
            a_t=snapshot.a_t,
            a_p=snapshot.a_p,
            d=tuple(self.sl.pseq),
            c=current.c,
            lo=tuple(log.preq),
            words=self._words,
            held=tuple(held),
            **self._stamp(),
        )
        return made
