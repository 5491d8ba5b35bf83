"""The page that report, comparison and sweep have in common: one file, everything inline, no request ever leaves it.

Bokeh's browser code comes from its wheel. It is driven from JavaScript, not from Bokeh's Python side: that one costs a
second to import, numbers its models anew in every process (equal runs would give different bytes) and writes every
coordinate as text, where a page of 100,000 events wants typed arrays.

A Content-Security-Policy forbids every request, and every script but those named by their hashes; what a scenario or a
payload says is text, escaped here once more.
"""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.util
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_ASSETS = Path(__file__).parent / "assets"
# A small score: three voices, one beat. Drawn here, as everything is.
_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path d='M1 3h14M1 8h14M1 13h14' stroke='#9aa2ad'/>"
    "<path d='M4 3l6 5M4 3l9 10' stroke='#0a5c9e' stroke-width='1.4'/><circle cx='4' cy='3' r='2.2' fill='#0a5c9e'/>"
    "<circle cx='10' cy='8' r='1.8' fill='#009e73'/><circle cx='13' cy='13' r='1.8' fill='#009e73'/></svg>"
)


def escape(text: object) -> str:
    """Any text as HTML, in contents and attributes."""
    return html.escape(str(text), quote=True)


@cache
def asset(name: str) -> str:
    """A script or style sheet of ours."""
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def bokeh_scripts() -> tuple[str, ...]:
    """Bokeh's browser code, as its wheel brings it."""
    spec = importlib.util.find_spec("bokeh")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("bokeh is not installed")
    where = Path(spec.submodule_search_locations[0]) / "server/static/js"
    return tuple((where / name).read_text(encoding="utf-8") for name in ("bokeh.min.js", "bokeh-api.min.js"))


def page(
    *,
    title: str,
    header: str,
    body: str,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Mapping[str, str] | None = None,
    start: str = "",
    bokeh: bool = False,
    classes: str = "",
) -> str:
    """A whole page. `header` and `body` are HTML; `styles` and `scripts` names of assets; `data` are texts that scripts
    find by their id; `start` is the script that runs when all is there."""
    code = [asset("page.js"), *(bokeh_scripts() if bokeh else ()), *map(asset, scripts), *([start] if start else [])]
    code = [_inline(one) for one in code]
    style = "\n".join(map(asset, ("page.css", *styles)))
    blocks = [
        f'<script type="text/plain" id="{escape(name)}">{_inline(text)}</script>' for name, text in (data or {}).items()
    ]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, code))}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{escape(title)}</title>",
        f'<link rel="icon" href="data:image/svg+xml;base64,{base64.b64encode(_ICON.encode()).decode()}">',
        f"<style>{style}</style>",
        f"<script>{code[0]}</script></head>",
        f'<body class="{escape(classes)}"><header class="page">{header}'
        '<button class="screen" id="look" type="button" title="light or dark">◐</button></header>',
        f"<main>{body}</main>",
        *blocks,
        *(f"<script>{one}</script>" for one in code[1:]),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _inline(code: str) -> str:
    """Nothing in it ends the element it stands in."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", code, flags=re.IGNORECASE)


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), classes: str = "") -> str:
    """A table whose cells are HTML; `numbers` are the columns set to the right."""

    def cell(tag: str, index: int, content: str) -> str:
        return f"<{tag}{' class=n' if index in numbers else ''}>{content}</{tag}>"

    top = "".join(cell("th", index, escape(name)) for index, name in enumerate(head))
    lines = ["<tr>" + "".join(cell("td", index, one) for index, one in enumerate(row)) + "</tr>" for row in rows]
    thead = f"<thead><tr>{top}</tr></thead>" if head else ""
    return f'<div class="scroll"><table class="{classes}">{thead}<tbody>{"".join(lines)}</tbody></table></div>'


def badge(outcome: str, text: str = "") -> str:
    """pass, fail or unknown, in its colour."""
    return f'<span class="mark {escape(outcome)}">{escape(text or outcome)}</span>'
