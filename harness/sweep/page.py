"""One page for a sweep, without anything from elsewhere: figures, formulas, all points, all runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from harness.report.page import escape, page
from harness.scenario import dump
from harness.sweep.load import text_of
from harness.sweep.model import Figure
from harness.sweep.outcome import ended
from harness.sweep.pictures import short

if TYPE_CHECKING:
    from harness.sweep.outcome import Swept

_STYLE = """
.sweep { max-width: 1100px; margin: 1.5rem auto; padding: 0 1rem; }
.sweep figure { margin: 1rem 0; } .sweep figure svg { max-width: 100%; height: auto; background: #fff; }
.sweep table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
.sweep th, .sweep td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; }
.sweep .bad { color: #a40000; font-weight: 600; } .sweep .scroll { max-height: 32rem; overflow: auto; }
.sweep pre { overflow: auto; font-size: 12px; }
"""


def sweep_page(swept: Swept, figures: Sequence[tuple[Figure, str]], beside: Sequence[dict[str, Any]]) -> str:
    """The page as text."""
    sweep = swept.spanned.sweep
    parts = [f"<p>{escape(sweep.description)}</p><p>{_counts(swept)}</p>"]
    parts += [_figure(figure, svg) for figure, svg in figures]
    if beside:
        parts.append("<h2>Beside the formulas</h2>" + _beside(swept, beside))
    parts += [
        "<h2>Points</h2>" + _points(swept),
        "<h2>Runs</h2>" + _runs(swept),
        "<h2>The scenario of the first run</h2><pre>" + escape(dump(swept.spanned.scenarios[0][0])) + "</pre>",
    ]
    body = f'<style>{_STYLE}</style><main class="sweep">{"".join(parts)}</main>'
    return page(title=f"sweep {sweep.name}", header=f"<h1>{escape(sweep.name)}</h1>", body=body)


def _counts(swept: Swept) -> str:
    words = [f"{len(swept.spanned.points)} points × {len(swept.spanned.sweep.seeds)} seeds", ended(swept)]
    if swept.left:
        words.append(f"{len(swept.left)} metrics left their budget")
    return escape(", ".join(words))


def _figure(figure: Figure, svg: str) -> str:
    drawing = svg[svg.index("<svg") :]
    files = " · ".join(f'<a href="figures/{figure.name}.{end}">{end.upper()}</a>' for end in ("svg", "png", "csv"))
    return f"<h2>{escape(figure.title or figure.name)}</h2><figure>{drawing}<figcaption>{files}</figcaption></figure>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></div>'


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _interval(row: dict[str, Any]) -> str:
    return "" if row["low"] is None else f"{row['low']:.4g} – {row['high']:.4g}"


def _parameters(swept: Swept, number: int) -> list[str]:
    return [escape(text_of(value)) for _, value in swept.spanned.points[number].values]


def _axes(swept: Swept) -> list[str]:
    return [short(key) for key in swept.spanned.sweep.axes]


def _beside(swept: Swept, rows: Sequence[dict[str, Any]]) -> str:
    head = [*_axes(swept), "metric", "measured", "95 %", "formula", "kind", "value", "measured / formula"]
    return _table(
        head,
        (
            [
                *_parameters(swept, row["point"]),
                escape(row["metric"]),
                _number(row["value"]),
                _interval(row),
                escape(row["formula"]),
                row["style"],
                _number(row["expected"]),
                f"{row['value'] / row['expected']:.2f}" if row["expected"] else "",
            ]
            for row in rows
        ),
    )


def _points(swept: Swept) -> str:
    head = [*_axes(swept), "metric", "value", "95 %", "interval", "runs", "failed", "budget"]
    return _table(
        head,
        (
            [
                *_parameters(swept, row["point"]),
                escape(row["metric"]),
                _number(row["value"]),
                _interval(row),
                row["interval"],
                str(row["runs"]),
                str(row["failed"] or ""),
                f'<span class="bad">{row["budget"]}</span>' if row["budget"] == "left" else row["budget"],
            ]
            for row in swept.points
        ),
    )


def _runs(swept: Swept) -> str:
    kept = swept.spanned.sweep.keep
    rows = []
    for one in swept.done:
        name = escape(one.key)
        ok = one.record["outcome"] == "pass"
        outcome = one.record["outcome"] if ok else f'<span class="bad">{one.record["outcome"]}</span>'
        rows.append(
            [
                *_parameters(swept, one.point.number),
                str(one.seed),
                f'<a href="runs/{name}/">{name}</a>' if kept else name,
                outcome,
                escape(one.record["reason"]),
            ]
        )
    return _table([*_axes(swept), "seed", "run", "outcome", "reason"], rows)
