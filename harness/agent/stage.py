"""What faults act on, in the guest: the nodes' processes, the network's controls, and the timeline."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence

from harness.agent import processes
from harness.agent.branch import RevisionError
from harness.agent.notes import HarnessNotes
from harness.agent.traffic import Traffic
from harness.scenario import Scenario
from harness.scenario.faults import Fault
from harness.scenario.faults.happening import Happening, Happens
from harness.scenario.faults.lasting import Lasting, Pairs, Reading
from harness.scenario.faults.when import Moments, When
from nodes.clock import Clock
from nodes.wire.fault import FaultNote
from topologies.impairments import Impairment
from topologies.layers import Cover
from topologies.placement import Placement


class Stage(Lasting):
    """The emulated network and the processes on it (harness/scenario/faults/stage.py says what is asked of it)."""

    def __init__(
        self,
        scenario: Scenario,
        traffic: Traffic,
        notes: HarnessNotes,
        helpers: Sequence[processes.Helper],
        t0_ns: int,
        start: Callable[[str], processes.Process],
    ) -> None:
        super().__init__(scenario.node)
        self._scenario = scenario
        self._traffic = traffic
        self._notes = notes
        self._helpers = helpers
        self._t0_ns = t0_ns
        self._start = start
        self._timeline: list[tuple[int, int, Callable[[], object]]] = []
        self._order = 0
        self.happening = Happening(self._now_ns)
        self.moments = Moments(scenario.nodes)
        self.processes: dict[str, processes.Process] = {}
        self.clocks = {node: Clock() for node in scenario.nodes}

    @property
    def nodes(self) -> tuple[str, ...]:
        return self._scenario.nodes

    # the timeline

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        self._enter(time_ns, self.happening.of(action))

    def when(self, when: When, delay_ns: int, action: Callable[[], None]) -> None:
        happen = self.happening.of(action)

        def come() -> None:
            if delay_ns:
                self._enter(self._now_ns() + delay_ns, happen)
            else:
                happen()

        self.moments.wait_for(when, come)

    def _now_ns(self) -> int:
        return time.time_ns() - self._t0_ns

    def after(self, delay_ns: int, action: Callable[[], object]) -> None:
        self._enter(self.happening.begun_ns + delay_ns, action)

    def until(self, time_ns: int) -> None:
        """The run goes on up to this time at least."""
        self._enter(time_ns, lambda: None)

    def _enter(self, time_ns: int, action: Callable[[], object]) -> None:
        self._order += 1
        heapq.heappush(self._timeline, (self._t0_ns + time_ns, self._order, action))

    def next_ns(self) -> int | None:
        """The true time of what comes next; None: nothing more."""
        return self._timeline[0][0] if self._timeline else None

    def take_next(self) -> None:
        """Let it happen."""
        _, _, action = heapq.heappop(self._timeline)
        action()

    def revise(self, before: Sequence[Fault], after: Sequence[Fault]) -> None:
        """Other faults are to come than those that were entered."""
        gone = [one for one in before if not any(one is other for other in after)]
        for fault in gone:
            if self.happening.has_begun(fault):
                raise RevisionError(f"fault {before.index(fault) + 1} ({fault.KIND}) has begun: it cannot be changed")
            if fault.when is not None:
                self.moments.forget(fault.when)
        self._timeline = [
            (at_ns, order, action)
            for at_ns, order, action in self._timeline
            if not (isinstance(action, Happens) and any(action.fault is fault for fault in gone))
        ]
        heapq.heapify(self._timeline)
        self.happening.enter([one for one in after if not any(one is other for other in before)], self)

    def release(self, fault: Fault) -> None:
        self.happening.said()  # who carries it out says so
        for helper in self._helpers:
            helper.release(fault)

    def say(self, note: FaultNote) -> None:
        self.happening.said()
        self._notes.fault(note)

    # processes

    def runs(self, node: str) -> bool:
        return node in self.processes

    def paused(self, node: str) -> bool:
        return self.runs(node) and self.processes[node].paused

    def kill(self, node: str) -> None:
        processes.kill(self.processes.pop(node))

    def dismiss(self, node: str) -> None:
        processes.stop(self.processes.pop(node), "leave")

    def start(self, node: str) -> None:
        self.resume((node,))
        self.processes[node] = self._start(node)

    def _stop(self, node: str, stopped: bool) -> None:
        if self.runs(node) and stopped != self.paused(node):
            (processes.pause if stopped else processes.resume)(self.processes[node])

    # the network

    def _sever(self, pairs: Pairs) -> None:
        self._traffic.partition(pairs)

    def _unplug(self, link: str, unplugged: bool) -> None:
        self._traffic.link(link, not unplugged)

    def impair(self, on: Sequence[str], impairment: Impairment) -> Cover[Placement]:
        return self._traffic.impaired.cover(on, impairment)

    # inside of nodes

    def set_clock(self, node: str, offset_ns: int | None, step_ns: int | None, drift_ppb: int | None) -> None:
        clock, now = self.clocks[node], time.time_ns()
        if step_ns is not None:
            offset_ns = clock.shows(now) - now + step_ns
        # Ours is changed for a later restart of the node; the node's own copy is told.
        clock.change(now, offset_ns, drift_ppb)
        self._tell(node, "clock", {"offset_ns": offset_ns, "drift_ppb": drift_ppb})

    def _read_so(self, node: str, reading: Reading) -> None:
        self._tell(node, "reader", {"read_delay_ns": reading.delay_ns, "buffer_bytes": reading.buffer_bytes})

    def _tell(self, node: str, word: str, value: dict[str, int | None]) -> None:
        if node in self.processes:
            processes.tell(self.processes[node], word, value)
