"""What netem does to a packet, in memory: loss, doubles, delay and rate of one interface, from the same values.

The order of things is that of net/sched/sch_netem.c; the draws are our own, so a run in memory loses other packets than
the kernel does. Losses that matter are therefore written down as faults of chosen PDUs, which both know.
"""

from __future__ import annotations

import random
from functools import lru_cache

from topologies.distributions import SCALE, DelayDraw
from topologies.impairments import Impairment

_BILLION = 1_000_000_000


@lru_cache(maxsize=256)
def _draw_of(impairment: Impairment) -> DelayDraw:
    return impairment.draw()  # a table of 16,384 numbers, for some distributions


class Netem:
    """One interface's."""

    def __init__(self, impairment: Impairment, seed: int) -> None:
        self.impairment = impairment
        self._draw = _draw_of(impairment)
        self._random = random.Random(seed)
        chances = (impairment.duplicate, impairment.loss, impairment.loss_model, impairment.corrupt)
        self._is_plain = not any(chances)  # what comes leaves, once
        self._bad = False  # of the Gilbert-Elliott model
        self._free_ns = 0  # when all that was sent so far has left, with a rate
        self.emptied = 0  # so many times

    def departures(self, now_ns: int, size_bytes: int) -> list[int]:
        """When copies of a packet that is sent now leave: none, one, or two."""
        impairment, chance = self.impairment, self._random.random
        if self._is_plain:
            return [self._departure(now_ns, size_bytes)]
        count = 1
        if impairment.duplicate and chance() < impairment.duplicate:
            count = 2
        if self._lost():
            count -= 1
        if count == 2 and self._lost():  # the double passes through the queue by itself
            count = 1
        return [self._departure(now_ns, size_bytes) for _ in range(count) if not self._corrupted()]

    def empty(self) -> None:
        """What waits in it is lost."""
        self.emptied += 1
        self._free_ns = 0

    def by_chance(self, waits_ns: list[int]) -> list[int]:
        """How much later copies that wait so long go on than without chance."""
        chance = self.impairment.jitter_ns or self.impairment.reorder
        least_ns = self.impairment.least_ns if chance else min(waits_ns, default=0)
        return [max(0, wait_ns - least_ns) for wait_ns in waits_ns]

    def _lost(self) -> bool:
        chance, model = self._random.random, self.impairment.loss_model
        if model is None:
            return self.impairment.loss > 0 and chance() < self.impairment.loss
        if chance() < (model.bad_to_good if self._bad else model.good_to_bad):
            self._bad = not self._bad
        return chance() < (model.loss_bad if self._bad else model.loss_good)

    def _corrupted(self) -> bool:
        """A PDU of which a bit is wrong is refused by everybody, as the check sees every single one."""
        return self.impairment.corrupt > 0 and self._random.random() < self.impairment.corrupt

    def _departure(self, now_ns: int, size_bytes: int) -> int:
        impairment, draw = self.impairment, self._draw
        if impairment.reorder and self._random.random() < impairment.reorder:
            return now_ns
        delay_ns = draw.latency_ns
        if draw.table:
            delay_ns += draw.jitter_ns * self._random.choice(draw.table) // SCALE
        elif draw.jitter_ns:
            delay_ns += self._random.randint(-draw.jitter_ns, draw.jitter_ns)
        if not impairment.rate_bps:
            return now_ns + max(0, delay_ns)
        length_ns = -(-size_bytes * 8 * _BILLION // impairment.rate_bps)
        self._free_ns = max(self._free_ns, now_ns + delay_ns) + length_ns
        return self._free_ns
