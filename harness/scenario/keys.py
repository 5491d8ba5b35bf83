"""Every key that a scenario may have, from the types that scenarios are read into."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal

from harness.scenario.explore import Explore
from harness.scenario.faults import FAULTS
from harness.scenario.model import WORKLOADS, ClockStart, Expect, Impair, NodeOptions, Top, TopologyOptions
from harness.scenario.schema import CODECS, Key, keys_of, write_value
from harness.scenario.units import UNITS
from nodes.protocols import NAMES, protocol


def keys() -> list[tuple[str, str]]:
    """Rows of table and key, what may stand there and what does if nothing stands there."""
    return [
        *_table("", Top),
        *_table("[topology]", TopologyOptions),
        *_table("[node]", NodeOptions),
        *_table("[[impair]]", Impair),
        *_table("[[clock]]", ClockStart),
        *(row for kind, cls in WORKLOADS.items() for row in _table(f"[workload] {kind}", cls)),
        *(row for kind, cls in FAULTS.items() for row in _table(f"[[fault]] {kind}", cls)),
        *_table("[[expect]]", Expect),
        *_table("[explore]", Explore),
        *(row for name in NAMES for row in _options(name)),
    ]


def _options(name: str) -> Iterator[tuple[str, str]]:
    try:
        spec = protocol(name)
    except (ImportError, AttributeError):  # as in harness.scenario.load
        return
    yield from _table(f"[{name}]", spec.options)


def _table(title: str, cls: type) -> Iterator[tuple[str, str]]:
    for key in keys_of(cls).values():
        yield f"{title} {key.name}".strip(), f"{_what(key.hint)}; {_otherwise(key)}"


def _what(hint: Any) -> str:
    """A type in words."""
    if typing.get_origin(hint) is typing.Annotated:
        for extra in hint.__metadata__:
            if isinstance(extra, str) and extra in UNITS:
                return f'{UNITS[extra].what}, "{UNITS[extra].example}"'
            codec = CODECS.get(extra) if isinstance(extra, str) else extra
            if codec is not None:
                words = " ".join((codec.__doc__ or "").split()).rstrip(".")
                return words[0].lower() + words[1:]
        return _what(hint.__origin__)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(_what(one) for one in typing.get_args(hint) if one is not type(None))
    if typing.get_origin(hint) is Literal:
        return " | ".join(str(one) for one in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return f"a list: {_what(typing.get_args(hint)[0])}"
    if dataclasses.is_dataclass(hint):
        return f"a table with {', '.join(keys_of(typing.cast(type, hint)))}"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return names[hint]


def _otherwise(key: Key) -> str:
    if key.required:
        return "must be there"
    if key.default is None or key.default == "":
        return "may be left out"
    written = write_value(key.hint, key.default)
    return f"otherwise {str(written).lower() if isinstance(written, bool) else written}"
