"""Data transfer on one channel (paper 000 §3): numbering, flow, acceptance, acknowledgement, confirmation.

The steps are numbered: E1 send, E2 acknowledge, E3 stay awake while unsettled, E4 receive data. What decides (rules.py)
and what is kept (logs.py, minima.py) stands elsewhere; here is the order of things. Losses are repaired by rounds
(entity.py).

Idle rules: a data PDU and a NEED arm T_ack everywhere; an unsettled entity keeps sending ACK PDUs with NEED; a
settled one answers at most once per T; ACK PDUs unsettle nobody. So every exchange ends in silence (D-ST-8).
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodes.machine import Input, Log, Output, Received, Send, Setting, Submit
from nodes.st.logs import Arrival, ReceiveLog, SendLog
from nodes.st.options import StOptions, Timing
from nodes.st.recovery import Mode
from nodes.st.rules import chosen
from nodes.wire import Pdu
from nodes.wire.note import NoteKind, Sent
from nodes.wire.st import NEED, RETX, ClusterPdu, DataBlock, SnapshotBlock

MAX_PAYLOAD = 1024  # with the vectors of 32 entities a frame still fits an Ethernet
MAX_BUF = 0xFFFF


@dataclass(frozen=True, slots=True)
class Rows:
    """The PDU classes of a protocol built on this entity."""

    data: type[Any]
    rst: type[Any]
    pak: type[Any]
    ack: type[Any]


class DataTransfer(ABC):
    """The first half of E_i; entity.py has the other."""

    def __init__(self, setting: Setting, options: StOptions, rows: Rows, slot: tuple[int, ...]) -> None:
        n = len(setting.members)
        if setting.members != tuple(range(1, n + 1)):
            raise ValueError(f"entities are 1..n, not {setting.members}")
        self.me, self.n, self.index = setting.me, n, setting.me - 1
        self.members = frozenset(setting.members)  # who takes part in minima and rounds
        self.timing = Timing.of(options, n, setting.slot_ns)
        self._setting, self._options, self._rows, self._slot = setting, options, rows, slot
        self._rules = chosen(options.switches())
        self._window = options.window or 3 * n
        self._share = options.buffer_share * n
        self._random = random.Random(setting.seed)
        self._requests: deque[Submit] = deque()
        self._counters: Counter[str] = Counter()
        self._outputs: list[Output] = []
        self._now = 0
        self._empty()

    def _empty(self) -> None:
        """Nothing sent, nothing received."""
        self.mode = Mode.DATA
        self.epoch = 0
        self._ack_at: int | None = None  # T_ack
        self._round_at: int | None = None  # T_r
        self._future: dict[tuple[object, ...], ClusterPdu] = {}  # FUT: PDUs of epochs I have not reached, each once
        self._replay = False
        self.sl = SendLog(self._slot)
        self.log = ReceiveLog(self.me, self._slot, self._rules)
        self._buf = [min(self._setting.buffer_pdus, MAX_BUF)] * self.n

    # The machine

    @property
    def deadline(self) -> int | None:
        """The earlier of T_ack and T_r."""
        if self._round_at is None or (self._ack_at is not None and self._ack_at < self._round_at):
            return self._ack_at
        return self._round_at

    def step(self, event: Input, now_ns: int) -> list[Output]:
        """Take one input."""
        self._now = now_ns
        if isinstance(event, Received):
            self._receive(event.pdu)
        elif isinstance(event, Submit):
            self._submit(event)
        self._fire()
        self._settle()
        outputs, self._outputs = self._outputs, []
        return outputs

    def settled(self) -> bool:
        """No request, no unconfirmed PDU, no round."""
        return self.mode is Mode.DATA and not self._requests and not self.unsettled()

    def counters(self) -> Mapping[str, int]:
        """Totals by name."""
        return dict(self._counters)

    def unsettled(self) -> bool:
        """I still wait for acknowledgements."""
        return bool(self.sl.unacknowledged or self.log.prl or self.log.rrl)

    # E1, E2, E3: sending

    def _submit(self, request: Submit) -> None:
        if not request.to:
            self._refuse_request(request, "no destination")
        elif not set(request.to) <= set(self._setting.members):
            self._refuse_request(request, "destination outside the cluster")
        elif len(request.data) > MAX_PAYLOAD:
            self._refuse_request(request, f"payload over {MAX_PAYLOAD} bytes")
        else:
            self._requests.append(request)

    def _refuse_request(self, request: Submit, why: str) -> None:
        self._counters["refused_submissions"] += 1
        self._note(NoteKind.REFUSED, self.me, request.number, peers=request.to, text=why)

    def _settle(self) -> None:
        """After every event: PDUs that were too early, requests that were waiting, and E3."""
        while self._replay:
            self._replay = False
            waiting, self._future = self._future, {}
            for pdu in waiting.values():
                self._dispatch(pdu)
        if self.mode is Mode.DATA and self._may_speak():
            while self._requests and self._window_open():
                self._send_data(self._requests.popleft())
            if self.unsettled():
                self._kick()

    def _may_speak(self) -> bool:
        """May I send data and ACK PDUs, as far as others have a say in it?"""
        return True

    def _window_open(self) -> bool:
        """The flow condition (§3.2, D-ST-20)."""
        least_buf = min(self._buf) if len(self.members) == self.n else min([self._buf[j - 1] for j in self.members])
        limit = max(1, min(self._window, least_buf // self._share))
        sl = self.sl
        return self._rules.window_open(limit, len(sl.unacknowledged), sl.tseq, self.log.al.minimum[self.index])

    def _send_data(self, request: Submit) -> None:
        dst = self._destinations(request)
        tseq, pseq = self.sl.stamp(dst)
        p = self._data(tseq, pseq, dst, NEED, request.data)
        self.sl.unacknowledged.append(p)
        self._ack_at = None
        self._counters["data"] += 1
        self._note(NoteKind.SENT, self.me, self._id(p), peers=dst, values=Sent(request.number))
        self._emit(p)

    def _destinations(self, request: Submit) -> tuple[int, ...]:
        return tuple(sorted(set(request.to)))

    def _id(self, p: DataBlock) -> int:
        """The number of p in the run."""
        return p.tseq

    def _send_ack(self) -> None:
        """E2: an ACK PDU, a DATA PDU with no destination. It consumes a TSEQ and is not kept."""
        tseq, pseq = self.sl.stamp(())
        self._counters["acks"] += 1
        self._emit(self._data(tseq, pseq, (), NEED if self.unsettled() else 0, b""))

    def _data(self, tseq: int, pseq: tuple[int, ...], dst: tuple[int, ...], flags: int, payload: bytes) -> DataBlock:
        log = self.log
        free = self._setting.buffer_pdus - len(log.rrl) - len(log.prl)
        made: DataBlock = self._rows.data(
            src=self.me,
            cluster=self._options.cluster,
            n=self.n,
            flags=flags,
            epoch=self.epoch,
            tseq=tseq,
            buf=min(max(free, 0), MAX_BUF),
            dst=dst,
            ack=tuple(log.treq),
            pseq=pseq,
            payload=payload,
            **self._stamp(),
        )
        return made

    def _stamp(self) -> dict[str, Any]:
        """Further fields of every PDU."""
        return {}

    def _kick(self, delay: int | None = None) -> None:
        """Arm T_ack, uniform in [T/2, T]."""
        if self._ack_at is None and self.mode is Mode.DATA and self._may_speak():
            half = self.timing.period // 2
            self._ack_at = self._now + (half + int(self._random.random() * half) if delay is None else delay)

    def _fire(self) -> None:
        if self._ack_at is not None and self._now >= self._ack_at:
            self._ack_at = None
            if self.mode is Mode.DATA and self._may_speak():
                self._send_ack()
        if self._round_at is not None and self._now >= self._round_at:
            self._repeat_round()

    # Receiving

    def _receive(self, pdu: Pdu) -> None:
        objection = self._objection(pdu)
        if objection:
            self._counters[f"refused_{objection.replace(' ', '_')}"] += 1
            self._note(NoteKind.REFUSED, pdu.src, text=objection)
            return
        assert isinstance(pdu, ClusterPdu)
        self._dispatch(pdu)

    def _objection(self, pdu: Pdu) -> str:
        """Why a PDU is none of mine, or nothing. Whatever passes can do no harm."""
        if not isinstance(pdu, ClusterPdu) or pdu.TYPE.proto != self._rows.data.TYPE.proto:
            return "foreign protocol"
        if pdu.cluster != self._options.cluster:
            return "foreign cluster"
        if pdu.n != self.n:
            return "wrong size of the cluster"
        if not 1 <= pdu.src <= self.n:
            return "source outside the cluster"
        if isinstance(pdu, DataBlock):
            if self._sees_the_future(pdu, pdu.ack):
                return "acknowledges what was not sent"
            if pdu.tseq < 1 or 0 in pdu.pseq:
                return "number zero"
        elif isinstance(pdu, SnapshotBlock) and self._sees_the_future(pdu, pdu.a_t):
            return "acknowledges what was not sent"
        return ""

    def _sees_the_future(self, pdu: ClusterPdu, expected: Sequence[int]) -> bool:
        """Does it acknowledge what I have not sent?"""
        return expected[self.index] > self.sl.tseq

    def _dispatch(self, pdu: ClusterPdu) -> None:
        if isinstance(pdu, DataBlock):
            self._on_data(pdu)
        elif isinstance(pdu, SnapshotBlock):
            self._on_round(pdu)

    def _on_data(self, p: DataBlock) -> None:
        """E4."""
        if p.flags & RETX:
            if self.mode in (Mode.ACKWAIT, Mode.RECOV) and p.epoch == self.epoch + 1:
                self._on_retransmission(p)
            return
        if p.epoch != self.epoch:
            if p.epoch > self.epoch:
                self._keep_for_later(p)
            else:
                self._counters["stale"] += 1
            return
        log, k = self.log, p.src - 1
        log.al.raise_column(k, p.ack)
        self._buf[k] = p.buf
        arrival = log.take(p)
        if arrival is Arrival.KNOWN:
            self._counters["known"] += 1
        elif self.me in p.dst:
            self._note(NoteKind.ACCEPTED, p.src, self._id(p), text=arrival.value)
        if p.dst or p.flags & NEED:
            self._kick()
        if self.mode is Mode.DATA:  # in a round the line decides what a go-back needs from SL
            self.sl.drop_below(log.al.minimum[self.index])
            if arrival is Arrival.AHEAD or (self._rules.ack_evidence and self._behind(p)):
                self._start_round()
            else:
                self._progress()

    def _behind(self, p: DataBlock) -> bool:
        return any(ack > treq for k, (ack, treq) in enumerate(zip(p.ack, self.log.treq, strict=True)) if k != p.src - 1)

    def _keep_for_later(self, pdu: ClusterPdu) -> None:
        key = (pdu.src, type(pdu), pdu.epoch, pdu.tseq)
        if len(self._future) < self._window * self.n:  # what all may send before they need me
            self._future.setdefault(key, pdu)
        else:
            self._counters["future_dropped"] += 1

    def _progress(self) -> None:
        """Pre-acknowledge and confirm; never inside a round (D-ST-16)."""
        for p in self.log.preacknowledge():
            self._note(NoteKind.PREACKED, p.src, self._id(p), text="acknowledged")
        for p in self.log.confirm():
            self._deliver(p, "known to all")

    def _deliver(self, p: DataBlock, rule: str) -> None:
        self._counters["delivered"] += 1
        self._note(NoteKind.CONFIRMED, p.src, self._id(p), text=rule)
        self._note(NoteKind.DELIVERED, p.src, self._id(p))

    # What the rounds do

    @abstractmethod
    def _start_round(self) -> None:
        """I have lost something that was for me."""

    @abstractmethod
    def _on_round(self, x: SnapshotBlock) -> None:
        """E5: a PDU of a round."""

    @abstractmethod
    def _on_retransmission(self, p: DataBlock) -> None:
        """E9: a PDU sent again."""

    @abstractmethod
    def _repeat_round(self) -> None:
        """E6: T_r."""

    # Outputs

    def _emit(self, pdu: Pdu) -> None:
        self._outputs.append(Send(pdu))

    def _note(
        self,
        kind: NoteKind,
        about: int = 0,
        seq: int = 0,
        *,
        peers: tuple[int, ...] = (),
        values: tuple[int, ...] = (),
        text: str = "",
    ) -> None:
        self._outputs.append(Log(kind, about, seq, peers, values, text))
