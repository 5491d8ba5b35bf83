"""`tutti sweep SWEEP [--quick] [--set KEY=VALUE] [--master URL] [--out DIR] [--compare OLD]`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from harness.sweep.compare import Move, moves, points_of
from harness.sweep.job import Where, carry_out_sweep, store_at
from harness.sweep.load import find_sweep, load_sweep
from harness.sweep.outcome import Swept, ended

PASS, VIOLATED, UNKNOWN = 0, 1, 2


def sweep(arguments: argparse.Namespace) -> int:
    """Carry it out, say what came of it."""
    spanned = load_sweep(find_sweep(arguments.sweep), arguments.settings, arguments.quick)
    before = None if arguments.compare is None else points_of(store_at(arguments.compare))
    name = spanned.sweep.name + ("-quick" if arguments.quick else "")
    where = Where(arguments.out or f"build/sweeps/{name}", arguments.master, arguments.jobs)
    swept = carry_out_sweep(spanned, where)
    moved = [] if before is None else list(moves(before, swept.points))
    if arguments.json:
        print(json.dumps(document(swept, moved), indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print("\n".join(summary(swept, moved, before is not None)))
    return status(swept)


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
