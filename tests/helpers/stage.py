"""A stage that writes down what faults do to it, in the order of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence

from harness.scenario.faults import Fault
from harness.scenario.faults.when import When
from nodes.wire.fault import FaultNote
from topologies.impairments import Impairment

MS = 1_000_000


class WrittenDown:
    """What was said and done, one line each, with the time in milliseconds."""

    def __init__(self, nodes: tuple[str, ...] = ("n1", "n2", "n3")) -> None:
        self.nodes = nodes
        self.lines: list[str] = []
        self.said: list[FaultNote] = []
        self._now = 0
        self._gone: set[str] = set()
        self._paused: set[str] = set()
        self._heap: list[tuple[int, int, Callable[[], None]]] = []

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

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (time_ns, len(self._heap), action))

    def when(self, when: When, delay_ns: int, action: Callable[[], None]) -> None:
        self._write(f"waits for {when.count}")

    def after(self, delay_ns: int, action: Callable[[], None]) -> None:
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
        self._write(f"kill {node}")

    def dismiss(self, node: str) -> None:
        self._gone.add(node)
        self._write(f"dismiss {node}")

    def start(self, node: str) -> None:
        self._gone.discard(node)
        self._write(f"start {node}")

    def pause(self, node: str) -> None:
        self._paused.add(node)
        self._write(f"pause {node}")

    def resume(self, node: str) -> None:
        self._paused.discard(node)
        self._write(f"resume {node}")

    def release(self, fault: Fault) -> None:
        self._write(f"release {fault.KIND}")

    def sever(self, pairs: Collection[tuple[str, str]]) -> None:
        self._write(" ".join(("sever", *(f"{a}>{b}" for a, b in sorted(pairs)))))

    def link(self, names: Sequence[str], up: bool) -> None:
        self._write(" ".join(("link", *names, "up" if up else "down")))

    def mend(self) -> None:
        self._write("mend")

    def impair(self, on: Sequence[str], impairment: Impairment) -> Callable[[], None]:
        self._write(" ".join(("impair", *on, f"{impairment.loss:.0%}")))
        return lambda: self._write("restore")

    def set_clock(self, node: str, offset_ns: int | None, step_ns: int | None, drift_ppb: int | None) -> None:
        self._write(f"clock {node} {offset_ns} {step_ns} {drift_ppb}")

    def read_slowly(self, node: str, read_delay_ns: int, buffer_bytes: int | None) -> None:
        self._write(f"slow {node} {read_delay_ns} {buffer_bytes}")

    def read_normally(self, node: str) -> None:
        self._write(f"normal {node}")
