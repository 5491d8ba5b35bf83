"""`--set KEY=VALUE`: values that take the place of those in the file, before anything is checked.

A key is dotted, `topology.nodes`; of several tables the number from 0, `impair.0.loss`, and the number behind the last
makes one more. A value is TOML where it is (`7`, `true`, `{ count = 2 }`), otherwise text (`10mbit`, `2%`).
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


def take_away(document: Document, keys: Iterable[str]) -> None:
    """Take values out of the document, named in the same way; numbers are those from before."""
    taken = []
    for key in keys:
        here: Any = document.values
        try:
            *above, last = [int(one) if one.isdecimal() else one for one in key.split(".")]
            for one in above:
                here = here[one]
            taken.append((here, last, here[last]))
        except (KeyError, IndexError, TypeError):
            raise ScenarioError([Located(f"--without {key}", 0, "the scenario has no such key")]) from None
    for here, _, value in taken:
        if isinstance(here, list):
            here[:] = [one for one in here if one is not value]
    for here, last, _ in taken:
        if isinstance(here, dict):
            here.pop(last, None)


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
            if last and key == str(len(here)):
                here.append(value)
            if not key.isdecimal() or int(key) >= len(here):
                raise ValueError(f"{'.'.join(keys[:number])} has the numbers 0 to {len(here) - 1}, not {key!r}")
            step: str | int = int(key)
        elif isinstance(here, dict):
            step = key
            if not last:
                here.setdefault(key, [] if keys[number + 1 :] == ["0"] else {})
        else:
            raise ValueError(f"{'.'.join(keys[:number])} is no table")
        path = (*path, step)
        if last:
            here[step] = value
        else:
            here = here[step]
    return path
