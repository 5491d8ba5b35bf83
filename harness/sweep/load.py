"""From a sweep file to its points and their scenarios. All that is wrong is told at once, as for scenarios."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.scenario import Located, Scenario, ScenarioError, load
from harness.scenario.document import Document, parse
from harness.scenario.dump import inline
from harness.scenario.find import find
from harness.scenario.load import resolve
from harness.scenario.overrides import override
from harness.scenario.problems import Problem, did_you_mean
from harness.scenario.schema import read_table
from harness.scenario.units import UNITS
from harness.sweep.model import SCENARIO, Setting, Sweep

SHIPPED = Path(__file__).resolve().parents[1] / "sweeps"


@dataclass(frozen=True, slots=True)
class Point:
    """One choice of all parameters."""

    number: int
    values: tuple[Setting, ...]

    @property
    def name(self) -> str:
        return " ".join(f"{key}={text_of(value)}" for key, value in self.values) or "all"

    def value(self, key: str) -> Any:
        """Of one parameter."""
        return dict(self.values)[key]


@dataclass(frozen=True, slots=True)
class Spanned:
    """A sweep with the scenario of every point and seed."""

    sweep: Sweep
    points: tuple[Point, ...]
    scenarios: tuple[tuple[Scenario, ...], ...]  # per point, per seed

    def runs(self) -> Iterator[tuple[Point, Scenario]]:
        """All of them, all points with the first seed first: what is there early covers everything."""
        for of_seed in zip(*self.scenarios, strict=True):
            yield from zip(self.points, of_seed, strict=True)


def shipped() -> dict[str, Path]:
    """The sweeps that come with tutti, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def find_sweep(word: str) -> Path:
    """The file meant."""
    known = shipped()
    if Path(word).exists() or word.endswith(".toml"):
        return Path(word)
    if word in known:
        return known[word]
    reason = f"there is no such file, and no sweep of that name{did_you_mean(word, known)}"
    raise ScenarioError([Located(word, 0, reason)])


def load_sweep(path: Path, settings: Iterable[str] = (), quick: bool = False) -> Spanned:
    """The sweep in a file, with all its scenarios checked."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError([Located(str(path), 0, f"cannot be read: {error}")]) from None
    document = parse(text, str(path))
    override(document, settings)
    problems = list[Problem]()
    sweep = read_table(Sweep, document.values, (), problems, "a sweep")
    if sweep is None:
        raise ScenarioError(document.locate(problem.path, problem.reason) for problem in problems)
    return span(quickened(sweep) if quick else sweep, document, path)


def quickened(sweep: Sweep) -> Sweep:
    """The small variant."""
    quick = sweep.quick
    axes = {**dict(sweep.grid), **{key: values for key, values in quick.grid if key in dict(sweep.grid)}}
    return replace(
        sweep,
        seeds=quick.seeds or sweep.seeds,
        set_=tuple({**dict(sweep.set_), **dict(quick.set_)}.items()),
        grid=tuple(axes.items()),
    )


def span(sweep: Sweep, document: Document, path: Path) -> Spanned:
    """All points, in the order of the file: the last axis changes first."""
    points, scenarios = [], []
    axes = [[(key, value) for value in values] for key, values in (*sweep.names.items(), *sweep.grid)]
    for number, (chosen, listed) in enumerate(itertools.product(itertools.product(*axes), sweep.point)):
        point = Point(number, (*chosen, *listed))
        settings = (*sweep.set_, *point.values)
        words = [f"{key}={text_of(value)}" for key, value in settings if key not in sweep.names]
        points.append(point)
        named = point.value(SCENARIO) if sweep.names else sweep.scenario
        assert not isinstance(named, tuple)
        first = _scenario(named, document, path, words, sweep.seeds[0])
        scenarios.append(tuple(replace(first, seed=seed) for seed in sweep.seeds))
    return Spanned(sweep, tuple(points), tuple(scenarios))


def _scenario(named: str | dict[str, Any], document: Document, path: Path, words: list[str], seed: int) -> Scenario:
    if isinstance(named, str):
        beside = path.parent / named
        file = beside if beside.suffix == ".toml" and beside.exists() else find(named)
        return load(file, settings=words, seed=seed)
    lines = {where[1:]: line for where, line in document.lines.items() if where[:1] == ("scenario",)}
    inner = Document(document.name, copy.deepcopy(named), lines)
    return resolve(inner, settings=words, seed=seed)


def text_of(value: Any) -> str:
    """A value as it stands behind KEY=."""
    return value if isinstance(value, str) else inline(value)


_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")


def number_of(value: Any) -> float | None:
    """A parameter as a number to draw: shares as such, times in ms, rates in their unit; None if it is no quantity."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return float(value)
    if _NUMBER.fullmatch(value):
        return float(value)
    for name, scale in (("share", 1.0), ("duration", 1e-6), ("rate", 1.0), ("bits", 1.0), ("drift", 1e-3)):
        try:
            return UNITS[name].read(value) * scale
        except ValueError:
            continue
    return None
