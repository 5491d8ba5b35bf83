"""A stage that writes down what faults do to it, in the order of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

from harness.scenario.faults import Fault
from harness.scenario.faults.lasting import Lasting, Pairs, Reading
from harness.scenario.faults.when import When
from harness.scenario.model import NodeOptions
from nodes.wire.fault import FaultNote
from topologies.impairments import Impairment
from topologies.layers import Cover
from topologies.placement import Placement

MS = 1_000_000


class WrittenDown(Lasting):
    """What was said and done, one line each, with the time in milliseconds."""

    def __init__(self, nodes: tuple[str, ...] = ("n1", "n2", "n3")) -> None:
        super().__init__(NodeOptions())
        self.nodes = nodes
        self.lines: list[str] = []
        self.said: list[FaultNote] = []
        self._now = 0
        self._gone: set[str] = set()
        self._paused: set[str] = set()
        self._heap: list[tuple[int, int, Callable[[], object]]] = []

    def all(self, faults: Iterable[Fault]) -> list[str]:
        """Let these faults happen."""
        for fault in faults:
            fault.enter(self)
        while self._heap:
            self._now, _, action = heapq.heappop(self._heap)
            action()
        return self.lines

    def _write(self, line: str) -> None:
        self.lines.append(f"{self._now // MS} {line}")

    def at(self, time_ns: int, action: Callable[[], object]) -> None:
        heapq.heappush(self._heap, (time_ns, len(self._heap), action))

    def when(self, when: When, delay_ns: int, action: Callable[[], None]) -> None:
        self._write(f"waits for {when.count}")

    def after(self, delay_ns: int, action: Callable[[], object]) -> None:
        self.at(self._now + delay_ns, action)

    def until(self, time_ns: int) -> None:
        self.at(time_ns, lambda: self._write("goes on"))

    def say(self, note: FaultNote) -> None:
        self.said.append(note)
        self._write(" ".join((f"'{note.text}'", *map(str, note.peers))))

    def runs(self, node: str) -> bool:
        return node not in self._gone

    def paused(self, node: str) -> bool:
        return node in self._paused

    def kill(self, node: str) -> None:
        self._gone.add(node)
        self._paused.discard(node)
        self._write(f"kill {node}")

    def dismiss(self, node: str) -> None:
        self._gone.add(node)
        self._write(f"dismiss {node}")

    def start(self, node: str) -> None:
        self.resume((node,))
        self._gone.discard(node)
        self._write(f"start {node}")

    def _stop(self, node: str, stopped: bool) -> None:
        if self.runs(node) and stopped != self.paused(node):
            (self._paused.add if stopped else self._paused.discard)(node)
            self._write(f"{'pause' if stopped else 'resume'} {node}")

    def release(self, fault: Fault) -> None:
        self._write(f"release {fault.KIND}")

    def _sever(self, pairs: Pairs) -> None:
        self._write(" ".join(("sever", *(f"{a}>{b}" for a, b in sorted(pairs)))))

    def _unplug(self, link: str, unplugged: bool) -> None:
        self._write(f"link {link} {'down' if unplugged else 'up'}")

    def impair(self, on: Sequence[str], impairment: Impairment) -> Cover[Placement]:
        self._write(" ".join(("impair", *on, f"{impairment.loss:.0%}")))
        return Cover(list, lambda: self._write("restore"))

    def set_clock(self, node: str, offset_ns: int | None, step_ns: int | None, drift_ppb: int | None) -> None:
        self._write(f"clock {node} {offset_ns} {step_ns} {drift_ppb}")

    def _read_so(self, node: str, reading: Reading) -> None:
        self._write(f"reads {node} {reading.delay_ns} {reading.buffer_bytes}")
