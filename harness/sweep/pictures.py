"""From points to pictures: which curve is which, with its interval, and the formulas beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from captures.figures import COMMON, Curve, Dot, Panel, Picture
from harness.scenario import Scenario
from harness.sweep.formulas import FORMULAS, Formula
from harness.sweep.load import Point, Spanned, number_of, text_of
from harness.sweep.model import Figure
from harness.sweep.statistics import Interval, difference
from harness.sweep.tables import Rows, interval_of

_SHORT = {
    "topology.nodes": "n",
    "impair.0.loss": "f",
    "delta.max_cb": "MAX_CB",
    "workload.destinations.fraction": "d/n",
    "him.adj": "neighbours",
    "workload.rate": "rate",
    "him.rules": "rules",
    "him.maxfail": "maxfail",
    "him.q": "q",
    "him.rtry": "rtry",
    "workload.destinations": "to",
    "st.rules": "rules",
}


def short(key: str) -> str:
    """A parameter as papers call it."""
    return _SHORT.get(key, key)


def words_of(value: Any) -> str:
    """The value of a parameter in a legend; of tables what they hold, without the names of their keys."""
    if isinstance(value, Mapping):
        return " ".join(words_of(one) for one in value.values())
    if isinstance(value, list):
        return ", ".join(words_of(one) for one in value) or "none"
    return text_of(value)


def picture(spanned: Spanned, figure: Figure, rows: Rows) -> Picture:
    """One figure of a sweep."""
    found = {(row["point"], row["metric"]): row for row in rows}
    panels = [
        Panel(_panel_title(figure, x, value), tuple(_curves(spanned, figure, found, x, value)))
        for x in figure.x
        for value in _values(spanned, figure.panels)
    ]
    return Picture(
        figure.name,
        figure.title,
        figure.x_label or ", ".join(map(short, figure.x)),
        figure.y_label or ", ".join(figure.y),
        tuple(panels),
        figure.log_x,
        figure.log_y,
    )


def _panel_title(figure: Figure, x: str, value: Any) -> str:
    parameter = [short(x)] if len(figure.x) > 1 else []
    return ", ".join([*parameter, *([] if value is None else [f"{short(figure.panels or '')} = {words_of(value)}"])])


def _values(spanned: Spanned, key: str | None) -> list[Any]:
    if key is None:
        return [None]
    found = [point.value(key) for point in spanned.points]
    return [value for at, value in enumerate(found) if value not in found[:at]]  # tables have no hash


def _chosen(spanned: Spanned, figure: Figure, x: str, panel: Any, series: Any) -> list[Point]:
    """The points of one curve, along x. Where other parameters vary as well, they all lie on it."""
    points = [
        point
        for point in spanned.points
        if (figure.panels is None or point.value(figure.panels) == panel)
        and (figure.series is None or point.value(figure.series) == series)
        and all(key == x or point.value(key) == value for key, value in figure.only)
    ]
    return sorted(points, key=lambda point: (_x(x, point), point.number))


def _x(x: str, point: Point) -> float:
    value = number_of(point.value(x))
    return float(point.number) if value is None else value


def _curves(
    spanned: Spanned, figure: Figure, found: Mapping[tuple[int, str], Any], x: str, panel: Any
) -> Iterator[Curve]:
    by_series = [(value, _chosen(spanned, figure, x, panel, value)) for value in _values(spanned, figure.series)]
    said = {
        name: [tuple(_formula(spanned, x, points, FORMULAS[name])) for _, points in by_series]
        for name in figure.formulas
    }
    common = [name for name in figure.formulas if _says_one_thing(said[name])]
    colour = 0
    for number, (series, points) in enumerate(by_series):
        of = "" if figure.series is None else f"{short(figure.series)} = {words_of(series)}"
        for metric in figure.y:
            label = ", ".join(part for part in (metric if len(figure.y) > 1 else "", of) if part) or "measured"
            dots = [
                Dot(_x(x, point), row["value"], row["low"], row["high"])
                for point in points
                if (row := found.get((point.number, metric))) is not None
            ]
            yield Curve(label, "measured", tuple(dots), colour)
            for name in figure.formulas:
                one, expected = FORMULAS[name], said[name][number]
                if one.metric == metric and name not in common and expected:
                    yield Curve(_label(one, of), one.style, expected, colour)
            colour += 1
    for name in common:
        yield Curve(_label(FORMULAS[name], ""), FORMULAS[name].style, said[name][0], COMMON)


def _says_one_thing(said: list[tuple[Dot, ...]]) -> bool:
    """Is a formula the same for several series? Then it is drawn once."""
    return len(said) > 1 and said[0] != () and all(each == said[0] for each in said)


def _label(one: Formula, of: str) -> str:
    return f"{one.style}: {one.label}" + (f", {of}" if of else "")


def _formula(spanned: Spanned, x: str, points: list[Point], one: Formula) -> Iterator[Dot]:
    for point in points:
        value = one.of(scenario_of(spanned, point))
        if value is not None:
            expected = expectation(one, scenario_of(spanned, point), value)
            yield Dot(_x(x, point), expected.value, expected.low, expected.high)


def expectation(one: Formula, scenario: Scenario, value: float) -> Interval:
    """What a formula says, with the interval of those that are samples themselves."""
    half = one.error(scenario) if one.error is not None else None
    return Interval(value) if half is None else Interval(value, max(0.0, value - half), value + half)


def scenario_of(spanned: Spanned, point: Point) -> Scenario:
    """Of the first seed: formulas do not depend on it."""
    return spanned.scenarios[point.number][0]


def beside(spanned: Spanned, rows: Rows) -> Iterator[dict[str, Any]]:
    """Per point and metric that has formulas: measured, expected, and by how much they differ."""
    drawn = list(dict.fromkeys(name for figure in spanned.sweep.figure for name in figure.formulas))
    for row in rows:
        for name in drawn:
            one = FORMULAS[name]
            if one.metric != row["metric"]:
                continue
            scenario = scenario_of(spanned, spanned.points[row["point"]])
            value = one.of(scenario)
            if value is not None:
                inside = _agree(interval_of(row), expectation(one, scenario, value))
                yield {**row, "formula": name, "style": one.style, "expected": value, "inside": inside}


def _agree(measured: Interval, expected: Interval) -> bool | None:
    """Within the sampling error of both. None where nothing is known about the measured one."""
    if measured.low is None or measured.high is None:
        return None
    if expected.low is None or expected.high is None:
        return measured.low <= expected.value <= measured.high
    apart = difference(measured, expected)
    assert apart.low is not None and apart.high is not None
    return apart.low <= 0 <= apart.high
