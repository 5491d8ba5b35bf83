"""Cases, drawn from a scenario and its [explore]: a case is a scenario that names every fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from typing import Any

from harness.explore.choices import SPANS, Draw, Times, edges, some_kinds, struck
from harness.explore.edit import mild_values, option_values, possible, with_nodes
from harness.explore.said import FEW, last_messages, said_near, script, with_messages
from harness.scenario.explore import Explore
from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import Delay, Drop, Duplicate, PduFault
from harness.scenario.faults.clock import ClockChange
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.impair import Change
from harness.scenario.faults.leave import Leave
from harness.scenario.faults.link import LinkState
from harness.scenario.faults.partition import LEAST, Partition
from harness.scenario.faults.pause import Pause
from harness.scenario.faults.restart import Restart
from harness.scenario.faults.slow_reader import SlowReader
from harness.scenario.faults.when import When
from harness.scenario.model import ClockStart, Impair, Scenario, Script, TopologyOptions
from harness.scenario.pdus import PduMatch
from nodes.wire import all_pdu_types
from nodes.wire.note import NoteKind
from nodes.wire.table import Flags
from topologies.impairments import GilbertElliott, Impairment

_FEW_FAULTS = 2
FAR_NS = 60_000_000_000  # by which a clock is set, where a protocol does not bound it
_DRIFTS_PPB = (100_000, -100_000, 10_000_000, -10_000_000)
_SLOW = Impairment(rate_bps=1_000_000)
_BUFFER_BYTES = 4096  # a slow reader's: a few frames
_MILD = 2  # faults, of a PDU each
_ASTRAY = ("drop", "delay", "duplicate")  # what may become of one


Drawing = Callable[[Draw], Scenario]


def cases(base: Scenario, bounds: Explore) -> Drawing:
    """A scenario with all that [explore] leaves open chosen."""
    choices = option_values(base, bounds)
    if not titles(base.protocol):  # nothing can be said of its PDUs
        bounds = replace(bounds, faults=tuple(one for one in bounds.faults if one not in _ASTRAY))
    mild = mild_values(base, bounds)

    def made(draw: Draw) -> Scenario:
        case = replace(base, explore=None, seed=draw.number(1, 1000))
        is_mild = bool(mild) and draw.number(0, 3) == 3
        is_small = draw.number(0, 2) == 2
        space = _mild(bounds) if is_mild else _small(bounds) if is_small else bounds
        space = replace(space, destinations=some_kinds(draw, space.destinations))
        if space.nodes:
            case = with_nodes(case, draw.one(space.nodes))
        if space.networks:
            case = replace(case, topology=replace(case.topology, kind=draw.one(space.networks)))
        varied = () if is_mild or is_small else some_kinds(draw, choices)
        options = {field: draw.one(values) if (field, values) in varied else values[0] for field, values in choices}
        options |= {field: values[0] for field, values in mild if is_mild}
        case = replace(case, options=replace(case.options, **options))
        case = replace(case, impair=impairments(draw, case, space), clock=clocks(draw, case, space))
        if space.messages:
            case = replace(case, workload=script(draw, case, space))
        faults: list[Fault] = list(case.fault)
        if space.passing:
            case, for_a_while = passing(case, 2 * space.within_ns)
            faults += for_a_while
        some = replace(space, faults=some_kinds(draw, space.faults))
        for _ in range(draw.number(min(is_small, space.most_faults), space.most_faults)):
            faults += some_faults(draw, case, some, times_of(replace(case, fault=tuple(faults)), space))
        if is_mild:
            faults = [_of_one(draw, case, one) for one in faults if isinstance(one, PduFault)]
        if space.messages and faults:
            case = with_messages(case, said_near(draw, case, space, faults))
            if draw.number(0, 2) == 2:
                case = with_messages(case, last_messages(case, space, edges(faults)))
        return bearable(replace(case, fault=tuple(faults)))

    return made


def _mild(bounds: Explore) -> Explore:
    """Nothing goes wrong but with a few single PDUs."""
    astray = tuple(kind for kind in _ASTRAY if kind in bounds.faults)
    most = min(_MILD, bounds.most_faults) if astray else 0
    return replace(bounds, faults=astray, most_faults=most, loss=(0.0,), skew_ns=0, spare=())


def _small(bounds: Explore) -> Explore:
    """Little happens: nothing hides, or excuses, what one thing does to another."""
    faults, messages = min(_FEW_FAULTS, bounds.most_faults), min(FEW, bounds.messages)
    return replace(bounds, loss=bounds.loss[:1], most_faults=faults, messages=messages)


def _of_one(draw: Draw, case: Scenario, fault: PduFault) -> PduFault:
    """The same for one PDU, on its way to one node."""
    return replace(fault, towards=(draw.one(fault.towards or case.nodes),), count=1, for_ns=None)


def bearable(case: Scenario) -> Scenario:
    """Without what cannot happen; and of losses without end the first: without one kind of PDU a protocol goes on."""
    endless = [one for one in case.fault if isinstance(one, Drop) and one.count is None and one.for_ns is None]
    left = tuple(one for one in case.fault if one not in endless or one is endless[0])
    return possible(replace(case, fault=left))


def times_of(case: Scenario, space: Explore, moments: tuple[int, ...] = ()) -> Times:
    """Near what happens in a case, or near these moments of it."""
    said = (
        tuple((one.at_ns, one.node, one.to) for one in case.workload.message)
        if isinstance(case.workload, Script)
        else ()
    )
    near = moments or (*(at_ns for at_ns, _, _ in said), *edges(case.fault))
    return Times(space.within_ns, near, space.waits, struck(case.fault), said)


def impairments(draw: Draw, case: Scenario, space: Explore) -> tuple[Impair, ...]:
    """Loss of everything, and how long everything takes: the same between all, or (on a mesh) from pair to pair; and
    sometimes another on the way to one node."""
    if case.impair:
        return case.impair
    loss, delay_ns = draw.one(space.loss), draw.one(space.delay)
    if case.topology.kind == "mesh" and len(space.delay) > 1 and draw.yes():
        pairs = [f"{a}>{b}" for a, b in permutations(case.nodes, 2)]
        others = draw.some(pairs, 3) if draw.yes() else pairs
        delays = {way: draw.one(space.delay) if way in others else delay_ns for way in pairs}
        return tuple(Impair(on=(way,), impairment=Impairment(loss=loss, delay_ns=ns)) for way, ns in delays.items())
    jitter_ns = 0
    if case.topology.kind != "one_channel" and delay_ns and draw.yes():
        jitter_ns = delay_ns - delay_ns // 10
    usual = Impairment(loss=loss, delay_ns=delay_ns, jitter_ns=jitter_ns)
    on: tuple[str, ...] = ("receivers",)
    ports, found = _ports(case.topology), list[Impair]()
    if len(space.loss) + len(space.delay) > 2 and draw.number(0, 3) == 3:
        special = draw.one(ports)
        there = Impairment(loss=draw.one(space.loss), delay_ns=draw.one(space.delay))
        if space.most_faults and "impair" in space.faults and draw.yes():
            there = draw.one((*troubles(case, delay_ns or Times(space.within_ns).tick_ns), _SLOW))
        found, on = [Impair(on=(special,), impairment=there)], tuple(port for port in ports if port != special)
    return (*([Impair(on=on, impairment=usual)] if on and usual != Impairment() else []), *found)


def passing(case: Scenario, for_ns: int) -> tuple[Scenario, list[Fault]]:
    """What goes astray by chance does so for a while: the case without it, and faults that make it so."""
    usual = [replace(one, impairment=one.impairment.without_loss()) for one in case.impair]
    for_a_while: list[Fault] = [
        Change(on=one.on, impairment=one.impairment, for_ns=for_ns)
        for one, after in zip(case.impair, usual, strict=True)
        if one != after
    ]
    return replace(case, impair=tuple(one for one in usual if one.impairment != Impairment())), for_a_while


@lru_cache(maxsize=64)
def _ports(topology: TopologyOptions) -> tuple[str, ...]:
    """The ways to single nodes."""
    plan = topology.plan()
    return tuple(f"{plan.lan_of(host).switch}>{host}" for host in plan.hosts)


def troubles(case: Scenario, delay_ns: int) -> list[Impairment]:
    """What can be wrong with a way, beside what is usual."""
    found = [
        Impairment(loss=0.3),
        Impairment(loss_model=GilbertElliott(good_to_bad=0.05, bad_to_good=0.3)),
        Impairment(duplicate=0.3),
        Impairment(corrupt=0.3),
    ]
    if case.topology.kind != "one_channel":  # of one order, and of a pace from which time-outs follow at the start
        found += [
            _SLOW,
            Impairment(delay_ns=delay_ns, jitter_ns=delay_ns),
            Impairment(delay_ns=delay_ns, reorder=0.3),
        ]
    return found


def clocks(draw: Draw, case: Scenario, space: Explore) -> tuple[ClockStart, ...]:
    """Each within half of the skew of true time; where nothing bounds it, some of them run fast or slow."""
    if case.clock:
        return case.clock
    if space.skew_ns:
        offsets = [draw.number(-4, 4) * space.skew_ns // 8 for _ in case.nodes]
        return tuple(ClockStart(node=(n,), offset_ns=o) for n, o in zip(case.nodes, offsets, strict=True) if o)
    if space.most_faults and "clock" in space.faults and draw.number(0, 3) == 3:
        return (ClockStart(node=draw.some(case.nodes, len(case.nodes)), drift_ppb=draw.one(_DRIFTS_PPB)),)
    return ()


# Faults: one drawing for each word of [explore] faults.


def some_faults(draw: Draw, case: Scenario, space: Explore, times: Times) -> list[Fault]:
    """One thing that goes wrong, as one or two faults."""
    kind = draw.one(space.faults)
    found = _FAULTS[kind](draw, case, space, times)
    waits = any(fault.when for fault in found)
    if found and not waits and draw.number(0, 2) == 2:
        return _awaiting(moment(draw, case, struck(found)), found, times.later(draw))
    return found


def _awaiting(when: When, faults: Sequence[Fault], later_ns: int) -> list[Fault]:
    """The same faults, the first of them so long after a moment."""
    begin_ns = faults[0].at_ns - later_ns
    return [replace(fault, when=when, at_ns=fault.at_ns - begin_ns) for fault in faults]


def moment(draw: Draw, case: Scenario, about: Sequence[str]) -> When:
    """When somebody sends, gets or notes something, the first time or a later one; mostly who is struck then."""
    count, node = 1 + draw.one((0, 0, 1, 2, 5)), draw.one(case.nodes)
    known = draw.one(about) if about and draw.yes() else None
    way, src = draw.one(("out", "in", "note")) if titles(case.protocol) else "note", (int((known or node)[1:]),)
    if way == "note":
        kind = draw.one(_NOTED)
        return When(note=PduMatch(src=src, fields=(("kind", int(kind)),)), count=count)
    types = (draw.one(titles(case.protocol)),)
    if way == "in" and known is not None:  # from whomever
        return When(pdu=PduMatch(types=types), towards=(known,), count=count)
    towards = (draw.one(case.nodes),) if way == "in" else None
    return When(pdu=PduMatch(types=types, src=src), towards=towards, count=count)


_NOTED = (NoteKind.SENT, NoteKind.DELIVERED, NoteKind.VIEW, NoteKind.STATE, NoteKind.ALARM, NoteKind.ACCEPTED)


@lru_cache
def titles(protocol: str) -> tuple[str, ...]:
    """The types of a protocol's PDUs."""
    return tuple(row.title for row in all_pdu_types() if row.proto.name.lower() == protocol)


@lru_cache
def _flags(protocol: str, title: str) -> tuple[str, ...]:
    """The flags that a PDU of this type may have."""
    row = next(row for row in all_pdu_types() if row.proto.name.lower() == protocol and row.title == title)
    return tuple(name for field in row.fields if isinstance(field.kind, Flags) for name in field.kind.names)


def _stop(draw: Draw, case: Scenario, times: Times, kind: type[Crash] | type[Leave]) -> list[Fault]:
    """Mostly they come back, and sometimes it happens to them again, perhaps for good: soon, or when they say some
    certain thing."""
    at_ns, first = times.strike(draw, case)
    node = tuple(dict.fromkeys((first, draw.one(case.nodes)))) if draw.number(0, 3) == 3 else (first,)
    found: list[Fault] = [kind(at_ns=at_ns, node=node)]
    for again in draw.one(((False,), (False,), (True, False), (True,), ())):
        at_ns += times.length(draw) if draw.number(0, 3) else draw.number(1, SPANS[0]) * times.tick_ns
        found.append(Restart(at_ns=at_ns, node=node))
        if again and titles(case.protocol) and draw.yes():
            when = When(pdu=PduMatch(types=(draw.one(titles(case.protocol)),), src=(int(node[0][1:]),)))
            found += [kind(when=when, node=node[:1]), Restart(when=when, at_ns=times.length(draw), node=node[:1])]
        elif again:
            at_ns += times.length(draw)
            found.append(kind(at_ns=at_ns, node=node))
    return found


def _partition(draw: Draw, case: Scenario, space: Explore, times: Times) -> list[Fault]:
    at_ns, length, nodes = times.instant(draw), times.length(draw), case.nodes
    if len(nodes) < 2:
        return []
    if draw.number(0, 3) == 3:  # one way
        sender = times.node(draw, case)
        others = draw.some([one for one in nodes if one != sender], len(nodes))
        if draw.yes():
            return [Partition(at_ns=at_ns, from_=(sender,), to=others, for_ns=length)]
        return [Partition(at_ns=at_ns, from_=others, to=(sender,), for_ns=length)]
    shape = draw.one(tuple(LEAST))
    if shape == "halves" or len(nodes) < LEAST[shape]:
        return [Partition(at_ns=at_ns, groups=(draw.some(nodes, len(nodes) - 1),), for_ns=length)]
    return [Partition(at_ns=at_ns, shape=shape, first=times.node(draw, case), for_ns=length)]


def _link(draw: Draw, case: Scenario, space: Explore, times: Times) -> list[Fault]:
    names = [link.name for link in case.plan().links]
    at_ns, length = times.instant(draw), times.length(draw)
    return [LinkState(at_ns=at_ns, link=(draw.one(names),), for_ns=length)]


def _impair(draw: Draw, case: Scenario, space: Explore, times: Times) -> list[Fault]:
    at_ns, length = times.instant(draw), times.length(draw)
    on = "receivers" if draw.yes() else draw.one(_ports(case.topology))
    return [Change(at_ns=at_ns, on=(on,), impairment=draw.one(troubles(case, 10 * times.tick_ns)), for_ns=length)]


def _pause(draw: Draw, case: Scenario, space: Explore, times: Times) -> list[Fault]:
    (at_ns, first), length, several = times.strike(draw, case), times.length(draw), draw.number(0, 3) == 3
    node = draw.some(case.nodes, len(case.nodes)) if several else (first,)
    return [Pause(at_ns=at_ns, node=node, for_ns=length)]


def _clock(draw: Draw, case: Scenario, space: Explore, times: Times) -> list[Fault]:
    """Where a protocol bounds the skew, most changes keep within it."""
    at_ns, first = times.strike(draw, case)
    node = (first,)
    if space.skew_ns and draw.one((True, True, False)):
        return [ClockChange(at_ns=at_ns, node=node, offset_ns=draw.number(-4, 4) * space.skew_ns // 8)]
    if draw.yes():
        far_ns = draw.one((FAR_NS, space.within_ns))
        return [ClockChange(at_ns=at_ns, node=node, step_ns=draw.one((-1, 1, -4, 4)) * far_ns // 4)]
    return [ClockChange(at_ns=at_ns, node=node, drift_ppb=draw.one(_DRIFTS_PPB))]


def _slow_reader(draw: Draw, case: Scenario, space: Explore, times: Times) -> list[Fault]:
    at_ns, length, node = times.instant(draw), times.length(draw), (times.node(draw, case),)
    delay_ns = draw.one((1, 3, 10)) * times.tick_ns
    buffer = draw.one((None, _BUFFER_BYTES))
    return [SlowReader(at_ns=at_ns, node=node, read_delay_ns=delay_ns, buffer_bytes=buffer, for_ns=length)]


def _chosen(
    draw: Draw, case: Scenario, space: Explore, times: Times, kind: type[Drop] | type[Delay] | type[Duplicate]
) -> list[Fault]:
    src = draw.one((0, *range(1, len(case.nodes) + 1)))
    title = draw.one(titles(case.protocol))
    flags = _flags(case.protocol, title)
    marked = (("flags", (draw.one(flags),)),) if flags and draw.number(0, 3) == 3 else ()
    towards = (times.node(draw, case),) if draw.number(0, 3) else None
    count = draw.one((1, 1, 2, 5, None))
    more: dict[str, Any] = {"towards": towards, "count": count}
    if count is None:
        more |= {"at_ns": times.instant(draw), "for_ns": times.length(draw)}
    elif draw.yes():
        more["at_ns"] = times.instant(draw)
    else:
        more["skip"] = draw.number(0, 10)
    if kind is not Drop:
        more["by_ns"] = times.length(draw)
    elif space.spare and draw.number(0, 3) == 3:  # for ever
        more = {"towards": (times.node(draw, case),), "count": None, "at_ns": times.instant(draw)}
        title, src, marked = draw.one(space.spare), 0, ()
    return [kind(pdu=PduMatch(types=(title,), src=(src,) if src else (), fields=marked), **more)]


OneFault = Callable[[Draw, Scenario, Explore, Times], list[Fault]]
_FAULTS: Mapping[str, OneFault] = {
    "crash": lambda draw, case, space, times: _stop(draw, case, times, Crash),
    "leave": lambda draw, case, space, times: _stop(draw, case, times, Leave),
    "pause": _pause,
    "partition": _partition,
    "link": _link,
    "impair": _impair,
    "clock": _clock,
    "slow_reader": _slow_reader,
    "drop": lambda draw, case, space, times: _chosen(draw, case, space, times, Drop),
    "delay": lambda draw, case, space, times: _chosen(draw, case, space, times, Delay),
    "duplicate": lambda draw, case, space, times: _chosen(draw, case, space, times, Duplicate),
}
