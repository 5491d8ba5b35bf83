"""What a person, or a program, is told of a search."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from harness.explore.found import Result
from harness.explore.search import Tally
from harness.explore.systematic import Systematic
from harness.scenario.model import Scenario
from nodes.protocols import protocol


def progress(tally: Tally) -> str:
    """The line that is written over."""
    return (
        f"{tally.runs} runs, {tally.rate:.0f}/s, {len(tally.words)} things seen, {tally.reached} changes of state and "
        f"{len(tally.milestones)} milestones, the last new one {tally.runs - tally.newest} runs ago, "
        f"{len(tally.failures)} failures"
    )


def missed(base: Scenario, tally: Tally) -> list[str]:
    """The milestones that no run came to."""
    return [one.name for one in protocol(base.protocol).milestones if one.name not in tally.milestones]


def summary(base: Scenario, tally: Tally, results: Sequence[Result]) -> str:
    """What came of it."""
    lines = [
        f"{base.name}: {tally.runs} runs in {tally.seconds:.0f} s ({tally.rate:.0f}/s, "
        f"{tally.judging_share:.0%} of their processor time in judges), ended by {tally.ended}",
        f"{len(tally.words)} different things happened, {tally.reached} changes of state among them; the last new one "
        f"of these, or new milestone, in run {tally.newest}",
    ]
    lines += [f"never came to it: {name}" for name in missed(base, tally)]
    for result in results:
        lines += _lines_of(result)
    if not results:
        lines.append(f"nothing found: with 95% confidence less than {share(tally.excluded)} of such runs fail")
    return "\n".join(lines)


def share(part: float) -> str:
    """As a percentage with one digit at least that is not 0."""
    return f"{part:.{max(2, -math.floor(math.log10(part)) - 2)}%}"


def _lines_of(result: Result) -> list[str]:
    lines = [
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
    return lines


def systematic_progress(state: Systematic) -> str:
    """The line that is written over."""
    done, known, depth = state.done[-1], state.counts[-1], len(state.counts) - 1
    rate = state.runs / state.seconds if state.seconds else 0.0
    schedules = f"{done} of {known} schedules with {depth} faults (of at most {state.most})"
    return f"{schedules}, {rate:.0f}/s, {len(state.failures)} failures"


def systematic_summary(base: Scenario, state: Systematic, results: Sequence[Result]) -> str:
    """What came of all schedules."""
    kinds = ", ".join(state.kinds)
    counts = " + ".join(f"{done}" if done == known else f"{done} of {known}" for done, known in _done(state))
    lines = [
        f"{base.name}: schedules with at most {state.most} faults ({kinds}), by their number: {counts}, "
        f"carried out in {state.seconds:.0f} s",
        f"left out: {state.nobody} PDUs at which nobody was left to take them",
    ]
    for result in results:
        lines += _lines_of(result)
    if state.is_whole and not results:
        lines.append(f"these are all, and nothing is broken: no {state.most} of these faults break {base.name}")
    elif not state.is_whole:
        lines.append(f"these are not all: ended by {state.ended}")
    return "\n".join(lines)


def _done(state: Systematic) -> list[tuple[int, int]]:
    return list(zip(state.done, state.counts, strict=True))


def systematic_document(base: Scenario, state: Systematic, results: Sequence[Result]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "scenario": base.name,
        "protocol": base.protocol,
        "most": state.most,
        "kinds": list(state.kinds),
        "schedules": [{"faults": n, "done": done, "known": known} for n, (done, known) in enumerate(_done(state))],
        "all": state.is_whole,
        "nobody_left": state.nobody,
        "seconds": round(state.seconds, 3),
        "failures": [_plain(one) for one in results],
    }


def _plain(result: Result) -> dict[str, Any]:
    return asdict(result) | {"network": "confirmed" if result.network == "" else result.network}


def document(base: Scenario, tally: Tally, results: Sequence[Result]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "scenario": base.name,
        "protocol": base.protocol,
        "runs": tally.runs,
        "seconds": round(tally.seconds, 3),
        "judging_share": round(tally.judging_share, 4),
        "seen": len(tally.words),
        "changes": tally.reached,
        "newest_run": tally.newest,
        "milestones": {one.name: tally.milestones.get(one.name) for one in protocol(base.protocol).milestones},
        "ended": tally.ended,
        "excluded_rate": None if results else tally.excluded,
        "failures": [_plain(one) for one in results],
    }
