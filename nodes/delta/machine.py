"""The agent A_i of Δ-causal ordering: S1..S5 and R0..R6 (paper 002 §3.3, §3.5), repaired."""

from __future__ import annotations

import heapq
from bisect import insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from nodes.delta.notes import Delivered, Dropped, Sent
from nodes.delta.options import DeltaOptions
from nodes.delta.rules import rules_for
from nodes.delta.schemes import scheme_for
from nodes.delta.tags import Entries, Tag, pack, unexpired, union_max, unpack
from nodes.machine import Input, Log, Output, Received, Send, Setting, Submit
from nodes.wire import Pdu
from nodes.wire.delta import DeltaData
from nodes.wire.note import NoteKind, Refused, digest_of


@dataclass(slots=True, order=True)
class _Waiting:
    """A message in the buffer."""

    rank: tuple[int, int]  # what rules.order says; then by arrival
    arrival: int
    pdu: DeltaData = field(compare=False)
    tag: Tag = field(compare=False)
    mine: Entries = field(compare=False)  # CB_m[i]
    arrived_ns: int = field(compare=False)
    not_before_ns: int = field(compare=False)  # R0
    scheme_ns: int = field(compare=False)  # what the scheme waits for beside condition (1)
    free_ns: int | None = field(default=None, compare=False)  # when R0 and condition (1) became true
    done: bool = field(default=False, compare=False)  # delivered: its timers are void


class Delta:
    """One agent."""

    def __init__(self, setting: Setting, options: DeltaOptions) -> None:
        self._me, self._members = setting.me, setting.members
        self._capacity = setting.buffer_pdus
        self._limit_ns = options.limit_ns  # Δ'
        self._rules, self.scheme = rules_for(options), scheme_for(options)
        self._cb: Tag = {k: {} for k in setting.members}  # CB_i
        self._deliv = dict.fromkeys(setting.members, 0)  # deliv_i; 0 is -∞, for every time stamp is at least 1
        self._over = dict.fromkeys(setting.members, 0)  # R8: of each sender the latest delivered or given up
        self._horizon_ns = 0  # R8: what has a smaller time stamp is given up, whoever sent it
        self._last_ns = 0  # the largest time stamp sent or delivered (D-DC-2)
        self._seq = setting.incarnation << 32
        self._buffer: list[_Waiting] = []
        self._timers: list[tuple[int, int, _Waiting]] = []  # local time, arrival, message
        self._seen: dict[tuple[int, int], int] = {}  # (sender, seq) -> TS, until it expires (D-DC-13)
        self._next_sweep = 0
        self._arrivals = 0
        self._now_ns = 0
        self._silence_ns = self._rules.silence(options.limit_ns, options.epsilon_ns)
        self._back = setting.incarnation > 1  # R7: not yet told at what time this life began
        self._speaks_ns = 0  # R7: when it may send
        self._held: list[Submit] = []  # R7: what it is to send then
        self._counts: Counter[str] = Counter()

    # the machine

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if now_ns < self._now_ns:
            self._begin_again()
        self._now_ns = now_ns
        if self._back:
            self._back, self._speaks_ns = False, now_ns + self._silence_ns
        outputs: list[Output] = []
        if isinstance(event, Received):
            outputs += self._received(event.pdu, now_ns)
        elif isinstance(event, Submit):
            self._held.append(event)
        outputs += self._poll(now_ns)  # what can be delivered now is delivered first, even when the timer is late
        while self._held and now_ns >= self._speaks_ns:
            outputs += self._submitted(self._held.pop(0), now_ns)
        return outputs

    @property
    def deadline(self) -> int | None:
        if self._back:
            return 0
        delivery_ns = self._next_timer()
        if not self._held:
            return delivery_ns
        return self._speaks_ns if delivery_ns is None else min(delivery_ns, self._speaks_ns)

    def _next_timer(self) -> int | None:
        while self._timers:
            time_ns, _, waiting = self._timers[0]
            if time_ns > self._now_ns and not waiting.done:
                return time_ns
            heapq.heappop(self._timers)
        return None

    def settled(self) -> bool:
        return not self._buffer and not self._held

    def counters(self) -> Mapping[str, int]:
        return dict(self._counts)

    def phase(self) -> str:
        """How much waits in the buffer, up to a few, and whether it is silent after a restart."""
        return f"{min(len(self._buffer), 3)} {'silent' if self._held else ''}"

    def states(self) -> Mapping[int, str]:
        """Of the agent: it holds back what it is to send after a restart, or what it got, or nothing."""
        return {0: "silent" if self._held else "waiting" if self._buffer else "clear"}

    # sending

    def _submitted(self, event: Submit, now_ns: int) -> list[Output]:
        dest = tuple(sorted(set(event.to)))
        if not dest or not set(dest) <= set(self._members):
            return [Log(NoteKind.REFUSED, peers=dest, values=Refused(event.number), text="no such destination")]
        others = tuple([j for j in dest if j != self._me])
        ts = self._rules.stamp(now_ns, self._last_ns)  # S1
        self._last_ns = max(self._last_ns, ts)
        self._seq += 1
        outputs: list[Output] = []
        entries = 0
        if others:
            pdu = self._stamped(ts, dest, event.data, now_ns)
            entries = len(pdu.cb)
            everybody = len(others) == len(self._members) - 1
            outputs.append(Send(pdu, None if everybody else others))
        for j in others:  # S5
            self._cb[j] = {self._me: ts}
        outputs.insert(0, Log(NoteKind.SENT, self._me, self._seq, peers=dest, values=Sent(event.number, ts, entries)))
        if self._me in dest:  # my own copy does not travel
            own = Delivered(digest_of(event.data), ts, 0, 0, 0, entries)
            outputs.append(Log(NoteKind.DELIVERED, self._me, self._seq, values=own))
        return outputs

    def _stamped(self, ts: int, dest: tuple[int, ...], data: bytes, now_ns: int) -> DeltaData:
        for k, entries in self._cb.items():
            self._cb[k] = self.scheme.bound(unexpired(entries, self._limit_ns, now_ns))  # S2, S3
        tag = {k: self.scheme.attach(entries, self._me, k in dest) for k, entries in self._cb.items()}
        counts, cb = pack(tag, self._members)
        self._counts["tag_entries"] += len(cb)
        self._counts["tagged"] += 1
        return DeltaData(
            src=self._me,
            seq=self._seq,
            ts=ts,
            ndest=len(dest),
            dest=dest,
            n=len(counts),
            counts=counts,
            cb=cb,
            payload=data,
        )

    # receiving

    def _received(self, pdu: Pdu, now_ns: int) -> list[Output]:
        reason = self._refusal(pdu)
        if reason is not None:
            self._counts[f"refused_{reason}"] += 1
            return []
        assert isinstance(pdu, DeltaData)
        self._forget_expired(now_ns)
        if (pdu.src, pdu.seq) in self._seen:  # D-DC-13
            self._counts["duplicates"] += 1
            return []
        late_ns = now_ns - pdu.ts - self._limit_ns
        if late_ns > 0:  # R1: strictly, exactly Δ is in time (D-DC-4)
            return self._refuse(pdu, late_ns, "late")
        if self._rules.overtaken(pdu.ts, max(self._over[pdu.src], self._horizon_ns - 1)):
            return self._refuse(pdu, late_ns, "overtaken")
        if len(self._buffer) >= self._capacity:
            self._counts["buffer_full"] += 1
            return [Log(NoteKind.ALARM, pdu.src, pdu.seq, peers=(pdu.src,), text="buffer full: message dropped")]
        self._seen[pdu.src, pdu.seq] = pdu.ts
        self._buffered(pdu, now_ns)
        return []

    def _refusal(self, pdu: Pdu) -> str | None:
        """Why a PDU from the network cannot be a message for me."""
        if not isinstance(pdu, DeltaData):
            return "foreign"
        if pdu.src not in self._deliv or pdu.src == self._me:
            return "source"
        if self._me not in pdu.dest or not self._deliv.keys() >= set(pdu.dest):
            return "destination"
        if pdu.n != len(self._members) or not all(sender in self._deliv for sender, _ in pdu.cb):
            return "tag"
        if pdu.ts < 1:
            return "time_stamp"
        return None

    def _refuse(self, pdu: DeltaData, late_ns: int, reason: str) -> list[Output]:
        self._counts[reason] += 1
        return [Log(NoteKind.REFUSED, pdu.src, pdu.seq, values=Dropped(pdu.ts, late_ns), text=reason)]

    def _buffered(self, pdu: DeltaData, now_ns: int) -> None:
        self._arrivals += 1
        tag = unpack(pdu, self._members)
        mine = tag.get(self._me, {})
        waiting = _Waiting(
            self._rules.order(pdu.ts, pdu.src, self._arrivals),
            self._arrivals,
            pdu,
            tag,
            mine,
            now_ns,
            self._rules.not_before(pdu.ts),
            self.scheme.not_before(pdu.ts, mine),
        )
        insort(self._buffer, waiting)
        self._set_timers(waiting)

    def _set_timers(self, waiting: _Waiting) -> None:
        """One for each instant at which time alone can make the message deliverable."""
        instants = {ts + self._limit_ns + 1 for ts in waiting.mine.values()}
        for instant in instants | {waiting.not_before_ns, waiting.scheme_ns}:
            if instant > self._now_ns:
                heapq.heappush(self._timers, (instant, waiting.arrival, waiting))

    def _begin_again(self) -> None:
        """The clock was set back: instants that had passed lie ahead again, and what was put off is not put off."""
        self._now_ns = self._next_sweep = 0
        self._timers.clear()
        for waiting in self._buffer:
            self._set_timers(waiting)

    def _forget_expired(self, now_ns: int) -> None:
        """Long after its limit a duplicate is refused by R1 (and noted as late, for nobody remembers it)."""
        if now_ns >= self._next_sweep:
            self._seen = {key: ts for key, ts in self._seen.items() if ts + 4 * self._limit_ns >= now_ns}
            self._next_sweep = now_ns + self._limit_ns

    # delivering

    def _poll(self, now_ns: int) -> list[Output]:
        """Deliver what can be delivered, one at a time: each delivery may free another, even an earlier one."""
        outputs: list[Output] = []
        while (waiting := self._next_ready(now_ns)) is not None:
            self._buffer.remove(waiting)
            waiting.done = True
            outputs.append(self._delivered(waiting, now_ns))
        return outputs

    def _next_ready(self, now_ns: int) -> _Waiting | None:
        for waiting in self._buffer:
            if now_ns >= waiting.not_before_ns and self._condition_1(waiting.mine, now_ns):
                if waiting.free_ns is None:
                    waiting.free_ns = now_ns
                if now_ns >= waiting.scheme_ns:
                    return waiting
        return None

    def _condition_1(self, mine: Entries, now_ns: int) -> bool:
        """(1): every message that must come first is delivered, or cannot come any more. Mine never comes: I had it at
        once, if in an earlier life."""
        return all(
            sender == self._me or self._deliv[sender] >= ts or ts + self._limit_ns < now_ns
            for sender, ts in mine.items()
        )

    def _delivered(self, waiting: _Waiting, now_ns: int) -> Log:
        pdu = waiting.pdu
        for k in self._members:
            if k not in pdu.dest:
                union_max(self._cb[k], waiting.tag.get(k, {}))  # R5
            elif k != self._me:
                union_max(self._cb[k], {self._rules.entry(pdu.src, self._me): pdu.ts})  # R4
        self._deliv[pdu.src] = max(self._deliv[pdu.src], pdu.ts)  # R6
        union_max(self._over, {**waiting.mine, pdu.src: pdu.ts})  # R8
        self._horizon_ns = max(self._horizon_ns, self.scheme.horizon(pdu.ts, waiting.mine))
        self._last_ns = max(self._last_ns, pdu.ts)  # D-DC-2
        assert waiting.free_ns is not None
        waited_ns, unnecessary_ns = now_ns - waiting.arrived_ns, now_ns - waiting.free_ns
        digest, mine = digest_of(pdu.payload), len(waiting.mine)
        said = Delivered(digest, pdu.ts, waited_ns, unnecessary_ns, mine, entries=len(pdu.cb))
        return Log(NoteKind.DELIVERED, pdu.src, pdu.seq, values=said)  # R3
