"""How long a cluster takes to believe that a member is gone, and to have it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from captures.evidence import Event, Evidence
from captures.metrics.registry import metric
from nodes.wire.note import NoteKind


@metric("crash_to_view_ms", "from a crash until all others have a view without the node: the longest", "ms")
def _crash_to_view(evidence: Evidence) -> float | None:
    return _longest(evidence, "crash")


@metric("rejoin_ms", "from a restart until all, the node too, have installed a view with it: the longest", "ms")
def _rejoin(evidence: Evidence) -> float | None:
    return _longest(evidence, "restart")


def _longest(evidence: Evidence, kind: str) -> float | None:
    """Of all faults of this kind; None if there was none, or somebody never installed such a view."""
    took = list(_times(evidence, kind))
    return None if None in took else max((one for one in took if one is not None), default=None)


def _times(evidence: Evidence, kind: str) -> Iterator[float | None]:
    events = evidence.notes.events(NoteKind.VIEW, NoteKind.FAULT)
    views: dict[int, tuple[int, ...]] = {}
    down: set[int] = set()
    for place, event in enumerate(events):
        if event.kind is NoteKind.VIEW:
            views[event.node] = event.peers
            continue
        fault = event.fault
        down |= set(fault.stopped)
        if fault.kind == "restart":
            down -= set(fault.peers)
        if fault.kind == kind:
            waiting = set(evidence.nodes) - down
            for node in fault.peers:
                unaware = {one for one in waiting if node in views.get(one, (node,))}
                yield _took_ms(events[place:], node, waiting if kind == "restart" else unaware, kind == "restart")


def _took_ms(events: Sequence[Event], node: int, waiting: set[int], within: bool) -> float | None:
    """From the first event until all who wait have a view that the node is in, or is not in."""
    left = set(waiting)
    for event in events:
        if event.kind is NoteKind.VIEW and (node in event.peers) == within:
            left.discard(event.node)
        if not left:
            return (event.time_ns - events[0].time_ns) / 1e6
    return None
