"""Data transfer on one channel (paper 000 §3): numbering, flow, acceptance, acknowledgement, confirmation.

The steps are numbered: E1 send, E2 acknowledge, E3 stay awake while unsettled, E4 receive data. What decides (rules.py)
and what is kept (logs.py, minima.py) stands elsewhere; here is the order of things. Losses are repaired by rounds
(recovery.py), during which nothing is sent here.

Idle rules: a data PDU and a NEED arm T_ack everywhere; an unsettled entity keeps sending ACK PDUs with NEED; a
settled one answers at most once per T; an ACK PDU never makes its receiver unsettled. So every exchange ends in
silence (D-ST-8).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from nodes.machine import Log, Submit
from nodes.st.core import Core
from nodes.st.logs import Arrival, ReceiveLog, SendLog
from nodes.st.membership import Membership
from nodes.st.round import Mode
from nodes.wire import Pdu
from nodes.wire.note import Delivered, NoteKind, Sent, digest_of
from nodes.wire.st import NEED, ClusterPdu, DataBlock, SnapshotBlock

MAX_PAYLOAD = 1024  # with the vectors of 32 entities a frame still fits an Ethernet
MAX_BUF = 0xFFFF


class Transfer:
    """What one entity sends and receives."""

    def __init__(self, core: Core, membership: Membership) -> None:
        self._core, self._membership = core, membership
        self._share = core.options.buffer_share * core.n
        self._requests: deque[Submit] = deque()
        self.forget()

    def forget(self) -> None:
        """Nothing sent, nothing received. What the application has asked for stays."""
        core = self._core
        self.sl = SendLog(core.slot)
        self.log = ReceiveLog(core.me, core.slot, core.rules)
        self.deadline: int | None = None  # T_ack
        self._buf = [min(core.setting.buffer_pdus, MAX_BUF)] * core.n

    def settled(self) -> bool:
        """No request, no unconfirmed PDU."""
        return not self._requests and not self._unsettled()

    def _unsettled(self) -> bool:
        """I still wait for acknowledgements."""
        return bool(self.sl.unacknowledged or self.log.prl or self.log.rrl)

    def _open(self) -> bool:
        """May data and ACK PDUs be sent now?"""
        return self._core.phase.mode is Mode.DATA and self._membership.may_speak()

    # E1, E2, E3: sending

    def submit(self, request: Submit) -> None:
        core = self._core
        if not request.to:
            core.refuse_request(request, "no destination")
        elif not set(request.to) <= set(core.setting.members):
            core.refuse_request(request, "destination outside the cluster")
        elif len(request.data) > MAX_PAYLOAD:
            core.refuse_request(request, f"payload over {MAX_PAYLOAD} bytes")
        else:
            self._requests.append(request)

    def settle(self) -> None:
        """After every event: requests that were waiting, and E3."""
        if self._open():
            while self._requests and self._window_open():
                self._send_data(self._requests.popleft())
            if self._unsettled():
                self.kick()

    def _window_open(self) -> bool:
        """The flow condition (§3.2, D-ST-20)."""
        core, members = self._core, self._membership.members
        least_buf = min(self._buf) if len(members) == core.n else min([self._buf[j - 1] for j in members])
        limit = max(1, min(core.window, least_buf // self._share))
        sl = self.sl
        return core.rules.window_open(limit, len(sl.unacknowledged), sl.tseq, self.log.al.minimum[core.index])

    def _send_data(self, request: Submit) -> None:
        core, dst = self._core, tuple(sorted(set(request.to)))
        p = self._data(dst, NEED, request.data)
        self.sl.unacknowledged.append(p)
        self.hush()
        core.counters["data"] += 1
        core.note(Log(NoteKind.SENT, core.me, self._membership.id(p), peers=dst, values=Sent(request.number)))
        core.emit(p)

    def send_ack(self) -> None:
        """E2: an ACK PDU, a DATA PDU with no destination. It consumes a TSEQ and is not kept."""
        if self._open():
            self._core.counters["acks"] += 1
            self._core.emit(self._data((), NEED if self._unsettled() else 0, b""))

    def _data(self, dst: tuple[int, ...], flags: int, payload: bytes) -> DataBlock:
        core, log = self._core, self.log
        tseq, pseq = self.sl.stamp(dst)
        free = core.setting.buffer_pdus - len(log.rrl) - len(log.prl)
        made: DataBlock = core.rows.data(
            **core.head,
            flags=flags,
            epoch=core.phase.epoch,
            tseq=tseq,
            buf=min(max(free, 0), MAX_BUF),
            dst=dst,
            ack=tuple(log.treq),
            pseq=pseq,
            payload=payload,
            **self._membership.stamp(),
        )
        return made

    def kick(self, delay: int | None = None) -> None:
        """Arm T_ack, uniform in [T/2, T]."""
        if self.deadline is None and self._open():
            core = self._core
            half = core.timing.period // 2
            self.deadline = core.now_ns + (half + int(core.chance.random() * half) if delay is None else delay)

    def hush(self) -> None:
        """No ACK PDU is needed now."""
        self.deadline = None

    def fire(self) -> None:
        """T_ack."""
        if self.deadline is not None and self._core.now_ns >= self.deadline:
            self.deadline = None
            self.send_ack()

    # E4: receiving

    def admits(self, pdu: Pdu) -> bool:
        """Is this a PDU for me? Whatever passes can do no harm."""
        objection = self._objection(pdu)
        if objection:
            self._core.counters[f"refused_{objection.replace(' ', '_')}"] += 1
            self._core.note(Log(NoteKind.REFUSED, pdu.src, text=objection))
        return not objection

    def _objection(self, pdu: Pdu) -> str:
        core = self._core
        if not isinstance(pdu, ClusterPdu) or pdu.TYPE.proto != core.rows.data.TYPE.proto:
            return "foreign protocol"
        if pdu.cluster != core.options.cluster:
            return "foreign cluster"
        if pdu.n != core.n:
            return "wrong size of the cluster"
        if not 1 <= pdu.src <= core.n:
            return "source outside the cluster"
        if isinstance(pdu, DataBlock | SnapshotBlock):
            expected = pdu.ack if isinstance(pdu, DataBlock) else pdu.a_t
            if expected[core.index] > self.sl.tseq and self._membership.concerns_me(pdu):
                return "acknowledges what was not sent"
            if isinstance(pdu, DataBlock) and (pdu.tseq < 1 or 0 in pdu.pseq):
                return "number zero"
        return ""

    def take(self, p: DataBlock) -> bool:
        """A PDU of my epoch, for the first time or again; whether it shows that I have lost something."""
        core, log, k = self._core, self.log, p.src - 1
        log.al.raise_column(k, p.ack)
        self._buf[k] = p.buf
        arrival = log.take(p)
        if arrival is Arrival.KNOWN:
            core.counters["known"] += 1
        elif core.me in p.dst:
            core.note(Log(NoteKind.ACCEPTED, p.src, self._membership.id(p), text=arrival.value))
        if p.dst or p.flags & NEED:
            self.kick()
        return arrival is Arrival.AHEAD or (core.rules.ack_evidence and self._behind(p))

    def _behind(self, p: DataBlock) -> bool:
        return any(ack > treq for k, (ack, treq) in enumerate(zip(p.ack, self.log.treq, strict=True)) if k != p.src - 1)

    def retake(self, p: DataBlock) -> bool:
        """E9: a PDU that was sent again; whether I lacked it. Its ACK, BUF and NEED are old and not read (D-ST-19)."""
        lacked = self.log.retake(p)
        if lacked:
            self._core.note(Log(NoteKind.ACCEPTED, p.src, self._membership.id(p), text="E9"))
        return lacked

    def trim(self) -> None:
        """§3.3: SL without what all have."""
        self.sl.drop_below(self.log.al.minimum[self._core.index])

    def progress(self) -> None:
        """Pre-acknowledge and confirm; never inside a round (D-ST-16)."""
        for p in self.log.preacknowledge():
            self._core.note(Log(NoteKind.PREACKED, p.src, self._membership.id(p), text="acknowledged"))
        for p in self.log.confirm():
            self._deliver(p, "known to all")

    def deliver_at_once(self, front: Iterable[DataBlock], rest: Iterable[DataBlock], why: str) -> None:
        """Deliver `front` because all agreed on it, not because all have acknowledged it; `rest` is what remains."""
        core, accepted = self._core, set(map(id, self.log.rrl))
        for p in front:
            if id(p) in accepted:
                core.note(Log(NoteKind.PREACKED, p.src, self._membership.id(p), text=why))
            self._deliver(p, why)
        self.log.keep_only(rest)

    def _deliver(self, p: DataBlock, rule: str) -> None:
        core = self._core
        core.counters["delivered"] += 1
        core.note(Log(NoteKind.CONFIRMED, p.src, self._membership.id(p), text=rule))
        core.note(Log(NoteKind.DELIVERED, p.src, self._membership.id(p), values=Delivered(digest_of(p.payload))))

    # What views do

    def begin_source(self, j: int, tseq: int, pseq: int) -> None:
        """E_j begins to send for everybody with these numbers, and has as much room as I."""
        self.log.begin_source(j, tseq, pseq)
        self._buf[j - 1] = self._buf[self._core.index]
