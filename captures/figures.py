"""Pictures of measurements beside formulas: SVG, PNG and the numbers as CSV. Equal numbers give equal bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Style = Literal["measured", "printed", "corrected", "simulated"]

# Told apart without colours too: measured points carry bars, formulas differ in their dashes.
_DASHES: dict[str, Any] = {
    "measured": "-",
    "printed": (0, (1, 1.5)),
    "corrected": (0, (5, 2)),
    "simulated": (0, (3, 1, 1, 1)),
}
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c564b")
COMMON = 6  # the colour of what belongs to all curves: black
_MARKERS = "osD^v<>p"
_MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Dot:
    """One value with its interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over x. Curves with one colour belong together."""

    label: str
    style: Style
    dots: tuple[Dot, ...]
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    """One system of axes."""

    title: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels beside each other, on one scale."""

    name: str
    title: str
    x_label: str
    y_label: str
    panels: tuple[Panel, ...]
    log_x: bool = False
    log_y: bool = False


def draw(picture: Picture) -> dict[str, bytes]:
    """The picture as files, by their endings."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings = {
        "svg.hashsalt": picture.name,
        "svg.fonttype": "none",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "path.simplify": True,
    }
    with rc_context(settings):
        figure = Figure(figsize=(4.4 * len(picture.panels) + 3.2, 4.4), layout="constrained")
        axes = figure.subplots(1, len(picture.panels), sharey=True, squeeze=False)[0]
        for place, panel in zip(axes, picture.panels, strict=True):
            _panel(place, picture, panel)
        if not picture.log_y:
            axes[0].set_ylim(bottom=0)  # once all panels are drawn: they have one scale, and fixing an end freezes it
        axes[0].set_ylabel(picture.y_label)
        if picture.title:
            figure.suptitle(picture.title)
        _legend(figure, axes, picture)
        files = {"csv": numbers(picture).encode()}
        for ending, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
            stream = io.BytesIO()
            figure.savefig(stream, format=ending, metadata=metadata, dpi=110)
            files[ending] = stream.getvalue()
    return files


def _panel(axes: Any, picture: Picture, panel: Panel) -> None:
    for curve in panel.curves:
        colour = _COLOURS[curve.colour % len(_COLOURS)]
        xs, ys = [dot.x for dot in curve.dots], [dot.y for dot in curve.dots]
        if curve.style == "measured":
            bars = [
                [dot.y - (dot.y if dot.low is None else dot.low) for dot in curve.dots],
                [(dot.y if dot.high is None else dot.high) - dot.y for dot in curve.dots],
            ]
            axes.errorbar(
                xs,
                ys,
                yerr=bars,
                label=curve.label,
                color=colour,
                marker=_MARKERS[curve.colour % len(_MARKERS)],
                markersize=4,
                linewidth=1.4,
                capsize=2.5,
                elinewidth=1,
                zorder=3,
            )
        else:
            axes.plot(xs, ys, label=curve.label, color=colour, linestyle=_DASHES[curve.style], linewidth=1.3)
            known = [(dot.x, dot.low, dot.high) for dot in curve.dots if dot.low is not None and dot.high is not None]
            if known:  # a sample itself
                axes.fill_between(*zip(*known, strict=True), color=colour, alpha=0.15, linewidth=0)
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(picture.x_label)
    axes.grid(alpha=0.25, linewidth=0.6)
    if picture.log_x:
        axes.set_xscale("log")
    if picture.log_y:
        axes.set_yscale("log")
    _ticks(axes, sorted({dot.x for curve in panel.curves if curve.style == "measured" for dot in curve.dots}))


def _ticks(axes: Any, xs: Sequence[float]) -> None:
    """Marks where something was measured."""
    if 0 < len(xs) <= _MOST_TICKS:
        axes.set_xticks(xs, [f"{x:g}" for x in xs])
        axes.minorticks_off()


def _legend(figure: Any, axes: Sequence[Any], picture: Picture) -> None:
    """Each label once, beside the panels: what is measured, each with its formulas."""
    from matplotlib.lines import Line2D

    curves = [curve for panel in picture.panels for curve in panel.curves]
    rank = {curve.label: curve.colour for curve in curves}
    found: dict[str, Any] = {}
    for place in axes:
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    for curve in curves:
        if curve.colour != rank[curve.label]:  # one name for the lines of several colours
            found[curve.label] = Line2D([], [], color="0.4", linestyle=_DASHES[curve.style], linewidth=1.3)
    measured = {curve.label for curve in curves if curve.style == "measured"}
    labels = sorted(found, key=lambda label: (rank[label], label not in measured))
    handles = [found[label] for label in labels]
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside right center", fontsize=8, handlelength=2.6)


def numbers(picture: Picture) -> str:
    """Everything that is drawn, as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["panel", "curve", "kind", "x", "y", "low", "high"])
    for panel in picture.panels:
        for curve in panel.curves:
            for dot in curve.dots:
                values = ["" if one is None else f"{one:.6g}" for one in (dot.x, dot.y, dot.low, dot.high)]
                writer.writerow([panel.title, curve.label, curve.style, *values])
    return stream.getvalue()
