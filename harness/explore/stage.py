"""What faults act on, in memory: machines, the network's controls, clocks and readers.

Local clocks, incarnations, slow readers, and what happens to submissions and frames while a node is down or paused
follow nodes/shell.py and harness/agent/stage.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.explore.frame import Carried
from harness.explore.network import Network
from harness.scenario.faults import Fault
from harness.scenario.faults.happening import Happening
from harness.scenario.faults.lasting import Lasting, Pairs, Reading
from harness.scenario.faults.when import Moments, When
from harness.scenario.model import Scenario
from harness.setting import setting_of
from harness.world import World
from nodes.clock import Clock
from nodes.machine import Log, Send
from nodes.protocols import protocol
from nodes.wire.fault import FaultNote
from nodes.wire.note import Note, NoteKind, Ready
from topologies.impairments import Impairment
from topologies.layers import Cover
from topologies.placement import Placement
from topologies.plan import Plan

START_NS = 1_000_000_000
FRAME_OVERHEAD_BYTES = 768  # of a short frame in a socket's buffer, about


@dataclass(slots=True)
class _Reader:
    """A node's socket: how fast it is read, and what waits in it."""

    so: Reading
    waiting: deque[Carried] = field(default_factory=deque)
    held_bytes: int = 0
    reading: bool = False


class Stage(Lasting):
    """A world of machines (harness/scenario/faults/stage.py says what is asked of it)."""

    def __init__(self, scenario: Scenario, plan: Plan, world: World, network: Network) -> None:
        self._scenario, self._plan, self._world, self._network = scenario, plan, world, network
        self._spec = protocol(scenario.protocol)
        self._starts = dict.fromkeys(scenario.nodes, 0)
        self.happening = Happening(self._now_ns)
        self.moments = Moments(scenario.nodes)
        self.last_ns = START_NS  # of the timeline: submissions, faults and their ends
        self.clocks = {node: Clock() for node in scenario.nodes}
        super().__init__(scenario.node)
        self._readers = {_number(node): _Reader(self.reading(node)) for node in scenario.nodes}
        network.arrive = self._arrive

    @property
    def nodes(self) -> tuple[str, ...]:
        return self._scenario.nodes

    # the timeline

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        self.until(time_ns)
        self._world.at(START_NS + time_ns, self.happening.of(action))

    def when(self, when: When, delay_ns: int, action: Callable[[], None]) -> None:
        happen = self.happening.of(action)

        def come() -> None:
            if delay_ns:
                self.until(self._now_ns() + delay_ns)
                self._world.at(self._world.now + delay_ns, happen)
            else:
                happen()

        self._world.watch = self._put_out
        self.moments.wait_for(when, come)

    def _now_ns(self) -> int:
        return self._world.now - START_NS

    def after(self, delay_ns: int, action: Callable[[], object]) -> None:
        self.until(self.happening.begun_ns + delay_ns)
        self._world.at(START_NS + self.happening.begun_ns + delay_ns, action)

    def until(self, time_ns: int) -> None:
        self.last_ns = max(self.last_ns, START_NS + time_ns)

    def release(self, fault: Fault) -> None:
        self.happening.said()
        self._network.release(fault)

    def say(self, note: FaultNote) -> None:
        self.happening.said()
        self._world.fault(note)

    # moments

    def _put_out(self, number: int, outputs: Sequence[Send | Log]) -> None:
        for output in outputs if self.moments else ():
            if isinstance(output, Log):
                self.moments.see(f"n{number}", "out", self._noted(number, output))
            else:
                for _ in self._network.copies(output):
                    self.moments.see(f"n{number}", "out", output.pdu)

    def _noted(self, number: int, log: Log) -> Note:
        return log.note(number, self._starts[f"n{number}"], 0, self._world.local(number))

    # processes

    def runs(self, node: str) -> bool:
        return self._world.runs(_number(node))

    def paused(self, node: str) -> bool:
        return self._world.paused(_number(node))

    def kill(self, node: str) -> None:
        self._close(node)
        self._world.stop(_number(node))

    def dismiss(self, node: str) -> None:
        self._close(node)
        self._world.dismiss(_number(node))

    def start(self, node: str) -> None:
        number, world = _number(node), self._world
        self._starts[node] += 1
        self.resume((node,))
        delay_ns = self.reading(node).delay_ns
        setting = setting_of(self._scenario, self._plan, number, self._starts[node], delay_ns)
        machine = self._spec.machine(setting, self._scenario.options)
        if self._starts[node] == 1:
            clock = self.clocks[node]
            world.add(number, machine, clock.shows, clock.of(self._spec.clock).shows)
        else:
            world.start(number, machine)
        ready = Log(NoteKind.READY, values=Ready(world.now))
        world.note(number, ready)
        if self.moments:
            self._put_out(number, [ready])

    def _stop(self, node: str, stopped: bool) -> None:
        if stopped != self.paused(node):
            (self._world.pause if stopped else self._world.resume)(_number(node))

    # the network

    def _sever(self, pairs: Pairs) -> None:
        self._network.partition(pairs)

    def _unplug(self, link: str, unplugged: bool) -> None:
        self._network.link(link, not unplugged)

    def impair(self, on: Sequence[str], impairment: Impairment) -> Cover[Placement]:
        return self._network.impaired.cover(on, impairment)

    # inside of nodes

    def set_clock(self, node: str, offset_ns: int | None, step_ns: int | None, drift_ppb: int | None) -> None:
        clock, now = self.clocks[node], self._world.now
        if step_ns is not None:
            offset_ns = clock.shows(now) - now + step_ns
        clock.change(now, offset_ns, drift_ppb)
        if self._world.runs(_number(node)):
            self._world.clock_changed(_number(node), (clock.shows(now) - now, clock.drift_ppb))

    def _read_so(self, node: str, reading: Reading) -> None:
        self._readers[_number(node)].so = reading

    # sockets

    def _close(self, node: str) -> None:
        """The socket goes with the process."""
        reader = self._readers[_number(node)]
        reader.waiting.clear()
        reader.held_bytes = 0

    def _arrive(self, number: int, frame: Carried) -> None:
        if self._network.capture is not None:
            self._network.capture.see(self._world.now, number, "in", frame)
        if self.moments:
            self.moments.see(f"n{number}", "in", frame.pdu)
        reader = self._readers.get(number)
        if reader is None or not self._world.runs(number):
            return  # an outsider's host, or a dead node's
        if not reader.so.delay_ns and not reader.waiting:
            self._world.arrive(number, frame.pdu)
            return
        taken_bytes = frame.size_bytes + FRAME_OVERHEAD_BYTES
        if reader.held_bytes + taken_bytes <= reader.so.buffer_bytes:
            reader.held_bytes += taken_bytes
            reader.waiting.append(frame)
        if not reader.reading:
            self._read(number)

    def _read(self, number: int) -> None:
        """Take one frame, and rest."""
        reader = self._readers[number]
        reader.reading = bool(reader.waiting) and self._world.runs(number)
        if reader.reading:
            frame = reader.waiting.popleft()
            reader.held_bytes -= frame.size_bytes + FRAME_OVERHEAD_BYTES
            self._world.arrive(number, frame.pdu)
            self._world.at(self._world.now + reader.so.delay_ns, lambda: self._read(number))


def _number(node: str) -> int:
    return int(node[1:])
