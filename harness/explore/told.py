"""What a person, or a program, is told of a search."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from harness.explore.found import Result
from harness.explore.search import Tally
from harness.scenario.model import Scenario
from nodes.protocols import protocol


def progress(tally: Tally) -> str:
    """The line that is written over."""
    return (
        f"{tally.runs} runs, {tally.rate:.0f}/s, {len(tally.words)} things seen, the last new one "
        f"{tally.runs - tally.newest} runs ago, {len(tally.failures)} failures"
    )


def missed(base: Scenario, tally: Tally) -> list[str]:
    """The milestones that no run came to."""
    return [one.name for one in protocol(base.protocol).milestones if one.name not in tally.milestones]


def summary(base: Scenario, tally: Tally, results: Sequence[Result]) -> str:
    """What came of it."""
    lines = [
        f"{base.name}: {tally.runs} runs in {tally.seconds:.0f} s ({tally.rate:.0f}/s, "
        f"{tally.judging_share:.0%} of that in judges), ended by {tally.ended}",
        f"{len(tally.words)} different things happened, the last new one in run {tally.newest}",
    ]
    lines += [f"never came to it: {name}" for name in missed(base, tally)]
    for result in results:
        lines += [
            "",
            result.sentence,
            f"  found in run {result.run} after {result.seconds:.0f} s",
            f"  shrunk in {result.shrink_seconds:.0f} s to {result.size}",
            f"  {os.path.relpath(result.file)}",
        ]
        if result.network == "":
            lines.append("  confirmed on the emulated network")
        elif result.network:
            lines.append(f"  NOT so on the emulated network, which is a mistake of ours: {result.network}")
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
        "milestones": {one.name: tally.milestones.get(one.name) for one in protocol(base.protocol).milestones},
        "ended": tally.ended,
        "excluded_rate": None if results else tally.excluded,
        "failures": [asdict(one) | {"network": "confirmed" if one.network == "" else one.network} for one in results],
    }
