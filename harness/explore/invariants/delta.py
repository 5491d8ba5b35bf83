"""What the rules of delta that are not the paper's promise.

R7  when a message of a later life can be delivered, what came before that life has expired (D-DC-14)
R8  what is delivered is not older than what was delivered of its sender, nor given up by a message that was
    delivered: named in its tag, or before its horizon (D-DC-13)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from captures.evidence import Event
from harness.explore.invariants.watch import Life, Watch
from harness.scenario.faults.clock import ClockChange
from harness.scenario.model import Scenario
from harness.world import World
from nodes.delta.options import DeltaOptions
from nodes.delta.tags import unpack
from nodes.machine import Machine, Send
from nodes.wire.delta import DeltaData
from nodes.wire.note import NoteKind


def within_epsilon(case: Scenario) -> bool:
    """Clocks that run wild promise nothing."""
    return not any(isinstance(fault, ClockChange) and fault.offset_ns is None for fault in case.fault)


class Lives(Watch):
    """R7 and R8, where clocks keep within ε."""

    NAMES = ("R7", "R8")

    @staticmethod
    def is_for(case: Scenario) -> bool:
        options = case.options
        assert isinstance(options, DeltaOptions)
        return within_epsilon(case) and not (options.switches().restart or options.switches().overtaken)

    def __init__(self, world: World, options: DeltaOptions) -> None:
        super().__init__(world, options)
        self._options = options
        self._sent: dict[Life, dict[int, DeltaData]] = defaultdict(dict)  # by number
        self._passed: dict[Life, dict[int, int]] = defaultdict(dict)  # of each sender, what is over
        self._horizons: dict[Life, int] = defaultdict(int)

    def sent(self, number: int, send: Send) -> None:
        pdu = send.pdu
        if isinstance(pdu, DeltaData):
            self._sent[pdu.src, pdu.seq >> 32][pdu.seq] = pdu

    def look(self, number: int, machine: Machine, noted: Sequence[Event]) -> None:
        for event in noted:
            if event.kind is NoteKind.DELIVERED and event.about != number:
                self._delivered(event)

    def _delivered(self, event: Event) -> None:
        me, life = (event.node, event.incarnation), event.seq >> 32
        pdu = self._sent[event.about, life].get(event.seq)
        if pdu is None:
            return  # that nobody sent it a judge says
        name = f"n{event.node}, life {event.incarnation}, delivers {event.about}:{event.seq:x} ({pdu.ts})"
        for earlier in range(1, life):
            for other in self._sent.get((event.about, earlier), {}).values():
                if event.node in other.dest and other.ts + self._options.limit_ns >= event.local_ns:
                    self.broken.append(f"R7: {name} at {event.local_ns}, and {other.seq:x} ({other.ts}) can still come")
        passed, horizon = self._passed[me], self._horizons[me]
        if pdu.ts <= max(passed.get(pdu.src, 0), horizon - 1):
            self.broken.append(f"R8: {name}, which is given up: {passed}, {horizon}")
        mine = unpack(pdu, self.world.numbers()).get(event.node, {})
        for source, ts in {**mine, pdu.src: pdu.ts}.items():
            passed[source] = max(ts, passed.get(source, 0))
        self._horizons[me] = max(horizon, self._expired(pdu.ts, mine))

    def _expired(self, ts: int, mine: dict[int, int]) -> int:
        """Messages before it need not have been named in a tag: they had expired, or S3 has cut them off."""
        options = self._options
        begun = ts - options.limit_ns + (options.held_ns if options.scheme == "hold" else 0)
        return max(begun, min(mine.values())) if options.scheme == "bounded" and len(mine) >= options.max_cb else begun
