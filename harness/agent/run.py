"""One run, from the empty kernel to the closed captures and the answer to who asked for it.

What comes before its beginning depends on its shape alone (standing.py). There it may be forked; from there on it
depends on all that its scenario says.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from harness import chosen
from harness.agent import processes
from harness.agent.branch import RevisionError
from harness.agent.forger import forgeries, start_forger
from harness.agent.guest import fork_here, read, reseed
from harness.agent.injector import Revision, start_injector
from harness.agent.stage import Stage
from harness.agent.standing import ShortOfMemoryError, Standing
from harness.agent.traffic import Traffic
from harness.agent.watcher import Watcher
from harness.exchange import Answer, Exchange
from harness.manifest import Findings
from harness.scenario import Scenario, load
from harness.scenario.faults import Fault
from harness.scenario.faults.lasting import RECEIVE_BUFFER_BYTES
from harness.scenario.program import in_run
from harness.setting import livelock_ns, setting_of
from harness.shape import shape_of
from harness.workload import schedule
from nodes.clock import Clock, Steady
from nodes.links import Attachment
from nodes.protocols import protocol
from nodes.shell import NodeConfig, NotReady, Submission, next_incarnation
from nodes.wire.note import Never, NoteKind, Over
from topologies.addresses import ipv4, ipv6
from topologies.impairments import Impairment
from topologies.mininet_network import interface_counters
from topologies.plan import Plan
from topologies.seeds import seed_for

_SECOND = 1_000_000_000
_EVEN_NS = _SECOND // 2  # a run sets out at a multiple of it, whatever was imported or read before
_WARM_UP_NS = 2 * _SECOND  # listener reports and the like are over before the run begins


End = Literal["quiet", "limit", "livelock"]


class RunFailed(RuntimeError):
    """The run could not be carried out as the scenario says."""


def carry_out(files: Exchange, state: Path) -> None:
    """Do the whole run that is handed over, and answer. `state` is for what nodes keep over their restarts."""
    findings, failed, died = Findings(release=platform.release()), "", False
    try:
        shape = files.shape
        virtual = shape.engine == "virtual"
        if virtual:
            _wake_on_time()
            _set_out_evenly()
        standing = Standing(shape, files)
        if virtual:
            fork_here()
        scenario = in_run(load(files.run.scenario, resolved=True), files.run.path)
        if shape_of(scenario) != shape:
            raise RunFailed("the scenario is of another shape than what stands here")
        if virtual:
            reseed(seed_for(scenario.seed, "guest"))
            _set_out_evenly()
        run = _Run(scenario, standing, files, state, findings)
        try:
            run.all()
        finally:
            findings = run.findings
    except processes.NodeFailed as error:
        failed, died = str(error), True
    except (NotReady, RevisionError, RunFailed, ShortOfMemoryError) as error:
        failed = str(error)
    files.give(Answer(findings, failed, died))


def _wake_on_time(priority: int = 1) -> None:
    """Linux lets an ordinary process oversleep by 0.1 % of its time-out, which is 3 ms after 3 s; one of a real-time
    class wakes at the nanosecond. All processes of the run inherit it. Not on a machine that others use."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def _set_out_evenly() -> None:
    """Each system call takes a little virtual time, so that importing one module more would move all that follows by
    microseconds: runs of tomorrow's code could not be held against golden captures."""
    time.sleep((_EVEN_NS - time.time_ns() % _EVEN_NS) / _SECOND)


def _impaired(scenario: Scenario) -> dict[str, Impairment]:
    """What is impaired how; of what is said twice the last counts."""
    return {on: one.impairment for one in scenario.impair for on in one.on}


def _kept(before: Sequence[Fault], after: Sequence[Fault]) -> tuple[Fault, ...]:
    """The faults that are to be, each of them that was there already being the same one."""
    left = list(before)
    return tuple(left.pop(left.index(fault)) if fault in left else fault for fault in after)


class _Run:
    def __init__(
        self, scenario: Scenario, standing: Standing, files: Exchange, state: Path, findings: Findings
    ) -> None:
        self.scenario = scenario
        self.standing = standing
        self.plan: Plan = standing.plan
        self.network = standing.network
        self.notes = standing.notes
        self.spec = protocol(scenario.protocol)
        self.files = files
        self.faults = scenario.fault
        self.seed = scenario.seed  # of chance in the network
        self.injector: processes.Helper | None = None
        self.changes = 0
        self.findings = findings
        self.schedule = schedule(scenario)
        self.helpers = standing.helpers  # and the injector, outsiders
        self.state = state
        self._real_time = scenario.engine != "virtual"

    def all(self) -> None:
        """From here to the end."""
        self.traffic = Traffic(self.network, self.scenario.seed)
        # The run begins at a round moment, late enough for everything to be ready: times in captures read easily.
        self.t0 = -(-(time.time_ns() + self._warm_up_ns()) // _SECOND) * _SECOND
        self._inject()
        for impair in self.scenario.impair:
            self.traffic.impaired.impair(impair.on, impair.impairment)
        self.stage = Stage(self.scenario, self.traffic, self.notes, self.helpers, self.t0, self._start)
        self.watcher = Watcher(self.network, self.stage.moments)
        self.state.mkdir(exist_ok=True)
        for clock in self.scenario.clock:
            for node in clock.node:
                self.stage.clocks[node] = Clock(Steady(clock.drift_ppb, self.t0), clock.offset_ns)
        for node in self.scenario.nodes:
            self.stage.start(node)
        self._start_outsiders()
        if time.time_ns() >= self.t0:
            raise RunFailed("the nodes were not ready when the run was to begin (is the machine overloaded?)")
        self.stage.happening.enter(self.faults, self.stage)
        if self._urgent:
            _wake_on_time(2)
        if at_ns := read(self.files.moment_file):
            self.standing.branching.set(self.t0 + int(at_ns))
        self._sleep_until(self.t0)
        self.watcher.begin()
        self.notes.send(NoteKind.MARK, text="start")
        self.findings = replace(self.findings, t0_ns=self.t0, impairments=self.traffic.settings())
        end = self._until_over()
        for number in self.stage.happening.never(self.faults):
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
        interfaces = {name: dict(self.network.counters(name)) for name in members}
        interfaces["switches"] = dict(interface_counters())
        captures = self.standing.recorder.stop()
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

    def _warm_up_ns(self) -> int:
        """In real time a machine that took long for the network will take long for the nodes."""
        least = _WARM_UP_NS + self.spec.warm_up_ns(self.scenario.options)
        return max(least, 3 * self.standing.took_ns) if self._real_time else least

    @property
    def _urgent(self) -> bool:
        """Whoever waits for a moment must see it before the nodes go on; the injector counts up to it."""
        return not self._real_time and any(fault.when is not None for fault in self.faults)

    def _inject(self) -> None:
        rules = chosen.rules(self.plan, self.faults, self.t0, self.seed)
        if rules and self.injector is None:
            devices = self.traffic.inject(rule.port for rule in rules)
            prepare = partial(_wake_on_time, 3) if self._urgent else lambda: None
            self.injector = start_injector(devices, rules, prepare)
            self.helpers.append(self.injector)
        elif self.injector is not None:
            devices = self.traffic.inject(rule.port for rule in rules)
            revision = Revision(devices, rules, self.seed != self.scenario.seed)
            self.injector.revise([rule.fault for rule in rules], revision)

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
        """With its first life in the process that stands there, later in one of its own."""
        self.standing.tell(f"starting {node}")
        process = self.standing.processes.pop(node, None)
        if process is None:
            if self._urgent:
                _wake_on_time()  # nodes are not
            process = self.standing.process(node)
            if self._urgent:
                _wake_on_time(2)
        try:
            config = self._config(node)
        except (OSError, ValueError) as error:  # a key that cannot be used, for one
            raise processes.NodeFailed(f"{node} failed: {type(error).__name__}: {error}") from error
        processes.begin(process, config)
        return process

    def _stop(self, process: processes.Process) -> dict[str, int]:
        self.standing.tell(f"stopping {process.node}")
        return processes.stop(process)

    def _config(self, node: str) -> NodeConfig:
        scenario, state_file = self.scenario, self.state / node
        reading = self.stage.reading(node)
        setting = setting_of(scenario, self.plan, int(node[1:]), next_incarnation(state_file), reading.delay_ns)
        submissions = [Submission(self.t0 + one.at_ns, one.number, one.to, one.data) for one in self.schedule[node]]
        return NodeConfig(
            protocol=self.spec.name,
            options=scenario.options,
            setting=setting,
            attachment=self._attachment(node, self.spec.transport, reading.buffer_bytes),
            schedule=submissions,
            clock=self.stage.clocks[node],
            state_file=state_file,
            read_delay_ns=reading.delay_ns,
            run_dir=self.files.run.path,
        )

    def _attachment(self, host: str, transport: str, buffer_bytes: int = RECEIVE_BUFFER_BYTES) -> Attachment:
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
            buffer_bytes=buffer_bytes,
            hop_limit=plan.max_hops + 1 if plan.ipv6 else 1,
        )

    # branching

    def _change(self) -> None:
        """From now on the scenario is another one, and the chance of the network perhaps too."""
        os.read(self.standing.branching.changed, 1)
        self.changes += 1
        before, self.scenario = self.scenario, in_run(load(self.files.run.scenario, resolved=True), self.files.run.path)
        faults, self.faults = self.faults, _kept(self.faults, self.scenario.fault)
        seed = self.files.change.seed
        if seed is not None:
            self.seed = seed
            reseed(seed_for(seed, "guest"))
            self.traffic.reseed(seed)
        if seed is not None or [*map(id, faults)] != [*map(id, self.faults)]:
            self._inject()
            self.stage.revise(faults, self.faults)
        impaired, to_be = _impaired(before), _impaired(self.scenario)
        for on in {**impaired, **to_be}:
            if impaired.get(on) != to_be.get(on):
                self.traffic.impaired.impair((on,), to_be.get(on))
        if self._urgent:
            _wake_on_time(2)
        self.watcher.begin()

    # waiting

    def _sleep_until(self, until_ns: int) -> None:
        """Sleep, telling every virtual second how far the run is; not on when what is to come has changed."""
        while (now := time.time_ns()) < until_ns:
            self._tell_progress(now)
            turn = self._turn
            wait_ns = min(until_ns, now + _SECOND - now % _SECOND) - now
            changed = self.standing.branching.changed
            watched = [changed, *self.watcher.descriptors]
            for descriptor in processes.wait(self.stage.processes.values(), wait_ns, watched):
                if descriptor == changed:
                    self._change()
                else:
                    self.watcher.look(descriptor)
            if self._turn > turn:
                return

    @property
    def _turn(self) -> int:
        """It grows when what is to come changes: a moment came that a fault waited for, or this is another branch."""
        return self.stage.moments.came + self.changes

    def _tell_progress(self, now: int) -> None:
        self.standing.tell(f"{(now - self.t0) / _SECOND:.1f} s")

    def _until_over(self) -> End:
        """Carry out the timeline; then wait until nothing moves any more, or moves for nothing."""
        last = max((one.at_ns for lines in self.schedule.values() for one in lines), default=0)
        self.stage.until(last)
        while True:
            if not self._timeline():
                return "limit"
            turn = self._turn
            if not self.stage.moments or self._settles() != "quiet" or self._turn == turn:
                break
        self.standing.branching.set(0)
        self.stage.moments.give_up()
        self.watcher.close()
        if self.watcher.lost:
            raise RunFailed(f"{self.watcher.lost} frames came too fast to be watched")
        self.stage.resume(self.scenario.nodes)
        if self.scenario.fault:
            self.stage.mend()
            self.notes.send(NoteKind.MARK, text="heal")
        return self._settles()

    @property
    def _limit_ns(self) -> int:
        return self.t0 + self.scenario.limit_ns

    def _timeline(self) -> bool:
        """Let everything happen whose time is known. False: the limit came first."""
        while (at := self.stage.next_ns()) is not None:
            turn = self._turn
            self._sleep_until(min(at, self._limit_ns))
            if self._turn > turn:
                continue
            if at > self._limit_ns:
                return False
            self.stage.take_next()
        return True

    def _settles(self) -> End:
        """Wait until nothing moves any more, or a moment comes that a fault waits for, or all movement is in vain."""
        turn, limit = self._turn, self._limit_ns
        settle = max(self.scenario.settle_ns, self.spec.silence_ns(self.scenario.options))
        if self.spec.beats(self.scenario.options):
            self._sleep_until(min(limit, time.time_ns() + settle))
            return "quiet" if time.time_ns() < limit else "limit"
        seen, since = self._frames(), time.time_ns()
        total, moved = self.standing.tally.total(), since
        patience_ns = livelock_ns(self.scenario, self.plan)
        while time.time_ns() < since + settle:
            if time.time_ns() >= limit:
                return "limit"
            self._sleep_until(min(limit, time.time_ns() + settle // 4))
            if self._real_time and time.time_ns() >= since + settle:
                processes.catch_up(self.stage.processes.values())  # who got no processor is not quiet
            if self._turn > turn:
                return "quiet"
            frames, decided = self._frames(), self.standing.tally.total()
            if frames != seen:
                seen, since = frames, time.time_ns()
            if decided != total:
                total, moved = decided, time.time_ns()
            elif time.time_ns() >= moved + patience_ns:
                return "livelock"
        return "quiet"

    def _frames(self) -> int:
        """How many frames the switches have taken in so far."""
        counters = interface_counters()
        ports = {end.interface for switch in self.plan.switches for end in self.plan.interfaces(switch)}
        return sum(counters[port]["rx_packets"] for port in ports)
