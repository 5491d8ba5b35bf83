"""A scenario as TOML text: everything that a run is made from, in one fixed order, and nothing else.

The text reads back as the same scenario, and equal scenarios give equal text: its hash is the run's identity. It is
written here and not by a library because people read it: a library puts each node of a list on a line of its own, and
what belongs to a fault or to the channel behind it, into a table.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from harness.scenario.model import Scenario, Top, write_variant
from harness.scenario.program import without_place
from harness.scenario.schema import write_table

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def plain(scenario: Scenario) -> dict[str, Any]:
    """The scenario as the values of a TOML document."""
    top = Top(**{one.name: getattr(scenario, one.name) for one in fields(Top)})
    values: dict[str, Any] = {
        **write_table(top),
        "topology": write_table(scenario.topology),
        "node": write_table(scenario.node),
        scenario.protocol: write_table(scenario.options),
    }
    if scenario.workload is not None:
        values["workload"] = write_variant(scenario.workload)
    if scenario.explore is not None:
        values["explore"] = write_table(scenario.explore)
    for name in ("impair", "clock", "expect"):
        values[name] = [write_table(one) for one in getattr(scenario, name)]
    values["fault"] = [write_variant(one) for one in scenario.fault]
    return values


def dump(scenario: Scenario) -> str:
    """The scenario as text."""
    return "\n".join(_lines(plain(scenario))) + "\n"


def identity(scenario: Scenario) -> str:
    """A hash of all that the scenario says of the run, which its name, description, seeds and [explore] do not."""
    values = plain(without_place(scenario))
    del values["name"], values["description"]
    values.pop("seeds", None)
    values.pop("explore", None)
    return hashlib.sha256("\n".join(_lines(values)).encode()).hexdigest()


def _lines(table: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """A table's lines. A list of tables becomes tables of their own, and so does a table of the document itself."""
    apart = {key: value for key, value in table.items() if _stands_apart(value, name)}
    for key, value in table.items():
        if key not in apart:
            yield f"{_key(key)} = {inline(value)}"
    for key, value in apart.items():
        path = f"{name}.{_key(key)}" if name else _key(key)
        for one in value if isinstance(value, list) else [value]:
            yield from ("", f"[[{path}]]" if isinstance(value, list) else f"[{path}]")
            yield from _lines(one, path)


def _stands_apart(value: Any, name: str) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, Mapping) for one in value) and (bool(value) or not name)
    return isinstance(value, Mapping) and not name


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    """JSON's escapes are TOML's, except that TOML also wants DEL escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def inline(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {inline(one)}" for key, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(inline(one) for one in value)}]"
    return repr(value)
