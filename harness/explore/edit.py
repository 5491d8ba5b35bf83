"""Changes of a scenario that leave a scenario: other options, fewer nodes, only faults that can happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.scenario.explore import Explore
from harness.scenario.faults import Fault
from harness.scenario.faults.base import OfNodes
from harness.scenario.faults.chosen import PduFault
from harness.scenario.faults.course import Course
from harness.scenario.faults.impair import Change
from harness.scenario.faults.link import LinkState
from harness.scenario.faults.partition import LEAST, Partition
from harness.scenario.model import Scenario, Script
from harness.scenario.pdus import PduMatch
from harness.scenario.schema import Problems, keys_of, read_value
from nodes.protocols import protocol

Values = Sequence[tuple[str, tuple[Any, ...]]]


def option_values(scenario: Scenario, space: Explore) -> Values:
    """The fields of the protocol's options that are searched, each with its values."""
    return _read(scenario, space.options)


def mild_values(scenario: Scenario, space: Explore) -> Values:
    """Those with which it withstands little."""
    return _read(scenario, space.mild)


def is_mild(case: Scenario, space: Explore) -> bool:
    """Has it those options?"""
    return bool(space.mild) and all(
        getattr(case.options, field) == one for field, (one, *_) in mild_values(case, space)
    )


def _read(scenario: Scenario, named: Values) -> Values:
    found, keys = [], keys_of(protocol(scenario.protocol).options)
    for name, values in named:
        problems: Problems = []
        found.append((keys[name].field, tuple(read_value(keys[name].hint, one, (name,), problems) for one in values)))
        assert not problems, "the scenario was checked when it was read"
    return found


def with_nodes(scenario: Scenario, count: int) -> Scenario:
    """So many nodes; what named others is gone."""
    topology = replace(scenario.topology, nodes=count)
    made = replace(scenario, topology=topology)
    if count >= scenario.topology.nodes:
        return made
    keep = frozenset(made.nodes)
    return _only(made, keep, {name: name for name in keep})


def without_node(scenario: Scenario, gone: str) -> Scenario:
    """One node less; those above it move down by one."""
    number = int(gone[1:])
    names = {f"n{old}": f"n{old - (old > number)}" for old in range(1, scenario.topology.nodes + 1) if old != number}
    made = replace(scenario, topology=replace(scenario.topology, nodes=scenario.topology.nodes - 1))
    return _only(made, frozenset(names), names)


def possible(scenario: Scenario) -> Scenario:
    """Without the faults that cannot happen because of what happened before."""
    faults = list(enumerate(scenario.fault))
    while (problem := next(Course(scenario.nodes).problems(faults), None)) is not None:
        faults = [one for one in faults if one[0] != problem.path[1]]
    return replace(scenario, fault=tuple(fault for _, fault in faults))


def _only(scenario: Scenario, keep: frozenset[str], names: dict[str, str]) -> Scenario:
    def known(some: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names[one] for one in some if one in keep)

    workload = scenario.workload
    if isinstance(workload, Script):
        messages = []
        for one in workload.message:
            to = known(one.to)
            if one.node in keep and (to or not one.to):
                messages.append(replace(one, node=names[one.node], to=to))
        workload = Script(message=tuple(messages))
    faults = [
        renamed
        for fault in scenario.fault
        if (moved := _awaited(fault, keep, names)) is not None and (renamed := _fault(moved, keep, names)) is not None
    ]
    clocks = [replace(one, node=known(one.node)) for one in scenario.clock if known(one.node)]
    impairs = []
    for impair in scenario.impair:
        on = tuple(word for one in impair.on if (word := _place(one, keep, names)) is not None)
        if on:
            impairs.append(replace(impair, on=on))
    return possible(
        replace(scenario, workload=workload, fault=tuple(faults), clock=tuple(clocks), impair=tuple(impairs))
    )


def _place(word: str, keep: frozenset[str], names: dict[str, str]) -> str | None:
    """ "n1>n2", "n3-s1" or "receivers" with the nodes' new names; None if one is gone."""
    for sign in (">", "-"):
        parts = word.split(sign)
        if len(parts) == 2:
            if any(_is_node(part) and part not in keep for part in parts):
                return None
            return sign.join(names.get(part, part) for part in parts)
    return word


def _is_node(word: str) -> bool:
    return word[:1] == "n" and word[1:].isdecimal()


def _awaited(fault: Fault, keep: frozenset[str], names: dict[str, str]) -> Fault | None:
    """With the moment that it waits for; None if that cannot come any more."""
    when = fault.when
    if when is None:
        return fault
    match = when.pdu or when.note
    assert match is not None
    src = tuple(int(names[f"n{one}"][1:]) for one in match.src if f"n{one}" in keep)
    towards = tuple(names[one] for one in when.towards or () if one in keep)
    if (match.src and not src) or (when.towards and not towards):
        return None
    match = replace(match, src=src)
    if when.pdu is not None:
        return replace(fault, when=replace(when, pdu=match, towards=towards or None))
    return replace(fault, when=replace(when, note=match))


def _fault(fault: Fault, keep: frozenset[str], names: dict[str, str]) -> Fault | None:
    def known(some: tuple[str, ...] | None) -> tuple[str, ...]:
        return tuple(names[one] for one in some or () if one in keep)

    if isinstance(fault, Partition):
        if fault.groups is not None:
            groups = tuple(group for one in fault.groups if (group := known(one)))
            return replace(fault, groups=groups) if groups else None
        if fault.shape is not None:
            first = names.get(fault.first or "n1")
            few = len(keep) < LEAST[fault.shape]
            return None if few or first is None else replace(fault, first=first)
        senders, receivers = known(fault.from_), known(fault.to)
        return replace(fault, from_=senders, to=receivers) if senders and receivers else None
    if isinstance(fault, LinkState):
        links = tuple(word for one in fault.link if (word := _place(one, keep, names)) is not None)
        return replace(fault, link=links) if links else None
    if isinstance(fault, Change):
        on = tuple(word for one in fault.on if (word := _place(one, keep, names)) is not None)
        return replace(fault, on=on) if on else None
    if isinstance(fault, PduFault):
        src = tuple(int(names[f"n{one}"][1:]) for one in fault.pdu.src if f"n{one}" in keep)
        towards = known(fault.towards)
        if (fault.pdu.src and not src) or (fault.towards and not towards):
            return None
        return replace(fault, pdu=PduMatch(fault.pdu.types, src, fault.pdu.fields), towards=towards or None)
    if isinstance(fault, OfNodes):
        nodes = known(fault.node)
        return replace(fault, node=nodes) if nodes else None
    return fault
