"""The two logs of an entity (paper 000 §3.1): SL with its sequence numbers, and RL with what is known about it.

RL holds PDUs that are for me: RRL (accepted) -> PRL (pre-acknowledged) -> ARL (confirmed; it belongs to the
application). Indices are E_j's number less one; `slot[j]` is the counter that numbers the PDUs for E_j: one per
entity in ST, a single one in TO, where everything is for everybody.
"""

from __future__ import annotations

from collections import deque
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
        if mine and pseq in self.held[k]:
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
