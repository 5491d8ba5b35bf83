"""What a person, or a program, is told of a search."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.explore.found import Found
from harness.explore.search import Tally
from harness.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class Result:
    """A failure, its file, and how the emulated network differs ("": not at all; None: nobody looked)."""

    found: Found
    path: Path
    differs: str | None


def progress(tally: Tally) -> str:
    """The line that is written over."""
    return (
        f"{tally.runs} runs, {tally.rate:.0f}/s, {len(tally.words)} things seen, the last new one "
        f"{tally.runs - tally.newest} runs ago, {len(tally.failures)} failures"
    )


def summary(base: Scenario, tally: Tally, results: Sequence[Result]) -> str:
    """What came of it."""
    lines = [
        f"{base.name}: {tally.runs} runs in {tally.seconds:.0f} s ({tally.rate:.0f}/s, "
        f"{tally.judging_share:.0%} of that in judges), ended by {tally.ended}",
        f"{len(tally.words)} different things happened, the last new one in run {tally.newest}",
    ]
    for result in results:
        found = result.found
        lines += [
            "",
            found.sentence,
            f"  found in run {found.runs} after {found.seconds:.0f} s",
            f"  shrunk in {found.shrink_s:.0f} s to {found.size}",
            f"  {os.path.relpath(result.path)}",
        ]
        if result.differs == "":
            lines.append("  confirmed on the emulated network")
        elif result.differs:
            lines.append(f"  NOT so on the emulated network, which is a mistake of ours: {result.differs}")
    if not results:
        lines.append(f"nothing found: with 95% confidence less than {tally.excluded:.2%} of such runs fail")
    return "\n".join(lines)


def document(base: Scenario, tally: Tally, results: Sequence[Result]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "scenario": base.name,
        "protocol": base.protocol,
        "runs": tally.runs,
        "seconds": round(tally.seconds, 3),
        "judging_share": round(tally.judging_share, 4),
        "seen": len(tally.words),
        "newest_run": tally.newest,
        "ended": tally.ended,
        "excluded_rate": None if results else tally.excluded,
        "failures": [
            {
                "properties": list(one.found.properties),
                "sentence": one.found.sentence,
                "file": str(one.path),
                "run": one.found.runs,
                "seconds": round(one.found.seconds, 3),
                "shrink_seconds": round(one.found.shrink_s, 3),
                "faults": len(one.found.case.fault),
                "nodes": len(one.found.case.nodes),
                "network": None if one.differs is None else one.differs or "confirmed",
            }
            for one in results
        ],
    }
