"""Strict reading of TOML tables into frozen dataclasses, and writing them back, driven by the field types.

A field's type says what may stand there: bool, int, float, str, Literal, `X | None`, tuple[X, ...] (a list), another
dataclass (a table), Annotated[X, "duration"] and the other units of units.py (the key then has no unit suffix:
`delay_ns` is `delay = "5ms"`), Annotated[X, codec] for anything that has its own way of being written, and
Annotated[D, "flatten"] for a dataclass whose keys stand in the same table. A trailing underscore of a field name is
not part of the key (`for_ns` is `for`, `from_` is `from`).

All that is wrong is collected; nothing is read leniently.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar

from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.units import UNITS
from topologies.impairments import ImpairmentError

T = TypeVar("T")
Problems = list[Problem]


class Codec(Protocol):
    """A way of writing a value of its own. `read` raises ValueError or adds problems and returns None."""

    def read(self, value: Any, path: Path, problems: Problems) -> Any:
        """The value meant."""

    def write(self, value: Any) -> Any:
        """What reads back as it."""


COUNTED = ("packets", "bytes")  # whole numbers whose keys do not repeat what they count

CODECS: dict[str, Codec] = {}  # codecs that annotations mention by name, for packages that must not import this one


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One key of a table."""

    name: str
    field: str
    hint: Any
    default: Any  # dataclasses.MISSING: the key must be there

    @property
    def required(self) -> bool:
        """Must the key be there?"""
        return self.default is dataclasses.MISSING


def keys_of(cls: type) -> dict[str, Key]:
    """The keys of a table that is read into `cls`."""
    hints = typing.get_type_hints(cls, include_extras=True)
    keys = {}
    for one in dataclasses.fields(cls):
        hint = hints[one.name]
        if "flatten" in _extras(hint):
            keys.update({name: dataclasses.replace(key, field=one.name) for name, key in keys_of(_bare(hint)).items()})
            continue
        name = key_name(one.name, hint)
        made = one.default_factory is not dataclasses.MISSING
        keys[name] = Key(name, one.name, hint, None if made else one.default)
    return keys


def not_keys(cls: type) -> dict[str, str]:
    """Keys that people may look for in a table, and why it has not got them: NOT_KEYS of the class."""
    found = dict(getattr(cls, "NOT_KEYS", {}))
    for hint in typing.get_type_hints(cls, include_extras=True).values():
        if "flatten" in _extras(hint):
            found.update(not_keys(_bare(hint)))
    return found


def key_name(field: str, hint: Any) -> str:
    """The key for a field: without its unit."""
    for extra in _extras(hint):
        if extra in UNITS:
            for suffix in UNITS[extra].suffixes:
                field = field.removesuffix(suffix)
        elif extra in COUNTED:
            field = field.removesuffix(f"_{extra}")
    return field.removesuffix("_")


def _extras(hint: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = ()
    if typing.get_origin(hint) is typing.Annotated:
        found = hint.__metadata__
        hint = _bare(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for one in typing.get_args(hint):
            found += _extras(one)
    return found


def _bare(hint: Any) -> Any:
    return hint.__origin__ if typing.get_origin(hint) is typing.Annotated else hint


def read_table(cls: type[T], raw: Any, path: Path, problems: Problems, what: str = "") -> T | None:
    """An instance of `cls`, or None and at least one problem more."""
    before = len(problems)
    if not isinstance(raw, Mapping):
        problems.append(Problem(path, f"{_name(path)} must be a table"))
        return None
    what = what or _name(path)
    keys = keys_of(cls)
    for name in raw:
        if name not in keys:
            why = not_keys(cls).get(name)
            hint = f": {why}" if why else did_you_mean(name, keys)
            problems.append(Problem((*path, name), f"{what} has no key {name!r}{hint}"))
    values: dict[str, Any] = {}
    for name, key in keys.items():
        if name in raw:
            values[name] = read_value(key.hint, raw[name], (*path, name), problems)
        elif key.required:
            problems.append(Problem(path, f"{what} needs {name!r}"))
    if len(problems) > before:
        return None
    return _construct(cls, values, path, problems)


def _construct(cls: type[T], values: Mapping[str, Any], path: Path, problems: Problems) -> T | None:
    arguments: dict[str, Any] = {}
    hints = typing.get_type_hints(cls, include_extras=True)
    for one in dataclasses.fields(cls):  # type: ignore[arg-type]
        hint = hints[one.name]
        if "flatten" in _extras(hint):
            inner = _bare(hint)
            part = {name: values[name] for name in keys_of(inner) if name in values}
            arguments[one.name] = _construct(inner, part, path, problems)
            if arguments[one.name] is None:
                return None
        elif key_name(one.name, hint) in values:
            arguments[one.name] = values[key_name(one.name, hint)]
    try:
        return cls(**arguments)
    except ImpairmentError as error:
        problems.extend(Problem((*path, key), reason) for key, reason in error.problems)
    except ValueError as error:
        problems.append(Problem(point_at(path, str(error), values), str(error)))
    return None


def point_at(path: Path, reason: str, keys: Iterable[str]) -> Path:
    """The key of a table that a reason is about: the first that it mentions, or the table."""
    mentioned = (word for word in re.findall(r"\w+", reason) if word in keys)
    first = next(mentioned, None)
    return path if first is None else (*path, first)


def _name(path: Path) -> str:
    """A table as people call it: [topology], the 2nd [[fault]]."""
    words = [str(part) for part in path if isinstance(part, str)]
    table = ".".join(words)
    if path and isinstance(path[-1], int):
        return f"[[{table}]]"
    return f"[{table}]" if table else "the scenario"


def read_value(hint: Any, value: Any, path: Path, problems: Problems) -> Any:
    """The value meant by `value` where `hint` is expected; None and a problem if there is none."""
    try:
        for extra in hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ():
            if isinstance(extra, str) and extra in UNITS:
                return UNITS[extra].read(value)
            codec = CODECS.get(extra) if isinstance(extra, str) else extra
            if codec is not None:
                return codec.read(value, path, problems)
    except ValueError as error:
        problems.append(Problem(path, str(error)))
        return None
    return _read_plain(_bare(hint), value, path, problems)


def _read_plain(hint: Any, value: Any, path: Path, problems: Problems) -> Any:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (one for one in typing.get_args(hint) if one is not type(None))
        return read_value(inner, value, path, problems)
    if origin is Literal:
        choices = typing.get_args(hint)
        if value in choices and type(value) in {type(one) for one in choices}:
            return value
        words = [str(one) for one in choices]
        near = did_you_mean(str(value), words)
        problems.append(
            Problem(path, f"{_key(path)} cannot be {value!r}{near or ' (there is ' + ', '.join(words) + ')'}")
        )
        return None
    if origin is tuple:
        inner = typing.get_args(hint)[0]
        if not isinstance(value, list):
            problems.append(Problem(path, f"{_key(path)} must be a list"))
            return None
        return tuple(read_value(inner, one, (*path, number), problems) for number, one in enumerate(value))
    if dataclasses.is_dataclass(hint):
        return read_table(typing.cast(type, hint), value, path, problems)
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    wanted = (int, float) if hint is float else hint
    if not isinstance(value, wanted) or (isinstance(value, bool) and hint is not bool):
        problems.append(Problem(path, f"{_key(path)} must be {names[hint]}, not {value!r}"))
        return None
    if hint is float and not math.isfinite(value):
        problems.append(Problem(path, f"{_key(path)} must be a finite number"))
        return None
    return float(value) if hint is float else value


def _key(path: Path) -> str:
    return next(part for part in reversed(path) if isinstance(part, str))


def write_table(value: Any) -> dict[str, Any]:
    """A dataclass as plain TOML values that read back as it. What is None is left out."""
    hints = typing.get_type_hints(type(value), include_extras=True)
    table: dict[str, Any] = {}
    for one in dataclasses.fields(value):
        inner, hint = getattr(value, one.name), hints[one.name]
        if inner is None and one.default is None:
            continue
        if "flatten" in _extras(hint):
            table.update(write_table(inner))
        else:
            table[key_name(one.name, hint)] = write_value(hint, inner)
    return table


def write_value(hint: Any, value: Any) -> Any:
    """The inverse of read_value."""
    for extra in _extras(hint):
        if isinstance(extra, str) and extra in UNITS:
            return UNITS[extra].write(value)
        codec = CODECS.get(extra) if isinstance(extra, str) else extra
        if codec is not None:
            return codec.write(value)
    if isinstance(value, tuple):
        inner = next(one for one in _union(hint) if typing.get_origin(one) is tuple)
        return [write_value(typing.get_args(inner)[0], one) for one in value]
    return write_table(value) if dataclasses.is_dataclass(value) else value


def _union(hint: Any) -> tuple[Any, ...]:
    hint = _bare(hint)
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
