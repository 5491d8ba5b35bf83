"""The part of a page that holds a diagram: its controls, and the columns that its scripts draw."""

from __future__ import annotations

from harness.report.blob import pack
from harness.report.page import escape
from harness.report.scene import Scene, numbers

SCRIPTS = ("columns.js", "wire.js", "axis.js", "model.js", "look.js", "diagram.js", "states.js", "explorer.js")
STYLES = ("report.css",)
_BUTTONS = (
    ("out", "−", "zoom out (-)"),
    ("in", "+", "zoom in (+)"),
    ("all", "whole run", "the whole run (0)"),
    ("previous", "‹", "the event before (←)"),
    ("next", "›", "the next event (→)"),
)
_KEYS = (
    ("+  −  0", "zoom in, out, whole run"),
    ("[  ]", "move left, right"),
    ("←  →", "event before, after"),
    ("↑  ↓", "nearest event of another node"),
    ("/", "search"),
    ("n  N", "next, previous found"),
    ("f", "the next failure"),
    ("c", "causal order and back"),
    ("Esc", "select nothing"),
    ("wheel, drag", "zoom, move"),
    ("click", "dissect, with frame and capture"),
    ("shift-click on a filter", "only this"),
)


def columns_of(scene: Scene, parting_ns: int | None = None) -> str:
    """What the scripts need of a scene."""
    return pack(*numbers(scene, parting_ns))


def explorer(name: str, label: str, *, states: bool = True) -> str:
    """The controls of one diagram; `name` is the id of its data."""
    buttons = "".join(
        f'<button type="button" data-do="{do}" title="{escape(title)}" aria-label="{escape(title)}">{text}</button>'
        for do, text, title in _BUTTONS
    )
    return (
        f'<section class="explorer panel" data-columns="{escape(name)}" aria-label="{escape(label)}">'
        '<div class="bar screen"><input type="search" data-part="search" '
        'placeholder="search: 2:17, RST_PAK, n3, lost, again, alarm, failing, n1.pcap#12" aria-label="search">'
        '<span class="count" data-part="count" role="status"></span>'
        '<button type="button" data-do="hitBack" title="previous found (N)" aria-label="previous found">▲</button>'
        '<button type="button" data-do="hit" title="next found (n)" aria-label="next found">▼</button>'
        '<span class="space"></span>'
        '<label class="soft">time <select data-part="mode"><option value="folded">true, idle folded</option>'
        '<option value="scale">true, to scale</option><option value="causal">causal order</option></select></label>'
        f"{buttons}</div>"
        '<div class="legend" data-part="legend"></div>'
        '<div class="stage"><div class="canvas"><div data-part="diagram" tabindex="0" role="application" '
        'aria-label="space-time diagram: one line per node, time runs to the right"></div>'
        '<div class="under" data-part="view" role="status"></div><div class="tip" data-part="tip" hidden></div>'
        '<div class="hair" data-part="hair" hidden></div>'
        + ('<div class="states" data-part="states"></div>' if states else "")
        + '</div><aside data-part="details" aria-live="polite" class="screen"><p class="soft">Click a PDU or a '
        "NOTE: what it says, where it was captured, and what became of each copy.</p></aside></div></section>"
    )


def keys() -> str:
    """Which keys do what."""
    items = "".join(f"<li><kbd>{escape(key)}</kbd> {escape(what)}</li>" for key, what in _KEYS)
    return f'<ul class="keys screen">{items}</ul>'
