"""The diagrams of docs/states.md, read from there and drawn as SVG: states on an ellipse, an arrow for each change."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from harness.closure import ROOT
from harness.explore.novelty import BEGIN
from harness.report.page import escape

PAGE = ROOT / "docs" / "states.md"
Seen = dict[tuple[str, str], set[str]]  # (from, to) -> by what; nothing: that is where a machine begins
_DIAGRAM = re.compile(r"^## (\w+), (.*?)\n(.*?)```mermaid\n(.*?)```", re.MULTILINE | re.DOTALL)
_WIDTH, _HEIGHT, _BOX_W, _BOX_H = 760, 430, 92, 30
_BEND = 26.0  # how far an arrow swings out, so that the one back has its own way


def drawn() -> dict[str, Seen]:
    """By protocol, what its diagram shows."""
    found: dict[str, Seen] = {}
    for name, _, _, text in _DIAGRAM.findall(PAGE.read_text(encoding="utf-8")):
        diagram = found[name.lower()] = {}
        for line in text.splitlines():
            change, _, triggers = line.strip().partition(" : ")
            if " --> " in change:
                one, _, other = change.partition(" --> ")
                diagram[one, other] = set(filter(None, triggers.split(", ")))
    return found


def svg(diagram: Seen, counts: Mapping[tuple[str, str], int]) -> str:
    """The diagram, with how often each change was seen; what was not stands out."""
    states = sorted({state for change in diagram for state in change} - {BEGIN})
    places = {
        state: (
            _WIDTH / 2 + (_WIDTH / 2 - 110) * math.sin(2 * math.pi * number / len(states)),
            _HEIGHT / 2 - (_HEIGHT / 2 - 45) * math.cos(2 * math.pi * number / len(states)),
        )
        for number, state in enumerate(states)
    }
    places[BEGIN] = (_WIDTH / 2, _HEIGHT / 2)
    reached = {other for (_, other), count in counts.items() if count}
    parts = [_arrow(places[a], places[b], counts.get((a, b), 0), f"{a} → {b}") for a, b in sorted(diagram)]
    parts += [_state(*places[state], state, state in reached) for state in states]
    parts.append(f'<circle class="begin" cx="{_WIDTH / 2:g}" cy="{_HEIGHT / 2:g}" r="7"/>')
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="{name}" d="M0 0L8 4L0 8z"/></marker>'
        for name in ("seen", "unseen")
    )
    return (
        f'<svg class="diagram" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><defs>{heads}</defs>{"".join(parts)}</svg>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], count: int, name: str) -> str:
    (x1, y1), (x2, y2) = start, end
    length = math.hypot(x2 - x1, y2 - y1)
    across = ((y1 - y2) / length, (x2 - x1) / length)  # to the right of who walks along it
    middle = ((x1 + x2) / 2 + 2 * _BEND * across[0], (y1 + y2) / 2 + 2 * _BEND * across[1])
    x1, y1 = start if name.startswith(BEGIN) else _border(start, middle)
    x2, y2 = _border(end, middle)
    label = (x1 / 4 + middle[0] / 2 + x2 / 4, y1 / 4 + middle[1] / 2 + y2 / 4)
    kind = "seen" if count else "unseen"
    return (
        f'<g><title>{escape(name)}: {count}</title><path class="way {kind}" marker-end="url(#{kind})" '
        f'd="M{x1:.1f} {y1:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {x2:.1f} {y2:.1f}"/>'
        f'<text class="{kind}" x="{label[0]:.1f}" y="{label[1] + 4:.1f}">{count}</text></g>'
    )


def _border(box: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from the middle of a box to somewhere leaves it."""
    dx, dy = towards[0] - box[0], towards[1] - box[1]
    share = min((_BOX_W / 2 + 3) / abs(dx) if dx else math.inf, (_BOX_H / 2 + 3) / abs(dy) if dy else math.inf)
    return box[0] + dx * share, box[1] + dy * share


def _state(x: float, y: float, name: str, reached: bool) -> str:
    return (
        f'<g class="state{"" if reached else " missed"}"><rect x="{x - _BOX_W / 2:.1f}" y="{y - _BOX_H / 2:.1f}" '
        f'width="{_BOX_W}" height="{_BOX_H}" rx="8"/><text x="{x:.1f}" y="{y + 5:.1f}">{escape(name)}</text></g>'
    )
