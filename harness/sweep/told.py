"""What came of a sweep: in words, as JSON, as an exit status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.status import PASS, UNKNOWN, VIOLATED
from harness.sweep.compare import Move
from harness.sweep.outcome import Swept, ended


def status(swept: Swept) -> int:
    """1: not as expected somewhere, or out of its budget; 2: some runs say nothing."""
    if swept.violated or swept.left:
        return VIOLATED
    return UNKNOWN if swept.count("unknown") or swept.count("failed") else PASS


def document(swept: Swept, moved: Sequence[Move]) -> dict[str, Any]:
    """For programs."""
    return {
        "sweep": swept.spanned.sweep.name,
        "out": str(swept.store),
        "runs": {name: swept.count(name) for name in ("pass", "fail", "unknown", "failed")},
        "points": swept.points,
        "compared": [move.document() for move in moved],
    }


def summary(swept: Swept, moved: Sequence[Move], compared: bool) -> list[str]:
    """For people."""
    lines = []
    for row in swept.points:
        interval = "" if row["low"] is None else f" [{row['low']:.4g}, {row['high']:.4g}]"
        budget = {"": "", "kept": ", in its budget", "left": ", OUT OF ITS BUDGET"}[row["budget"]]
        lines.append(f"{row['parameters']}: {row['metric']} {row['value']:.4g}{interval}{budget}")
    violated = swept.violated
    for one in swept.done:
        if one in violated or one.record["outcome"] in ("unknown", "failed"):
            lines.append(f"{one.point.name} seed {one.seed}: {one.record['outcome']}: {one.record['reason']}")
    if compared:
        lines.append("")
        lines += [str(move) for move in moved if move.moved is not False]
        still = sum(move.moved is False for move in moved)
        lines.append(f"{still} of {len(moved)} have not moved")
    lines.append(f"\n{len(swept.done)} runs: {ended(swept)}")
    lines.append(f"tables, figures, page: {swept.store}/index.html")
    return lines
