"""Golden captures: small captures of real runs that later runs of the same scenario are held against.

Runs are equal to the byte for equal kernels only. So a run on the kernel that made the golden captures must repeat
them frame by frame; on another kernel it must repeat what *happened*: per node the same NOTEs in the same order (their
times and measured values aside), and the same PDUs sent, by type and message.

A directory of golden captures looks like a run directory: scenario.toml, manifest.json, captures/.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from captures.evidence import OUT, Event
from captures.load import load_evidence
from harness.diff import explain, first_parting, side_by_side
from harness.judges.facts import name_of
from harness.manifest import read_manifest
from harness.rundir import RunDir, RunDirError

GOLDEN = Path(__file__).resolve().parents[1] / "captures" / "golden"
_BEFORE = 3  # equal lines shown before the first difference


def known() -> list[str]:
    """Their names."""
    return sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def same_kernel(golden: Path, run: Path) -> bool:
    """Did one kernel, by version and recipe, make both?"""
    ours, theirs = (read_manifest(RunDir(path)) for path in (golden, run))
    return ours is not None and theirs is not None and ours.kernel == theirs.kernel


def difference(golden: Path, run: Path) -> str:
    """How a run differs from the golden captures, for people; "" if it does not."""
    if same_kernel(golden, run):
        found = first_parting(golden, run)
        return "" if found is None else explain(found, (str(golden), str(run)))
    ours, theirs = happened(RunDir(golden).captures), happened(RunDir(run).captures)
    for point in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(point, []), theirs.get(point, [])
        if one != other:
            return _first_difference(point, one, other, (str(golden), str(run)))
    return ""


def _first_difference(point: str, one: list[str], other: list[str], names: tuple[str, str]) -> str:
    at = next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    rows = slice(max(0, at - _BEFORE), at + 1)
    shown = side_by_side([names[0], *one[rows]], [names[1], *other[rows]])
    return "\n".join([f"other kernels, and other things happened: {point}, step {at + 1}", "", *shown])


def happened(captures: Path) -> dict[str, list[str]]:
    """Per node what it noted, per capture point which PDUs it sent, in order and without times."""
    evidence = load_evidence(captures)
    found: dict[str, list[str]] = {}
    for event in evidence.notes:
        found.setdefault(f"notes of n{event.node}" if event.node else "notes of the harness", []).append(_said(event))
    frames = evidence.frames
    for frame in frames.rows(np.flatnonzero((frames.direction == OUT) & (frames.node == frames.src))):
        about = f" {name_of(frame.about, frame.seq)}" if frame.about else ""
        found.setdefault(f"PDUs sent by {frame.at}", []).append(f"{frame.title}{about}, {frame.length} bytes")
    return found


def _said(event: Event) -> str:
    parts = [event.kind.name, name_of(event.about, event.seq) if event.about else ""]
    parts += ["to " + ",".join(map(str, event.peers)) if event.peers else "", repr(event.text) if event.text else ""]
    return " ".join(part for part in parts if part)


def renew(golden: Path, run: Path) -> str:
    """Put a run in the place of golden captures; returns what that changes, "" if nothing."""
    if not RunDir(run).captures.is_dir():
        raise RunDirError(f"{run} is no run directory: it has no captures/")
    changed = difference(golden, run) if RunDir(golden).captures.is_dir() else f"{golden} is new"
    golden.mkdir(parents=True, exist_ok=True)
    if RunDir(golden).captures.exists():
        shutil.rmtree(RunDir(golden).captures)
    shutil.copytree(RunDir(run).captures, RunDir(golden).captures)
    for source, target in (
        (RunDir(run).scenario, RunDir(golden).scenario),
        (RunDir(run).manifest, RunDir(golden).manifest),
    ):
        if source.is_file():
            shutil.copyfile(source, target)
    return changed
