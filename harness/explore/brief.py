"""A scenario as short as a person would write it: what has its default is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any

from harness.scenario.dump import inline, plain
from harness.scenario.faults import FAULTS
from harness.scenario.model import (
    WORKLOADS,
    ClockStart,
    Expect,
    Impair,
    Message,
    NodeOptions,
    Scenario,
    Top,
    TopologyOptions,
)
from harness.scenario.schema import keys_of, write_value
from nodes.protocols import protocol


def brief(scenario: Scenario) -> str:
    """The text of a scenario file."""
    return "\n".join(_lines(plain(scenario), scenario)) + "\n"


def _lines(values: Mapping[str, Any], scenario: Scenario) -> Iterator[str]:
    yield from _pairs(_short(values, Top))
    yield from _table("topology", _short(values["topology"], TopologyOptions))
    yield from _table("node", _short(values["node"], NodeOptions))
    yield from _table(scenario.protocol, _short(values[scenario.protocol], protocol(scenario.protocol).options))
    for name, cls in (("impair", Impair), ("clock", ClockStart)):
        for one in values[name]:
            yield from _table(f"[{name}]", _short(one, cls), always=True)
    if "workload" in values:
        yield from _workload(values["workload"])
    for one in values["fault"]:
        yield from _table("[fault]", {"kind": one["kind"], **_short(one, FAULTS[one["kind"]])}, always=True)
    for one in values["expect"]:
        yield from _table("[expect]", _short(one, Expect), always=True)


def _workload(table: Mapping[str, Any]) -> Iterator[str]:
    short = {"kind": table["kind"], **_short(table, WORKLOADS[table["kind"]])}
    messages = short.pop("message", [])
    yield from _table("workload", short)
    for one in messages:
        yield from _table("[workload.message]", _short(one, Message), always=True)


def _table(name: str, values: Mapping[str, Any], always: bool = False) -> Iterator[str]:
    if values or always:
        yield from ("", f"[{name}]", *_pairs(values))


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key} = {inline(value)}" for key, value in values.items())


def _short(table: Mapping[str, Any], cls: type) -> dict[str, Any]:
    """Without the keys that have their defaults."""
    found = {}
    for name, key in keys_of(cls).items():
        if name not in table:
            continue
        value = table[name]
        if isinstance(value, Mapping) and is_dataclass(key.hint):
            value = _short(value, key.hint)  # type: ignore[arg-type]
        if isinstance(value, Mapping) and not value:
            continue
        default = None if key.required or key.default is None else write_value(key.hint, key.default)
        if key.required or value != default:
            found[name] = value
    return found
