"""The two logs of an entity (paper 000 §3.1): SL with its sequence numbers, and RL with what is known about it.

RL holds PDUs that are for me: RRL (accepted) -> PRL (pre-acknowledged) -> ARL (confirmed; it belongs to the
application). Indices are E_j's number less one; `slot[j]` is the counter that numbers the PDUs for E_j: one per
entity in ST, a single one in TO, where everything is for everybody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum

from nodes.st.lines import Log
from nodes.st.minima import Minima
from nodes.st.rules import Rules
from nodes.wire.st import DataBlock


class Arrival(Enum):
    """What a data PDU is to the log."""

    NEXT = "E4.4a"  # nothing for me is missing before it
    AHEAD = "E4.4b"  # something for me is missing before it
    KNOWN = "known"


class SendLog:
    """What I have sent and not everybody has acknowledged."""

    __slots__ = ("pseq", "slot", "tseq", "unacknowledged")

    def __init__(self, slot: tuple[int, ...]) -> None:
        self.tseq = 1
        self.pseq = [1] * (max(slot) + 1)
        self.slot = slot
        self.unacknowledged: deque[DataBlock] = deque()

    def stamp(self, dst: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """TSEQ and PSEQ of a new PDU: stamp, then move on (D-ST-1)."""
        tseq, pseq = self.tseq, tuple(self.pseq)
        self.tseq += 1
        for k in {self.slot[j - 1] for j in dst}:
            self.pseq[k] += 1
        return tseq, pseq

    def drop_below(self, tseq: int) -> None:
        """§3.3: everybody has these."""
        waiting = self.unacknowledged
        while waiting and waiting[0].tseq < tseq:
            waiting.popleft()


class ReceiveLog:
    """What I have received, and what I know others have."""

    __slots__ = ("_rules", "al", "control", "held", "index", "me", "pal", "preq", "prl", "rrl", "slot", "treq")

    def __init__(self, me: int, slot: tuple[int, ...], rules: Rules) -> None:
        n = len(slot)
        self.me, self.index, self.slot = me, me - 1, slot[me - 1]
        self.treq = [1] * n
        self.preq = [1] * n
        self.held: list[set[int]] = [set() for _ in range(n)]  # PSEQs ahead of PREQ that are in RRL (D-ST-13)
        self.al = Minima(n)
        self.pal = Minima(n)
        self.control: list[deque[DataBlock]] = [deque() for _ in range(n)]  # CTL (D-ST-7)
        self.rrl: deque[DataBlock] = deque()
        self.prl: deque[DataBlock] = deque()
        self._rules = rules

    def take(self, p: DataBlock) -> Arrival:
        """§3.2: accept p, keep it for later, or know it already."""
        k, tseq, pseq, mine = p.src - 1, p.tseq, p.pseq[self.slot], self.me in p.dst
        if mine and pseq in self.held[k]:  # first: PREQ may have reached it when what was missing came late
            return Arrival.KNOWN
        if self._rules.accept_next(tseq, self.treq[k], pseq, self.preq[k], mine):
            self.treq[k] = tseq + 1
            self.al.raise_one(self.index, k, tseq + 1)
            self.control[k].append(p)
            if mine:
                self.preq[k] = pseq + 1
                self.rrl.append(p)
            return Arrival.NEXT
        if tseq < self.treq[k] or pseq <= self.preq[k]:
            return Arrival.KNOWN
        if mine:
            self.held[k].add(pseq)
            self.rrl.append(p)
        return Arrival.AHEAD

    def retake(self, p: DataBlock) -> bool:
        """§4.3 (2): take a retransmitted PDU that I lack."""
        k, pseq = p.src - 1, p.pseq[self.slot]
        if self.me not in p.dst or pseq in self.held[k] or not self._rules.retake(pseq, self.preq[k]):
            return False
        self.held[k].add(pseq)
        self.rrl.append(p)
        return True

    def preacknowledge(self) -> list[DataBlock]:
        """§3.3: RRL -> PRL. Feeds PAL from the control list first (D-ST-7)."""
        if self._rules.control_from_all:
            self._feed_pal()
        rrl, moved, least = self.rrl, [], self._rules.least
        while rrl:
            p = rrl[0]
            if p.tseq >= least(self.al, p) or p.tseq >= self.treq[p.src - 1]:
                break
            self.prl.append(rrl.popleft())
            moved.append(p)
            if not self._rules.control_from_all:
                self.pal.raise_column(p.src - 1, p.ack)
        return moved

    def confirm(self) -> list[DataBlock]:
        """§3.4: PRL -> ARL."""
        prl, moved, least = self.prl, [], self._rules.least
        while prl and prl[0].tseq < least(self.pal, prl[0]):
            moved.append(prl.popleft())
        return moved

    def all(self) -> Log:
        """PRL and RRL in the order of receipt."""
        return [*self.prl, *self.rrl]

    # What recovery rounds and views do to it

    def keep_only(self, rest: Iterable[DataBlock]) -> None:
        """Everything else has been delivered; nothing of the rest is pre-acknowledged."""
        self.prl.clear()
        self.rrl = deque(rest)

    def discard_all(self, c: Sequence[int]) -> None:
        """Go-back: what is left, from c on, is sent again by its sources; its acknowledgements are void."""
        self.al.lower(c)
        self.pal.lower(c)
        self.hold_none()
        for p in self.rrl:
            self.preq[p.src - 1] = min(self.preq[p.src - 1], p.pseq[self.slot])
        self.rrl.clear()

    def hold_none(self) -> None:
        """What is ahead of PREQ does not count: it was discarded, or nothing is missing before it any more."""
        for held in self.held:
            held.clear()

    def lacks(self, j: int, end: int) -> bool:
        """Is something for me missing among what E_j has numbered below `end`?"""
        return self.first_lacking(j) < end

    def first_lacking(self, j: int) -> int:
        """The first number of E_j's for me that I neither have nor hold."""
        number, held = self.preq[j - 1], self.held[j - 1]
        while number in held:
            number += 1
        return number

    def expect(self, j: int, tseq: int, pseq: int) -> None:
        """I have everything of E_j before these numbers."""
        self.treq[j - 1], self.preq[j - 1] = tseq, pseq
        self.al.raise_one(self.index, j - 1, tseq)

    def skip_to(self, j: int, pseq: int) -> None:
        """What E_j numbered for me before this is not waited for (D-ST-10)."""
        self.preq[j - 1] = pseq

    def begin_source(self, j: int, tseq: int, pseq: int) -> None:
        """E_j begins to send for everybody with these numbers."""
        k = j - 1
        self.held[k].clear()
        self.control[k].clear()
        self.al.set_source(k, tseq)
        self.pal.set_source(k, tseq)
        self.expect(j, tseq, pseq)

    def skip_acks(self, j: int, tseq: int, pseq: int) -> None:
        """E_j will send these numbers next. If only ACK PDUs are missing before them, they need no repair."""
        if self.preq[j - 1] == pseq:
            self.treq[j - 1] = max(self.treq[j - 1], tseq)
            self.al.raise_one(self.index, j - 1, self.treq[j - 1])

    def all_have(self, j: int, tseq: int) -> None:
        """Everybody has what E_j sent before this number."""
        for i in range(len(self.treq)):
            self.al.raise_one(i, j - 1, tseq)
            self.pal.raise_one(i, j - 1, tseq)
        self.al.raise_one(self.index, j - 1, self.treq[j - 1])

    def delete_from(self, j: int, tseq: int) -> int:
        """Of E_j, which has stopped, nothing is kept from this number on; how many PDUs that were."""
        gone = [p for p in self.rrl if p.src == j and p.tseq >= tseq]
        if gone:
            self.rrl = deque(p for p in self.rrl if not (p.src == j and p.tseq >= tseq))
            self.preq[j - 1] = min([self.preq[j - 1], *[p.pseq[self.slot] for p in gone]])
        self.held[j - 1].clear()
        self.treq[j - 1] = tseq
        return len(gone)

    def count_only(self, members: Iterable[int]) -> None:
        """These entities are the members."""
        counted = frozenset(j - 1 for j in members)
        self.al.count_only(counted)
        self.pal.count_only(counted)

    def _feed_pal(self) -> None:
        """What E_k had acknowledged in a PDU that all have, all know it has: the newest such PDU counts."""
        if self._rules.by_destinations:
            self._feed_pal_by_destinations()
            return
        for k in self.al.moved:
            entries, least, newest = self.control[k], self.al.minimum[k], None
            while entries and entries[0].tseq < least:
                newest = entries.popleft()
            if newest is not None:
                self.pal.raise_column(k, newest.ack)
        self.al.moved.clear()

    def _feed_pal_by_destinations(self) -> None:
        """The same for the printed rule: the newest PDU that its destinations have, whatever is missing before it."""
        for k, entries in enumerate(self.control):
            known = [p for p in entries if p.tseq < self._rules.least(self.al, p)]
            if known:
                self.pal.raise_column(k, known[-1].ack)
                while entries[0] is not known[-1]:
                    entries.popleft()
