"""A sweep file: which scenario, over which parameters and seeds, what is measured, what is drawn. Strict TOML."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from captures.metrics import METRICS
from harness.scenario.model import Expect
from harness.scenario.problems import Path, did_you_mean
from harness.scenario.schema import Problems, read_table, write_table
from harness.sweep.formulas import FORMULAS

Setting = tuple[str, Any]  # ("topology.nodes", 10), as in --set topology.nodes=10
SCENARIO = "scenario"  # the axis of several scenarios
PDUS = ("capture", "type", "direction", "error", "frames", "bytes")  # columns of the table that SQL may be over


class Settings:
    """A table of settings; tables in it are the dots of the key."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[Setting, ...]:
        if not isinstance(value, Mapping):
            raise ValueError('settings are a table, e.g. { "topology.nodes" = 7 }')
        return tuple(dict(_flat(value)).items())

    def write(self, value: tuple[Setting, ...]) -> dict[str, Any]:
        return dict(value)


class Axes(Settings):
    """The same with a list of values for each key."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[Setting, ...]:
        axes = super().read(value, path, problems)
        for key, values in axes:
            if not isinstance(values, list) or not values:
                raise ValueError(f"{key} must be a list of values")
        return tuple((key, tuple(values)) for key, values in axes)

    def write(self, value: tuple[Setting, ...]) -> dict[str, Any]:
        return {key: list(values) for key, values in value}


class Points:
    """A list of tables of settings."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[tuple[Setting, ...], ...]:
        if not isinstance(value, list) or not value:
            raise ValueError("points are a list of tables: write [[point]]")
        found = tuple(Settings().read(one, path, problems) for one in value)
        for one in found[1:]:
            if [key for key, _ in one] != [key for key, _ in found[0]]:
                raise ValueError("all points of a list set the same keys, in the same order")
        return found

    def write(self, value: tuple[tuple[Setting, ...], ...]) -> list[dict[str, Any]]:
        return [dict(one) for one in value]


class Seeds:
    """How many, from 1; or a list."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[int, ...]:
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return tuple(range(1, value + 1))
        if isinstance(value, list) and value and all(type(one) is int and one >= 0 for one in value):
            if len(set(value)) < len(value):
                raise ValueError("a seed twice gives the same run twice")
            return tuple(value)
        raise ValueError("seeds are a number of seeds, or a list of them")

    def write(self, value: tuple[int, ...]) -> int | list[int]:
        return len(value) if value == tuple(range(1, len(value) + 1)) else list(value)


class ScenarioRef:
    """The name of a scenario, or the scenario itself as a table; or names, over which the sweep runs."""

    def read(self, value: Any, path: Path, problems: Problems) -> str | tuple[str, ...] | dict[str, Any]:
        if isinstance(value, str | dict):
            return value
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return tuple(value)
        raise ValueError("scenario is a name, a file, a list of these, or a table with all that a scenario has")

    def write(self, value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value


class OneOrMoreNames:
    """`"a"` or `["a", "b"]`."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
            raise ValueError("write a name or a list of names")
        return tuple(names)

    def write(self, value: tuple[str, ...]) -> Any:
        return value[0] if len(value) == 1 else list(value)


class Limits:
    """What a metric may be: the keys of an [[expect]]."""

    def read(self, value: Any, path: Path, problems: Problems) -> Expect | None:
        return read_table(Expect, {"metric": "-", **value}, path, problems, "a budget")

    def write(self, value: Expect) -> dict[str, Any]:
        return {key: one for key, one in write_table(value).items() if key != "metric"}


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[Setting]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


Names = Annotated[tuple[str, ...], OneOrMoreNames()]
SettingList = Annotated[tuple[Setting, ...], Settings()]
AxisList = Annotated[tuple[Setting, ...], Axes()]
PointList = Annotated[tuple[tuple[Setting, ...], ...], Points()]
SeedList = Annotated[tuple[int, ...], Seeds()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """[[metric]]: a metric by name; or SQL over the table `pdus` of a run, or over its `frames`."""

    name: str
    trials: str | None = None  # the metric is a share of as many as this metric counts: its interval is Wilson's
    sql: str | None = None  # one expression with aggregates
    over: Literal["pdus", "frames"] = "pdus"
    columns: tuple[str, ...] = ("type", "direction", "src", "time_ns", "captured", "error")  # of frames
    budget: Annotated[Expect, Limits()] | None = None

    def __post_init__(self) -> None:
        if self.sql is None and self.name not in METRICS:
            raise ValueError(f"name: no metric is called {self.name!r}{did_you_mean(self.name, METRICS)}")
        if self.sql is not None and self.name in METRICS:
            raise ValueError(f"name: {self.name!r} is a metric already: call the SQL by another name")
        if self.trials is not None and self.trials not in METRICS:
            raise ValueError(f"trials: no metric is called {self.trials!r}{did_you_mean(self.trials, METRICS)}")
        if self.sql is not None and self.over == "pdus":
            try:
                over_pdus(self.sql, [])
            except sqlite3.Error as error:
                raise ValueError(f"sql: {error}; the table pdus has {', '.join(PDUS)}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """[[figure]]: metrics over a parameter, a curve for each value of `series`, a panel for each value of `panels`.

    Over several parameters, there is a panel for each; `only` says what the others are there.
    """

    name: str
    title: str = ""
    x: Names
    x_label: str = ""
    y: Names
    y_label: str = ""
    series: str | None = None
    panels: str | None = None
    only: SettingList = ()  # the points with these values; that of a panel's own parameter does not count in it
    formulas: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False

    def __post_init__(self) -> None:
        for name in self.formulas:
            if name not in FORMULAS:
                raise ValueError(f"formulas: there is no {name!r}{did_you_mean(name, FORMULAS)}")
        if not self.name or set(self.name) - set("abcdefghijklmnopqrstuvwxyz0123456789-"):
            raise ValueError("name: a figure's name is made of a-z, 0-9 and '-': it becomes a file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    """[quick]: what `--quick` changes. Its settings come on top, its axes take the place of those with their keys."""

    seeds: SeedList | None = None
    set_: SettingList = ()
    grid: AxisList = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Everything that a sweep file says."""

    name: str
    description: str = ""
    scenario: Annotated[str | tuple[str, ...] | dict[str, Any], ScenarioRef()]
    seeds: SeedList = (1,)
    keep: bool = False  # the run directories with their captures
    tolerate: Annotated[tuple[str, ...], OneOrMoreNames()] = ()  # properties whose violation is a finding, no failure
    set_: SettingList = ()
    grid: AxisList = ()
    point: PointList = ((),)
    quick: Quick = Quick()
    metric: tuple[Measure, ...]
    figure: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        if not self.name or set(self.name) - set("abcdefghijklmnopqrstuvwxyz0123456789-"):
            raise ValueError("name: a sweep's name is made of a-z, 0-9 and '-': its directory is called by it")
        names = [one.name for one in self.metric]
        if len(set(names)) < len(names):
            raise ValueError("metric: two of them have the same name")
        axes = self.axes
        for figure in self.figure:
            for key in (*figure.x, figure.series, figure.panels, *(key for key, _ in figure.only)):
                if key is not None and key not in axes:
                    raise ValueError(f"figure {figure.name}: {key!r} is not varied{did_you_mean(key, axes)}")
            for name in figure.y:
                if name not in names:
                    raise ValueError(f"figure {figure.name}: {name!r} is not measured{did_you_mean(name, names)}")

    @property
    def axes(self) -> tuple[str, ...]:
        """The keys that differ between points."""
        return (*self.names, *(key for key, _ in self.grid), *(key for key, _ in self.point[0]))

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The axis of several scenarios, if there are several."""
        return {SCENARIO: self.scenario} if isinstance(self.scenario, tuple) else {}


def over_pdus(expression: str, rows: list[tuple[Any, ...]]) -> float | None:
    """The value of an SQL expression over the PDUs of one run. SQLite's SQL: a quotient of counts needs a `1.0 *`."""
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE pdus ({', '.join(PDUS)})")
        database.executemany(f"INSERT INTO pdus VALUES ({', '.join('?' * len(PDUS))})", rows)  # noqa: S608
        (value,) = database.execute(f"SELECT ({expression}) FROM pdus").fetchone()  # noqa: S608
    database.close()
    return None if value is None else float(value)
