"""Frozen dataclasses as JSON, and back with every value held against its type."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Misfit(ValueError):
    """A value that its type does not allow, and where it stands."""


def as_json(value: Any) -> str:
    """Deterministic text: equal values, equal bytes."""
    plain = dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
    return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def from_json(cls: type[T], text: str) -> T:
    """The dataclass that `as_json` wrote. Misfit if it is another one, or no JSON at all."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise Misfit(f"it is no JSON: {error}") from None
    found: T = _read(cls, plain, "")
    return found


def _read(hint: Any, value: Any, where: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):  # of ours only "or None"
        (other,) = (one for one in inner if one is not types.NoneType)
        return None if value is None else _read(other, value, where)
    if dataclasses.is_dataclass(hint):
        return _dataclass(hint, value, where)
    if origin is typing.Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list):
        hints = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        if len(hints) == len(value):
            parts = enumerate(zip(hints, value, strict=True))
            return tuple(_read(one, part, f"{where}[{at}]") for at, (one, part) in parts)
    elif origin is Mapping and isinstance(value, dict):
        return {name: _read(inner[1], one, f"{where}.{name}") for name, one in value.items()}
    elif origin is None and type(value) is hint:
        return value
    raise Misfit(f"{_named(where)} is {json.dumps(value)[:80]}, which is no {getattr(hint, '__name__', hint)}")


def _dataclass(cls: Any, value: Any, where: str) -> Any:
    hints = typing.get_type_hints(cls)
    names = [one.name for one in dataclasses.fields(cls)]
    if not isinstance(value, dict) or sorted(value) != sorted(names):
        raise Misfit(f"{_named(where)} does not have the keys {', '.join(names)}")
    return cls(**{name: _read(hints[name], value[name], f"{where}.{name}") for name in names})


def _named(where: str) -> str:
    return where.lstrip(".") or "it"
