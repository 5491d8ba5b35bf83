"""A TOML document with the line of every key, so that a message can point at what it is about.

The standard library's reader checks the document and makes the values, but forgets the lines. So a second, small
scanner walks the same text, which it may take to be correct, and notes where each key begins.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.scenario.problems import Located, Path, ScenarioError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^\s,\]}#]+(?: [0-9:.]+(?:Z|[+-][0-9:]+)?)?")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\]|\\.)*"'),
    re.compile(r"'[^']*'"),
)


@dataclass(slots=True)
class Document:
    """The values of a document, and where they came from."""

    name: str
    values: dict[str, Any]
    lines: dict[Path, int] = field(default_factory=dict)
    overridden: dict[Path, str] = field(default_factory=dict)

    def locate(self, path: Path, reason: str) -> Located:
        """Where a person finds this path, or the nearest table above it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.overridden:
                return Located(self.overridden[path[:length]], 0, reason)
            if path[:length] in self.lines:
                line = self.lines[path[:length]]
                return Located(f"{self.name}:{line}", line, reason)
        return Located(f"{self.name}:1", 1, reason)


def parse(text: str, name: str) -> Document:
    """Read a document; a ScenarioError says where it is not TOML."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error))
        reason, line = (found[1], int(found[2])) if found else (str(error), text.count("\n") + 1)
        raise ScenarioError([Located(f"{name}:{line}", line, f"this is not TOML: {reason}")]) from None
    return Document(name, values, _Scanner(text).scan())


class _Scanner:
    """Walks a correct document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines: dict[Path, int] = {}
        self._arrays: dict[Path, int] = {}  # arrays of tables: how many there were

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self._skip()
        while self._at < len(self._text):
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table)
            self._skip()
        return self._lines

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _note(self, path: Path, at: int) -> None:
        self._lines.setdefault(path, self._text.count("\n", 0, at) + 1)

    def _inside(self, keys: Sequence[str], base: Path = ()) -> Path:
        """The path of dotted keys; a name of an array of tables means its last table."""
        path = base
        for key in keys:
            path = (*path, key)
            if path in self._arrays:
                path = (*path, self._arrays[path] - 1)
        return path

    def _header(self) -> Path:
        start = self._at
        double = self._text.startswith("[[", self._at)
        self._at += 2 if double else 1
        keys = self._keys()
        self._at += 2 if double else 1
        if double:
            array = (*self._inside(keys[:-1]), keys[-1])
            self._arrays[array] = self._arrays.get(array, 0) + 1
            self._note(array, start)
        path = self._inside(keys)
        self._note(path, start)
        return path

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip()
            found = _BARE.match(self._text, self._at)
            if found:
                keys.append(found[0])
            else:
                found = next(one for one in (string.match(self._text, self._at) for string in _STRINGS[2:]) if one)
                keys.append(next(iter(tomllib.loads(f"{found[0]} = 0"))))
            self._at = found.end()
            self._skip()
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _pair(self, table: Path) -> None:
        start = self._at
        path = self._inside(self._keys(), table)
        self._note(path, start)
        self._at += 1  # the equals sign
        self._skip()
        self._value(path)

    def _value(self, path: Path) -> None:
        if self._text.startswith("[", self._at):
            self._array(path)
        elif self._text.startswith("{", self._at):
            self._inline(path)
        else:
            candidates = (pattern.match(self._text, self._at) for pattern in (*_STRINGS, _SCALAR))
            found = next(one for one in candidates if one)
            self._at = found.end()

    def _array(self, path: Path) -> None:
        self._at += 1
        number = 0
        self._skip()
        while not self._text.startswith("]", self._at):
            self._note((*path, number), self._at)
            self._value((*path, number))
            number += 1
            self._skip()
            if self._text.startswith(",", self._at):
                self._at += 1
                self._skip()
        self._at += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        self._skip()
        while not self._text.startswith("}", self._at):
            self._pair(path)
            self._skip()
            if self._text.startswith(",", self._at):
                self._at += 1
                self._skip()
        self._at += 1
