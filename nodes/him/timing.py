"""Time-outs from time stamps in the packets (paper 003 §3.3 step 6; D-HI-9, D-HI-12), and the timers of a machine."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass, field

from nodes.him.options import HimOptions

_WRAP = 2**32  # of a time stamp, in microseconds
_LONGEST_US = 60_000_000  # a longer round trip is no measurement: nobody sent that stamp


def stamp(now_ns: int) -> int:
    """TSval: microseconds, modulo 2^32."""
    return now_ns // 1000 % _WRAP


def round_trip_ns(now_ns: int, echoed: int) -> int | None:
    """The time since the stamp `echoed`, unless it cannot be one."""
    passed_us = (stamp(now_ns) - echoed) % _WRAP
    return passed_us * 1000 if passed_us <= _LONGEST_US else None


class RoundTrips:
    """SRTT and RTTVAR of every peer, and the time-out made of them."""

    def __init__(self, initial_ns: int, min_ns: int, max_ns: int) -> None:
        self._initial_ns, self._min_ns, self._max_ns = initial_ns, min_ns, max_ns
        self._smoothed: dict[int, tuple[int, int]] = {}  # peer -> SRTT, RTTVAR

    def measured(self, peer: int, sample_ns: int) -> None:
        if peer not in self._smoothed:
            self._smoothed[peer] = sample_ns, sample_ns // 2
            return
        srtt, rttvar = self._smoothed[peer]
        rttvar += (abs(sample_ns - srtt) - rttvar) // 4
        self._smoothed[peer] = srtt + (sample_ns - srtt) // 8, rttvar

    def knows(self, peer: int) -> bool:
        return peer in self._smoothed

    def timeout_ns(self, peer: int) -> int:
        if peer not in self._smoothed:
            return self._initial_ns
        srtt, rttvar = self._smoothed[peer]
        # Where nothing varies RTTVAR decays to nothing, and an answer would race with its own time-out. The other
        # quarter is for an answerer that waits for a DATA that was overtaken (tester.py).
        return min(max((srtt + max(4 * rttvar, srtt // 4)) * 5 // 4, self._min_ns), self._max_ns)

    def variation_ns(self) -> int:
        """How much later than another sent with it a packet may come: the largest 4 RTTVAR that was measured, and
        before anything was, as long as is bearable."""
        return max((4 * rttvar for _, rttvar in self._smoothed.values()), default=self._initial_ns)

    def slowest_ns(self, peers: tuple[int, ...]) -> int:
        """The largest time-out among these; the initial one if there are none."""
        return max((self.timeout_ns(peer) for peer in peers), default=self._initial_ns)


def decision_time_ns(rto_ns: int, q: int, rtry: int) -> int:
    """T_dec of D-HI-12, with RTT <= RTO and T_rep = RTO: two trips across the group, one test that a question
    started late and that asks q times with doubled time-outs, and the REPORT with its repetitions."""
    return (2 + 2 * ((1 << q) - 1) + rtry) * rto_ns


def patience_ns(options: HimOptions) -> int:
    """How long a holder waits for the END (D-HI-20): as long as an originator may take on the slowest line there can
    be, of which the holder need not know. Less, and all holders would ask him at once, although nothing was lost."""
    if options.decide_ns:
        return 2 * options.decide_ns
    return decision_time_ns(options.rto_max_ns, options.q, options.rtry) + options.rto_max_ns


@dataclass(slots=True)
class Timers:
    """Named points in time; setting one again moves it."""

    _at: dict[Hashable, int] = field(default_factory=dict)
    _heap: list[tuple[int, int, Hashable]] = field(default_factory=list)
    _order: int = 0

    def set(self, name: Hashable, at_ns: int) -> None:
        self._at[name] = at_ns
        self._order += 1
        heapq.heappush(self._heap, (at_ns, self._order, name))

    def cancel(self, name: Hashable) -> None:
        self._at.pop(name, None)

    def running(self, name: Hashable) -> bool:
        return name in self._at

    @property
    def next_ns(self) -> int | None:
        while self._heap and self._at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ns: int) -> Hashable | None:
        """One name whose time has come, taken off; earliest first."""
        first = self.next_ns
        if first is None or first > now_ns:
            return None
        name = heapq.heappop(self._heap)[2]
        del self._at[name]
        return name
