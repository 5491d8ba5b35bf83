"""Carry out a scenario in memory: the same machines, workload, faults and marks as in a run on the emulated network.

What is left out is what a node cannot notice, or what takes only time: the kernel, sockets, the capture. When a run
counts as quiet follows harness/agent/run.py.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Literal

from harness import chosen
from harness.explore.capture import Capture
from harness.explore.network import Network
from harness.explore.novelty import Novelty
from harness.explore.stage import START_NS, Stage
from harness.scenario.faults.forge import Forge
from harness.scenario.model import Scenario, TopologyOptions
from harness.setting import livelock_ns, slot_ns
from harness.workload import schedule
from harness.world import World
from nodes.clock import Clock, Steady
from nodes.protocols import protocol
from nodes.tally import PROGRESS
from nodes.wire.note import Never
from topologies.plan import Plan

EVENTS_MAX = 400_000
# So often, or whenever a time-out can have passed, one looks whether a protocol that beats does anything else.
STEPS = 10
STILL = 2  # and so often in a row it must have done nothing


End = Literal["quiet", "limit", "livelock"]


class NotInMemory(ValueError):
    """The scenario has something that only a real network has."""


class Endless(AssertionError):
    """The nodes never come to rest: they go on at one instant, or send for ever."""


@lru_cache(maxsize=64)
def _plan(topology: TopologyOptions) -> Plan:
    return topology.plan()


class Run:
    """One scenario, carried out. Afterwards `world` has its history, and `end` says how it came to it."""

    def __init__(self, scenario: Scenario) -> None:
        if any(isinstance(fault, Forge) for fault in scenario.fault):
            raise NotInMemory("forged PDUs come from a host of the network: run the scenario there")
        self.scenario, self.plan = scenario, _plan(scenario.topology)
        self.spec = protocol(scenario.protocol)
        self.novelty = Novelty(self.spec)
        self.world = World()
        self.world.witnesses = [self.novelty]
        self.end: End = "limit"
        rules = chosen.rules(self.plan, scenario.fault, START_NS, scenario.seed)
        self.network = Network(self.plan, self.world, scenario.seed, rules)
        if self.spec.moment is not None or self.spec.counted:
            self.network.capture = Capture()
        self.stage = Stage(scenario, self.plan, self.world, self.network)

    def all(self) -> Run:
        """From here to the end."""
        scenario, world, stage = self.scenario, self.world, self.stage
        for impair in scenario.impair:
            self.network.impaired.impair(impair.on, impair.impairment)
        for clock in scenario.clock:
            for node in clock.node:
                stage.clocks[node] = Clock(Steady(clock.drift_ppb, START_NS), clock.offset_ns)
        for node in scenario.nodes:
            stage.start(node)
        world.mark("start")
        stage.happening.enter(scenario.fault, stage)  # first: at equal times the harness is faster than the nodes
        for node, submissions in schedule(scenario).items():
            for one in submissions:
                stage.until(one.at_ns)
                world.at(START_NS + one.at_ns, partial(world.submit, int(node[1:]), one.to, one.data, one.number))
        self.end = self._until_the_end()
        for number in stage.happening.never(scenario.fault):
            world.mark("never", Never(number))
        world.mark(f"end {self.end}")
        return self

    def _until_the_end(self) -> End:
        """Carry out the timeline; then wait until nothing moves any more."""
        world, scenario, stage = self.world, self.scenario, self.stage
        limit = START_NS + scenario.limit_ns
        while True:
            while world.now < stage.last_ns:  # faults with an end make it longer
                self._run(min(limit, stage.last_ns))
                if stage.last_ns > limit:
                    return "limit"
            came = stage.moments.came
            if not stage.moments or self._settles(limit) != "quiet" or stage.moments.came == came:
                break
        stage.moments.give_up()
        world.watch = None
        stage.resume(scenario.nodes)
        if scenario.fault:
            stage.mend()
            world.mark("heal")
        return self._settles(limit)

    def _settles(self, limit: int) -> End:
        """Wait until nothing moves any more, or all movement is in vain."""
        world, scenario = self.world, self.scenario
        settle = max(scenario.settle_ns, self.spec.silence_ns(scenario.options))
        if self.spec.beats(scenario.options):
            longest_ns = self.spec.longest_wait_ns(
                scenario.options, len(scenario.nodes), slot_ns(scenario, self.plan, scenario.node.read_delay_ns)
            )
            self._beat(min(limit, world.now + settle), min(settle // STEPS, longest_ns or settle))
            return "quiet" if world.now < limit else "limit"
        since = moved = world.now
        patience = livelock_ns(scenario, self.plan)
        while True:
            looked = len(world.events)
            self._run(min(limit, since + settle, moved + patience))
            moved = max((one.time_ns for one in world.events[looked:] if one.kind in PROGRESS), default=moved)
            last_sent = world.sent[-1][0] if world.sent else 0
            if last_sent <= since and world.now >= since + settle:
                return "quiet"
            if world.now >= limit:
                return "limit"
            if world.now >= moved + patience:
                return "livelock"
            since = max(since, last_sent)

    def _beat(self, until_ns: int, step_ns: int) -> None:
        """Such a protocol is never silent. When all is settled and nobody had anything to note for a while, the rest of
        the time would bring nothing but heartbeats, and takes most of a run: it is left out."""
        world, still = self.world, 0
        while world.now < until_ns and still < STILL:
            before = len(world.events)
            self._run(min(until_ns, world.now + step_ns))
            still = still + 1 if len(world.events) == before and world.settled() else 0

    def _run(self, until_ns: int) -> None:
        try:
            self.world.run(until_ns, EVENTS_MAX)
        except AssertionError as error:
            raise Endless(str(error)) from None


def carry_out(scenario: Scenario) -> Run:
    """Do the whole run."""
    return Run(scenario).all()
