"""Recovery rounds (paper 000 §4): what stands between a data PDU and the data transfer, and repairs losses.

E5 receive a PDU of a round, E6 repeat, E9 receive a retransmission. Somebody lost a PDU: all stop (RST), tell what
they have (RST_PAK), agree on the line (RST_ACK), keep what lies before it as it came, get what they miss sent again,
and sort what lies behind it. Every round begins a new epoch; a PDU of a later one than mine waits for me to get there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from nodes.machine import Log
from nodes.st.core import Core
from nodes.st.lines import Evidence, sort_rear
from nodes.st.membership import Membership
from nodes.st.notes import State
from nodes.st.round import Mode, Round, bitmap, is_held, words_for
from nodes.st.transfer import Transfer
from nodes.wire.note import NoteKind
from nodes.wire.st import PHASE, RESP, RETX, ClusterPdu, DataBlock, RoundBlock, SnapshotBlock


@dataclass(slots=True)
class _Resent:
    """A PDU that I have sent again."""

    at: int  # last
    wait: int  # before it is sent once more, if that copy does not come back to me
    back: int | None = None  # when it did


class Recovery:
    """The rounds of one entity. `begins` is called in each, once it has begun and before its snapshot is made."""

    def __init__(
        self, core: Core, membership: Membership, transfer: Transfer, begins: Callable[[], None] = lambda: None
    ) -> None:
        self._core, self._membership, self._transfer, self._begins = core, membership, transfer, begins
        self._phase = core.phase
        self._go_back = core.options.recovery == "go_back"
        self._words = words_for(core.window) if core.options.recovery == "selective" else 0
        self.forget()

    def forget(self) -> None:
        """No round yet."""
        self._phase.mode, self._phase.epoch = Mode.DATA, 0
        self.round: Round | None = None
        self.deadline: int | None = None  # T_r
        self.ended = False  # a round has, and what waited for its end has not been taken
        self._old: RoundBlock | None = None  # my RST_ACK of the last round, for peers that come late
        self._resent: dict[int, _Resent] = {}  # by TSEQ, for this round
        self._way = 0  # how long one of these copies was on its way at most
        self._early: dict[tuple[object, ...], ClusterPdu] = {}  # FUT: PDUs of epochs I have not reached, each once

    def join_epoch(self, epoch: int) -> None:
        """The cluster that I enter is there."""
        self._phase.epoch = epoch

    # PDUs of other epochs

    def keep_for_later(self, pdu: ClusterPdu) -> None:
        key = (pdu.src, type(pdu), pdu.epoch, pdu.tseq)
        if len(self._early) < self._core.window * self._core.n:  # what all may send before they need me
            self._early.setdefault(key, pdu)
        else:
            self._core.counters["future_dropped"] += 1

    def due(self) -> Iterator[ClusterPdu]:
        """What waited for the end of a round, whenever one has ended."""
        while self.ended:
            self.ended = False
            waiting, self._early = self._early, {}
            yield from waiting.values()

    # Data

    def on_data(self, p: DataBlock) -> None:
        """E4, E9: data of my epoch goes to the data transfer; if it shows a loss, a round begins."""
        phase = self._phase
        if p.flags & RETX:
            mine, now = self._resent.get(p.tseq) if p.src == self._core.me else None, self._core.now_ns
            if mine is not None:
                mine.back, self._way = now, max(self._way, now - mine.at)
            if phase.mode in (Mode.ACKWAIT, Mode.RECOV) and p.epoch == phase.epoch + 1 and self._transfer.retake(p):
                self._finish_if_complete()
        elif p.epoch > phase.epoch:
            self.keep_for_later(p)
        elif p.epoch < phase.epoch:
            self._core.counters["stale"] += 1
        else:
            lost = self._transfer.take(p)
            if phase.mode is Mode.DATA:  # in a round the line decides what a go-back needs from SL
                self._transfer.trim()
                if lost:
                    self.start()
                else:
                    self._transfer.progress()
            else:
                self._finish_if_complete()  # what I lack may come late before it comes again

    # The beginning

    def start(self) -> None:
        """I have lost something that was for me."""
        self._core.counters["rounds_started"] += 1
        self._core.emit(self._snapshot(self._core.rows.rst))
        self._enter()

    def _enter(self) -> None:
        core = self._core
        core.counters["rounds"] += 1
        self._transfer.hush()
        self._phase.mode = Mode.PAKWAIT  # nothing is sent or delivered any more, and what comes is only taken
        self._begins()
        self._resent.clear()
        self._way = 0
        current = self.round = Round(self._phase.epoch + 1)
        self._enter_mode(Mode.PAKWAIT)
        snapshot = self._snapshot(core.rows.pak)
        current.snapshots[core.me] = snapshot
        core.emit(snapshot)

    def _enter_mode(self, mode: Mode) -> None:
        """Every change of mode re-arms T_r."""
        self._phase.mode = mode
        self.deadline = None if mode is Mode.DATA else self._core.next_repetition()
        self._core.note(Log(NoteKind.STATE, values=State(self._phase.epoch), text=mode.value))

    # E5

    def on_pdu(self, x: SnapshotBlock) -> None:
        """E5."""
        phase, answerable = self._phase, not x.flags & RESP
        if x.epoch > phase.epoch + 1:
            if answerable:
                self.keep_for_later(x)
            return
        if x.epoch <= phase.epoch:
            self._on_late(x, answerable)
            return
        if phase.mode is Mode.DATA:
            self._enter()
        assert self.round is not None
        repeated = self._collect(self.round, x)
        self._advance()
        if not answerable or self.round is None or x.epoch != self.round.number:
            return
        if isinstance(x, RoundBlock) and x.flags & PHASE:
            if phase.mode is Mode.RECOV and x.src != self._core.me:
                self._serve(x)
        elif phase.mode in (Mode.ACKWAIT, Mode.RECOV) and x.src != self._core.me and repeated:
            self._core.answer("RST_ACK", lambda: self._ack(RESP))

    def _on_late(self, x: SnapshotBlock, answerable: bool) -> None:
        """E5.2: a peer is still in the round that I have finished."""
        old = self._old
        if x.epoch != self._phase.epoch or old is None:
            self._core.counters["stale"] += 1
        elif answerable and x.src != self._core.me:
            if isinstance(x, RoundBlock) and x.flags & PHASE:
                self._serve(x)
            else:
                self._core.answer("old", lambda: replace(old, flags=RESP | PHASE, **self._membership.stamp()))

    def _collect(self, current: Round, x: SnapshotBlock) -> bool:
        """Take what x says. Whether its sender repeats itself, hence lacks my RST_ACK.

        What comes for the first time is not answered, so that an undisturbed round costs 2n+1 PDUs.
        """
        if isinstance(x, RoundBlock):
            return current.collect_ack(x)
        if isinstance(x, self._core.rows.pak):
            return current.collect_snapshot(x)
        return False

    # From phase to phase

    def adopt(self, number: int, c: tuple[int, ...]) -> None:
        """Somebody has fixed the line of that round: if I am in it, and wait for one, it is mine."""
        current = self.round
        if self._phase.mode is Mode.PAKWAIT and current is not None and current.c is None and current.number == number:
            current.c = c

    def go_on(self) -> None:
        """The membership has changed, so that the round may wait for fewer."""
        self._advance()
        self._finish_if_complete()

    def _advance(self) -> None:
        """As far as what has come allows."""
        current, members = self.round, self._membership.members
        assert current is not None
        if self._phase.mode is Mode.PAKWAIT:
            if current.c is None:
                current.c = self._membership.line(current)
            if current.c is not None:
                self._enter_mode(Mode.ACKWAIT)
                mine = self._ack(0)
                current.acks[self._core.me] = mine
                self._core.emit(mine)
        if self._phase.mode is Mode.ACKWAIT and members <= current.acks.keys():
            self._recover(current)

    def _recover(self, current: Round) -> None:
        core, log, c = self._core, self._transfer.log, current.c
        assert c is not None
        self._enter_mode(Mode.RECOV)
        front, rear = core.rules.cut(log.all(), Evidence(core.me, c, current.snapshots))
        self._transfer.deliver_at_once(front, rear, "before the line")
        if self._go_back:
            log.discard_all(c)
        acks = [current.acks[j] for j in sorted(self._membership.members)]
        if core.rules.early_expectation:
            for x in acks:
                log.skip_to(x.src, x.d[log.slot])
        if self._go_back:
            for p in self._transfer.sl.unacknowledged:
                if p.epoch <= self._phase.epoch and p.tseq >= c[core.index]:
                    self._resend(p, current.number)
        else:
            for x in acks:
                self._serve(x)
        self._finish_if_complete()

    def _serve(self, x: RoundBlock) -> None:
        """§4.3 (1): send again what x's sender lacks."""
        core = self._core
        lo, k = x.lo[core.index], core.slot[x.src - 1]
        words = x.held[core.index * x.words : (core.index + 1) * x.words]
        for p in self._transfer.sl.unacknowledged:
            number = p.pseq[k]
            wanted = p.epoch < x.epoch and x.src in p.dst and core.rules.asked_for(number, lo)
            if wanted and not is_held(number, lo, words):
                self._resend(p, x.epoch)

    def _resend(self, p: DataBlock, number: int) -> None:
        """One copy serves all who lost it: once per T_r/2, and not for a request that may be older than the last one.
        Where a crowd of copies takes the channel longer than T_r, requests come late, too, and more of the same would
        only come later, and everything with it. My own copy may be lost: then I wait twice as long each time, but not
        longer than two windows of everybody's take."""
        core, last, least = self._core, self._resent.get(p.tseq), self._core.timing.round // 2
        wait = least
        if last is not None:
            next_at = last.at + last.wait if last.back is None else max(last.at + least, last.back + self._way)
            if core.now_ns < next_at:
                return
            wait = max(least, min(2 * last.wait, core.window * core.timing.period))
        self._resent[p.tseq] = _Resent(core.now_ns, wait)
        core.counters["retransmitted"] += 1
        core.emit(replace(p, flags=RETX, epoch=number, **self._membership.stamp()))

    def _finish_if_complete(self) -> None:
        core, current, log = self._core, self.round, self._transfer.log
        if self._phase.mode is not Mode.RECOV or current is None:
            return
        sources = [(j, current.acks[j]) for j in self._membership.sources()]
        if any(log.lacks(j, theirs.d[log.slot]) for j, theirs in sources):
            return
        log.keep_only(sort_rear(log.rrl, core.rules.order(core.n, current.arrivals)))
        for j, theirs in sources:
            log.expect(j, theirs.tseq, theirs.d[log.slot])
        log.hold_none()
        self._old = replace(current.acks[core.me], lo=tuple(log.preq), words=0, held=())
        self._phase.epoch += 1
        self.round = None
        self._enter_mode(Mode.DATA)
        self._transfer.kick(core.timing.kick)
        self.ended = True

    def fire(self) -> None:
        """E6: T_r."""
        core, current = self._core, self.round
        if current is None or self.deadline is None or core.now_ns < self.deadline:
            return
        core.counters["repetitions"] += 1
        if self._phase.mode is Mode.PAKWAIT:
            core.emit(replace(current.snapshots[core.me], **self._membership.stamp()))
        else:
            mine = self._ack(PHASE if self._phase.mode is Mode.RECOV else 0)
            core.emit(mine)
            if self._phase.mode is Mode.RECOV and core.rules.own_served:
                self._serve(mine)  # nobody else can: the copy on the loop-back may be lost again (D-ST-22)
        self.deadline = core.next_repetition()

    # What I say

    def _snapshot(self, row: type[Any], **fields: Any) -> Any:
        core, log = self._core, self._transfer.log
        common = {"flags": 0, "epoch": self._phase.epoch + 1, "a_t": tuple(log.treq), "a_p": tuple(log.preq)}
        return row(
            **core.head,
            tseq=self._transfer.sl.tseq,
            **{**common, **fields},
            **self._membership.stamp(),
        )

    def _ack(self, flags: int) -> RoundBlock:
        """My RST_ACK. Snapshot, numbers and line are those of the round; what I miss is what I miss now."""
        core, current, log = self._core, self.round, self._transfer.log
        assert current is not None and current.c is not None
        snapshot = current.snapshots[core.me]
        lo, held = [log.first_lacking(j) for j in range(1, core.n + 1)], list[int]()
        if self._words:
            for k in range(core.n):
                held += bitmap(log.held[k], lo[k], self._words)
        made: RoundBlock = self._snapshot(
            core.rows.ack,
            flags=flags,
            a_t=snapshot.a_t,
            a_p=snapshot.a_p,
            d=tuple(self._transfer.sl.pseq),
            c=current.c,
            lo=tuple(lo),
            words=self._words,
            held=tuple(held),
        )
        return made
