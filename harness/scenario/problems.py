"""What is wrong with a scenario: every reason at once, each at its place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]  # ("fault", 1, "node"): where a value stands in the document


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a scenario is refused."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Located:
    """A problem with the place where people find it."""

    place: str  # "st-loss.toml:14", or "--set topology.nodes"
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


class ScenarioError(Exception):
    """A scenario that is refused, with all the reasons."""

    def __init__(self, problems: Iterable[Located]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: one.line))
        super().__init__("\n".join(map(str, self.problems)))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or which words there are if none is near."""
    words = sorted(set(known))
    near = difflib.get_close_matches(word, words, n=1) or [one for one in words if one.lower() == word.lower()]
    if near:
        return f"; did you mean {near[0]!r}?"
    if 0 < len(words) <= 16:
        return f" (there is {', '.join(words)})"
    return ""
