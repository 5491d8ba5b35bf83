"""Which milestones of a protocol (`ProtocolSpec.milestones`) a run came to, from what each node did, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nodes.facet import Milestone
from nodes.wire.fault import FaultNote
from nodes.wire.note import NoteKind

Tracks = Mapping[int, Sequence[str]]  # of each node its steps, in order


def step_of(kind: NoteKind, text: str) -> str:
    """A NOTE as a step."""
    return f"{kind.name} {text}" if text else kind.name


def step_of_fault(fault: FaultNote) -> str:
    """What strikes a node as a step of it."""
    return f"{fault.kind} ends" if fault.kind in fault.ends else fault.kind


def reached(wanted: Iterable[Milestone], tracks: Tracks) -> Iterator[Milestone]:
    """Those of the milestones that some node came to."""
    present = frozenset[str]().union(*tracks.values())
    for milestone in wanted:
        steps = [_meant(step, present) for step in milestone.steps]
        if all(steps):
            without = frozenset[str]().union(*(_meant(step, present) for step in milestone.without))
            if any(_passes(track, steps, without) for track in tracks.values()):
                yield milestone


def _meant(step: str, present: frozenset[str]) -> frozenset[str]:
    """The steps, of those there are, that are called so: a NOTE may have a text that is not asked for."""
    return frozenset(one for one in present if one == step or one.startswith(f"{step} "))


def _passes(track: Sequence[str], steps: Sequence[frozenset[str]], without: frozenset[str]) -> bool:
    done = 0
    for step in track:
        if step in steps[done]:
            done += 1
            if done == len(steps):
                return True
        elif done and step in without:
            done = int(step in steps[0])
    return False
