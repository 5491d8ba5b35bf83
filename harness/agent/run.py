"""One run, from the empty kernel to the closed captures and the answer to who asked for it."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from harness import chosen
from harness.agent import processes
from harness.agent.forger import forgeries, start_forger
from harness.agent.guest import reseed
from harness.agent.injector import start_injector
from harness.agent.notes import HarnessNotes
from harness.agent.recorder import Point, Recorder
from harness.agent.stage import RECEIVE_BUFFER_BYTES, Stage
from harness.agent.traffic import Traffic
from harness.agent.watcher import Watcher
from harness.exchange import Answer, Exchange
from harness.manifest import Findings
from harness.scenario import Scenario, load
from harness.scenario.program import in_run
from harness.setting import livelock_ns, setting_of
from harness.workload import schedule
from nodes.clock import Clock
from nodes.links import Attachment, Loopback
from nodes.protocols import protocol
from nodes.shell import NodeConfig, Submission, next_incarnation
from nodes.tally import Tally
from nodes.wire.note import Never, NoteKind, Over
from topologies.mininet_network import CHANNEL, Network, interface_counters
from topologies.plan import Plan
from topologies.program_addresses import give_addresses, ipv4, ipv6
from topologies.seeds import seed_for

_SECOND = 1_000_000_000
_EVEN_NS = _SECOND // 2  # a run sets out at a multiple of it, whatever was imported before
_WARM_UP_NS = 2 * _SECOND  # listener reports and the like are over before the run begins
_BLOCK_MS = 500  # how old a block of a capture ring gets before it is written
_RING_BYTES = 2 * 1024 * 1024


End = Literal["quiet", "limit", "livelock"]


class RunFailed(RuntimeError):
    """The run could not be carried out as the scenario says."""


def carry_out(files: Exchange, state: Path) -> None:
    """Do the whole run that is handed over, and answer. `state` is for what nodes keep over their restarts."""
    findings, failed = Findings(release=platform.release()), ""
    try:
        scenario = in_run(load(files.run.scenario, resolved=True), files.run.path)
        if scenario.engine == "virtual":
            reseed(seed_for(scenario.seed, "guest"))
            _wake_on_time()
            _set_out_evenly()
        run = _Run(scenario, files, state, findings)
        try:
            run.all()
        finally:
            findings = run.findings
    except (processes.NodeFailed, RunFailed) as error:
        failed = str(error)
    files.give(Answer(findings, failed))


def _wake_on_time(priority: int = 1) -> None:
    """Linux lets an ordinary process oversleep by 0.1 % of its time-out, which is 3 ms after 3 s; one of a real-time
    class wakes at the nanosecond. All processes of the run inherit it. Not on a machine that others use."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def _set_out_evenly() -> None:
    """Each system call takes a little virtual time, so that importing one module more would move all that follows by
    microseconds: runs of tomorrow's code could not be held against golden captures."""
    time.sleep((_EVEN_NS - time.time_ns() % _EVEN_NS) / _SECOND)


class _Run:
    def __init__(self, scenario: Scenario, files: Exchange, state: Path, findings: Findings) -> None:
        self.scenario = scenario
        self.plan: Plan = scenario.plan()
        self.spec = protocol(scenario.protocol)
        self.run_dir = files.run.path
        self.captures = files.run.captures
        self.findings = findings
        self.schedule = schedule(scenario)
        self.tally = Tally(scenario.topology.nodes)
        self.helpers: list[processes.Helper] = []  # the injector, outsiders
        self.state = state
        self._real_time = scenario.engine != "virtual"
        # Whoever waits for a moment must see it before the nodes go on; the injector counts up to it.
        self._urgent = not self._real_time and any(fault.when is not None for fault in scenario.fault)
        self._progress = os.open(files.progress, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)

    def all(self) -> None:
        """From here to the end."""
        begin = time.time_ns() if self._real_time else None  # reading it takes virtual time
        self.network = Network(self.plan, lambda name: self._tell(f"building {name}"))
        if self._real_time and len(os.sched_getaffinity(0)) > 1:
            from topologies.ordering import keep_order

            keep_order(self.network)
        if self.spec.run is not None:
            give_addresses(self.network)
        self.traffic = Traffic(self.network, self.scenario.seed)
        # The run begins at a round moment, late enough for everything to be ready: times in captures read easily.
        self.t0 = -(-(time.time_ns() + self._warm_up_ns(begin)) // _SECOND) * _SECOND
        self._inject()
        for impair in self.scenario.impair:
            self.traffic.impair(impair.on, impair.impairment)
        recorder = Recorder(self._points(), _BLOCK_MS, _RING_BYTES)
        self.notes = HarnessNotes(incarnation=1)
        self.stage = Stage(self.scenario, self.traffic, self.notes, self.helpers, self.t0, self._start)
        self.watcher = Watcher(self.network, self.stage.moments)
        self._probe()
        self.state.mkdir(exist_ok=True)
        for clock in self.scenario.clock:
            for node in clock.node:
                self.stage.clocks[node] = Clock(clock.offset_ns, clock.drift_ppb, self.t0)
        for node in self.scenario.nodes:
            self.stage.start(node)
        self._start_outsiders()
        if time.time_ns() >= self.t0:
            raise RunFailed("the nodes were not ready when the run was to begin (is the machine overloaded?)")
        self.stage.happening.enter(self.scenario.fault, self.stage)
        if self._urgent:
            _wake_on_time(2)
        self._sleep_until(self.t0)
        self.watcher.begin()
        self.notes.send(NoteKind.MARK, text="start")
        self.findings = replace(self.findings, t0_ns=self.t0, impairments=self.traffic.settings())
        end = self._until_over()
        for number in self.stage.happening.never():
            self.notes.send(NoteKind.MARK, text="never", values=Never(number))
        livelock = end == "livelock"
        self.notes.send(NoteKind.MARK, text="end livelock" if livelock else "end", values=Over(int(end == "quiet")))
        self.findings = replace(self.findings, quiet=end == "quiet")
        for helper in self.helpers:
            if not helper.end():
                raise RunFailed(f"{helper.what} died")
        self.findings = replace(self.findings, impairments_at_end=self.traffic.settings())
        counters = {node: self._stop(process) for node, process in self.stage.processes.items()}
        members = (*self.plan.hosts, *self.plan.routers)
        interfaces = {name: dict(interface_counters(self.network.netlink_of(name))) for name in members}
        interfaces["switches"] = dict(interface_counters(self.network.netlink))
        captures = recorder.stop()
        names = {
            name: {str(index): interface for interface, index in self.network.interfaces(name).items()}
            for name in members
        }
        self.findings = replace(
            self.findings,
            counters=counters,
            interfaces=interfaces,
            captures=captures,
            interface_names=names,
            ended_ns=time.time_ns(),
        )

    # setting up

    def _warm_up_ns(self, begin: int | None) -> int:
        """In real time a machine that took long for the network will take long for the nodes."""
        least = _WARM_UP_NS + self.spec.warm_up_ns(self.scenario.options)
        return least if begin is None else max(least, 3 * (time.time_ns() - begin))

    def _points(self) -> list[Point]:
        here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        points = [
            Point(name, "any", self.network.node(name).namespace, str(self.captures / f"{name}.pcap"))
            for name in (*self.plan.hosts, *self.plan.routers)
        ]
        if self.plan.channel is not None:
            points.append(Point(CHANNEL, CHANNEL, here, str(self.captures / "channel.pcap")))
        self.network.netlink.link("set", index=self.network.netlink.link_lookup(ifname="lo")[0], state="up")
        points.append(Point("harness", "lo", here, str(self.captures / "harness.pcap")))
        return points

    def _probe(self) -> None:
        """A numbered mark on every loopback that is captured: a capture that was not yet running shows as a hole."""
        for name in (*self.plan.hosts, *self.plan.routers):
            with self.network.node(name).entered():
                loopback = Loopback()
            self.notes.send(NoteKind.MARK, text=f"probe {name}", loopback=loopback)

    def _inject(self) -> None:
        rules = chosen.rules(self.plan, self.scenario.fault, self.t0, self.scenario.seed)
        if rules:
            devices = self.traffic.inject(sorted({rule.port for rule in rules}))
            prepare = partial(_wake_on_time, 3) if self._urgent else lambda: None
            self.helpers.append(start_injector(devices, rules, prepare))

    def _start_outsiders(self) -> None:
        members = self.scenario.nodes
        for number, host in enumerate(self.plan.hosts[len(members) :]):
            work = forgeries(self.scenario.fault, host, self.t0)
            if work:
                attachment, incarnation = self._attachment(host, "any"), 3 + number
                self.helpers.append(
                    start_forger(self.network.node(host), attachment, work, self.spec.name, incarnation)
                )

    def _start(self, node: str) -> processes.Process:
        if self._urgent:
            _wake_on_time()  # nodes are not
        self._tell(f"starting {node}")
        process = processes.start(self.network.node(node), lambda: self._config(node), keeps=self.spec.run is not None)
        processes.expect(process, "ready")
        if self._urgent:
            _wake_on_time(2)
        return process

    def _stop(self, process: processes.Process) -> dict[str, int]:
        self._tell(f"stopping {process.node}")
        return processes.stop(process)

    def _config(self, node: str) -> NodeConfig:
        scenario, state_file = self.scenario, self.state / node
        read_delay, buffer = self.stage.readers.get(
            node, (scenario.node.read_delay_ns, scenario.node.receive_buffer_bytes)
        )
        setting = setting_of(scenario, self.plan, int(node[1:]), next_incarnation(state_file), read_delay)
        submissions = [Submission(self.t0 + one.at_ns, one.number, one.to, one.data) for one in self.schedule[node]]
        return NodeConfig(
            spec=self.spec,
            options=scenario.options,
            setting=setting,
            attachment=self._attachment(node, self.spec.transport, buffer),
            schedule=submissions,
            clock=self.stage.clocks[node],
            state_file=state_file,
            read_delay_ns=read_delay,
            tally=self.tally,
            run_dir=self.run_dir,
        )

    def _attachment(self, host: str, transport: str, buffer_bytes: int | None = None) -> Attachment:
        plan, members = self.plan, self.scenario.nodes
        end = plan.interfaces(host)[0]
        if transport == "any":
            transport = "udp" if plan.ipv6 else "channel"
        return Attachment(
            transport=transport,
            interface=end.interface,
            mac=end.mac,
            addresses={int(other[1:]): plan.address(other) for other in members} if plan.ipv6 else {},
            for_programs=[
                (other, address(plan, other))
                for address in (ipv4, ipv6)
                for other in (members if self.spec.run is not None else ())
            ],
            group=plan.group,
            buffer_bytes=buffer_bytes or RECEIVE_BUFFER_BYTES,
            hop_limit=plan.max_hops + 1 if plan.ipv6 else 1,
        )

    # waiting

    def _sleep_until(self, until_ns: int) -> None:
        """Sleep, telling every virtual second how far the run is; not on when a moment came that a fault waited for."""
        while (now := time.time_ns()) < until_ns:
            self._tell_progress(now)
            came = self.stage.moments.came
            wait_ns = min(until_ns, now + _SECOND) - now
            for descriptor in processes.wait(self.stage.processes.values(), wait_ns, self.watcher.descriptors):
                self.watcher.look(descriptor)
            if self.stage.moments.came > came:
                return

    def _tell_progress(self, now: int) -> None:
        self._tell(f"{(now - self.t0) / _SECOND:.1f} s")

    def _tell(self, how_far: str) -> None:
        """For who waits: a run that tells nothing new for long is given up."""
        os.pwrite(self._progress, f"{how_far:>24}".encode(), 0)

    def _until_over(self) -> End:
        """Carry out the timeline; then wait until nothing moves any more, or moves for nothing."""
        limit = self.t0 + self.scenario.limit_ns
        last = max((one.at_ns for lines in self.schedule.values() for one in lines), default=0)
        self.stage.until(last)
        while True:
            if not self._timeline(limit):
                return "limit"
            came = self.stage.moments.came
            if not self.stage.moments or self._settles(limit) != "quiet" or self.stage.moments.came == came:
                break
        self.stage.moments.give_up()
        self.watcher.close()
        if self.watcher.lost:
            raise RunFailed(f"{self.watcher.lost} frames came too fast to be watched")
        for node in self.stage.processes:
            self.stage.resume(node)
        if self.scenario.fault:
            self.stage.mend()
            self.notes.send(NoteKind.MARK, text="heal")
        return self._settles(limit)

    def _timeline(self, limit: int) -> bool:
        """Let everything happen whose time is known. False: the limit came first."""
        while (at := self.stage.next_ns()) is not None:
            came = self.stage.moments.came
            self._sleep_until(min(at, limit))
            if self.stage.moments.came > came:
                continue
            if at > limit:
                return False
            self.stage.take_next()
        return True

    def _settles(self, limit: int) -> End:
        """Wait until nothing moves any more, or a moment comes that a fault waits for, or all movement is in vain."""
        came = self.stage.moments.came
        settle = max(self.scenario.settle_ns, self.spec.silence_ns(self.scenario.options))
        if self.spec.beats(self.scenario.options):
            self._sleep_until(min(limit, time.time_ns() + settle))
            return "quiet" if time.time_ns() < limit else "limit"
        seen, since = self._frames(), time.time_ns()
        total, moved = self.tally.total(), since
        patience_ns = livelock_ns(self.scenario, self.plan)
        while time.time_ns() < since + settle:
            if time.time_ns() >= limit:
                return "limit"
            self._sleep_until(min(limit, time.time_ns() + settle // 4))
            if self._real_time and time.time_ns() >= since + settle:
                processes.catch_up(self.stage.processes.values())  # who got no processor is not quiet
            if self.stage.moments.came > came:
                return "quiet"
            frames, decided = self._frames(), self.tally.total()
            if frames != seen:
                seen, since = frames, time.time_ns()
            if decided != total:
                total, moved = decided, time.time_ns()
            elif time.time_ns() >= moved + patience_ns:
                return "livelock"
        return "quiet"

    def _frames(self) -> int:
        """How many frames the switches have taken in so far."""
        counters = interface_counters(self.network.netlink)
        ports = {end.interface for switch in self.plan.switches for end in self.plan.interfaces(switch)}
        return sum(counters[port]["rx_packets"] for port in ports)
