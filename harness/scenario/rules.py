"""What must hold between the parts of a scenario: nodes exist, the protocol fits the network, nothing comes too late.

Each rule looks at the parts that could be read, so that one bad table does not hide what is wrong in the others.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from harness.scenario.explore import Explore, FaultKind
from harness.scenario.faults import Fault
from harness.scenario.faults.course import Course
from harness.scenario.known import is_metric, is_property, metrics, properties
from harness.scenario.model import (
    AnyWorkload,
    Bursts,
    ClockStart,
    Expect,
    Generated,
    Impair,
    Script,
    Steady,
    Top,
    TopologyOptions,
)
from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.schema import Problems, keys_of, point_at, read_value
from harness.scenario.scope import Scope
from harness.scenario.units import UNITS
from nodes.facet import ProtocolSpec
from topologies.plan import Plan, PlanError


@dataclass(slots=True)
class Draft:
    """The parts of a scenario that could be read, with their numbers in the file."""

    words: bool = True  # look up the names of properties and metrics
    top: Top | None = None
    spec: ProtocolSpec | None = None
    options: Any = None  # the protocol's
    topology: TopologyOptions | None = None
    impair: list[tuple[int, Impair]] = field(default_factory=list)
    clock: list[tuple[int, ClockStart]] = field(default_factory=list)
    workload: AnyWorkload | None = None
    fault: list[tuple[int, Fault]] = field(default_factory=list)
    expect: list[tuple[int, Expect]] = field(default_factory=list)
    explore: Explore | None = None


def check(draft: Draft) -> Problems:
    """All that is wrong between the parts."""
    problems: Problems = []
    plan = _plan(draft, problems)
    problems += _fits(draft)
    if draft.words:
        problems += _expectations(draft)
    if plan is not None:
        scope = Scope(
            draft.topology.names if draft.topology else (),
            plan,
            draft.spec.name if draft.spec else None,
            draft.top.engine if draft.top else "virtual",
        )
        problems += _impairments(draft, scope)
        problems += _clocks(draft, scope)
        problems += _workload(draft, scope)
        for number, fault in draft.fault:
            problems += fault.check(scope, ("fault", number))
            if fault.when is not None:
                problems += fault.when.check(scope, ("fault", number, "when"))
        problems += Course(scope.nodes).problems(draft.fault)
    problems += _explore(draft)
    problems += _times(draft)
    return problems


def _plan(draft: Draft, problems: Problems) -> Plan | None:
    if draft.topology is None:
        return None
    try:
        return draft.topology.plan()
    except PlanError as error:
        given = [
            name for name, key in keys_of(TopologyOptions).items() if getattr(draft.topology, key.field) is not None
        ]
        problems.append(Problem(point_at(("topology",), str(error), given), str(error)))
        return None


def _fits(draft: Draft) -> Iterator[Problem]:
    """What the protocol's PDUs can say of it, who runs its nodes, its transport, and the network."""
    if draft.spec is None or draft.topology is None:
        return
    if draft.spec.run is not None and draft.top is not None and draft.top.engine != "virtual":
        yield Problem(("engine",), f"nodes of {draft.spec.name} run in virtual time only, not on this machine's kernel")
    if len(draft.topology.names) > draft.spec.most_nodes:
        reason = f"{draft.spec.name} has at most {draft.spec.most_nodes} nodes: its PDUs can name no more"
        yield Problem(("topology", "nodes"), reason)
    elif draft.options is not None:
        rate_bps = draft.topology.channel.rate_bps if draft.topology.channel else 0
        if reason := draft.spec.misfit(draft.options, len(draft.topology.names), rate_bps):
            yield Problem((draft.spec.name,), reason)
    if draft.spec.transport == "any":
        return
    one_channel = draft.topology.kind == "one_channel"
    if draft.spec.transport == "channel" and not one_channel:
        reason = f'{draft.spec.name} needs a single channel: take kind = "one_channel"'
        yield Problem(("topology", "kind"), f"{reason}, not {draft.topology.kind!r}")
    if draft.spec.transport != "channel" and one_channel:
        reason = f"{draft.spec.name} runs over IPv6, which a one_channel does not carry"
        yield Problem(("topology", "kind"), f'{reason}: take kind = "lan", for instance')


def _impairments(draft: Draft, scope: Scope) -> Iterator[Problem]:
    taken: dict[str, int] = {}
    for number, impair in draft.impair:
        places, problems = scope.places(impair.on, ("impair", number, "on"))
        yield from problems
        yield from scope.refused(impair.impairment, ("impair", number))
        for name in places:
            if name in taken:
                which = "this table" if taken[name] == number else f"[[impair]] {taken[name] + 1}"
                yield Problem(("impair", number, "on"), f"{name} is impaired by {which} already")
                break
            taken[name] = number


def _clocks(draft: Draft, scope: Scope) -> Iterator[Problem]:
    taken: set[str] = set()
    for number, clock in draft.clock:
        yield from scope.strangers(clock.node, ("clock", number, "node"))
        for name in clock.node:
            if name in taken:
                yield Problem(("clock", number, "node"), f"the clock of {name} is set twice")
            taken.add(name)


def _workload(draft: Draft, scope: Scope) -> Iterator[Problem]:
    deaf = draft.spec.deaf(draft.options) if draft.spec and draft.options is not None and draft.workload else ""
    if deaf:
        yield Problem(("workload",), deaf)
    workload, nodes = draft.workload, scope.nodes
    largest = draft.spec.max_payload if draft.spec else None
    if isinstance(workload, Script):
        for number, message in enumerate(workload.message):
            path: Path = ("workload", "message", number)
            yield from scope.strangers((message.node,), (*path, "node"))
            yield from scope.strangers(message.to, (*path, "to"))
    elif isinstance(workload, Generated):
        yield from scope.strangers(workload.senders or (), ("workload", "senders"))
        choice, path = workload.destinations, ("workload", "destinations")
        yield from scope.strangers(choice.nodes or (), (*path, "nodes"))
        available = len(nodes) - (choice.among == "others")
        if available < 1:
            yield Problem(path, "there are no others: this scenario has one node")
        elif choice.count is not None and choice.count > available:
            yield Problem((*path, "count"), f"there are only {available} nodes to choose among")
        if workload.payload < 0 or (largest is not None and workload.payload > largest):
            name = draft.spec.name if draft.spec else ""
            yield Problem(("workload", "payload"), f"a payload of {name} has 0 to {largest} bytes")


def _expectations(draft: Draft) -> Iterator[Problem]:
    for number, expect in draft.expect:
        if expect.property is not None:
            if draft.spec is not None and expect.property in draft.spec.properties:
                continue
            if not is_property(expect.property):
                reason = f"no property is called {expect.property!r}{did_you_mean(expect.property, properties())}"
                yield Problem(("expect", number, "property"), reason)
        elif expect.metric is not None and not is_metric(expect.metric):
            reason = f"no metric is called {expect.metric!r}{did_you_mean(expect.metric, metrics())}"
            yield Problem(("expect", number, "metric"), reason)


def _explore(draft: Draft) -> Iterator[Problem]:
    """What a search may draw must be possible."""
    space = draft.explore
    if space is None:
        return
    if any(count < 1 for count in space.nodes):
        yield Problem(("explore", "nodes"), "a network has at least one node")
    if draft.topology is not None:
        yield from _networks(draft.topology, space)
    if draft.spec is not None:
        largest = draft.spec.max_payload
        if any(not 0 <= size <= largest for size in space.payload):
            yield Problem(("explore", "payload"), f"a payload of {draft.spec.name} has 0 to {largest} bytes")
        known = keys_of(draft.spec.options)
        tables = [("options", *one) for one in space.options] + [("mild", *one) for one in space.mild]
        for table, name, values in tables:
            path: Path = ("explore", table, name)
            if name not in known:
                yield Problem(path, f"{draft.spec.name} has no option {name!r}{did_you_mean(name, known)}")
                continue
            for value in values:
                wrong: Problems = []
                read_value(known[name].hint, value, path, wrong)
                yield from wrong
    kinds = typing.get_args(FaultKind)
    for kind, _ in space.void:
        if kind not in kinds:
            yield Problem(("explore", "void", kind), f"no fault is called {kind!r}{did_you_mean(kind, kinds)}")
    named: list[tuple[Path, tuple[str, ...]]] = [(("explore", "properties"), space.properties)]
    named += [(("explore", "void", kind), of) for kind, of in space.void]
    for where, names in named if draft.words else ():
        for name in names:
            if name not in properties():
                yield Problem(where, f"no property is called {name!r}{did_you_mean(name, properties())}")


def _networks(topology: TopologyOptions, space: Explore) -> Iterator[Problem]:
    """Of each kind, with as many nodes as there may be."""
    for kind in space.networks:
        for count in space.nodes or (topology.nodes,):
            try:
                replace(topology, kind=kind, nodes=count).plan()
            except PlanError as error:
                yield Problem(("explore", "networks"), f"{kind} with {count} nodes: {error}")


def last_ns(workload: AnyWorkload | None) -> int:
    """When the last message is submitted, at the latest."""
    if isinstance(workload, Script):
        return max((message.at_ns for message in workload.message), default=0)
    if isinstance(workload, Bursts):
        return workload.start_ns + (workload.rounds - 1) * workload.every_ns
    if isinstance(workload, Steady):
        return workload.start_ns + workload.for_ns
    return 0


def _times(draft: Draft) -> Iterator[Problem]:
    """Everything happens before the limit."""
    if draft.top is None:
        return
    limit, write = draft.top.limit_ns, UNITS["duration"].write
    if last_ns(draft.workload) + draft.top.settle_ns >= limit:
        reason = f"the workload ends at {write(last_ns(draft.workload))}, too late to settle before the limit"
        yield Problem(("workload",), f"{reason} of {write(limit)}")
    for number, fault in draft.fault:
        if fault.last_ns >= limit:
            reason = f"this ends at {write(fault.last_ns)}, after the limit of {write(limit)}"
            yield Problem(("fault", number, "at"), reason)
