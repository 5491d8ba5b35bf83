"""`--set KEY=VALUE`: values that take the place of those in the file, before anything is checked.

A key is dotted, `topology.nodes`; of several tables the number from 0, `impair.0.loss`. A value is TOML where it
is (`7`, `true`, `{ count = 2 }`), otherwise text (`10mbit`, `2%`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any

from harness.scenario.document import Document
from harness.scenario.problems import Located, Path, ScenarioError


def override(document: Document, settings: Iterable[str]) -> None:
    """Change the document's values; a ScenarioError names the setting that cannot be."""
    wrong = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        try:
            if not equals or not all(key.strip().split(".")):
                raise ValueError("write KEY=VALUE, e.g. topology.nodes=7")
            path = _put(document.values, key.strip().split("."), _value(text.strip()))
            document.overridden[path] = f"--set {setting}"
        except ValueError as error:
            wrong.append(Located(f"--set {setting}", 0, str(error)))
    if wrong:
        raise ScenarioError(wrong)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except tomllib.TOMLDecodeError:
        return text


def _put(values: Any, keys: list[str], value: Any) -> Path:
    path: Path = ()
    here = values
    for number, key in enumerate(keys):
        last = number == len(keys) - 1
        if isinstance(here, list):
            if not key.isdecimal() or int(key) >= len(here):
                raise ValueError(f"{'.'.join(keys[:number])} has the numbers 0 to {len(here) - 1}, not {key!r}")
            step: str | int = int(key)
        elif isinstance(here, dict):
            step = key
            if not last:
                here.setdefault(key, {})
        else:
            raise ValueError(f"{'.'.join(keys[:number])} is no table")
        path = (*path, step)
        if last:
            here[step] = value
        else:
            here = here[step]
    return path
