"""How far the nodes of a run are, told to the agent without a message: a count per node in memory that all share.

A system call would take virtual time and wall time at every delivery; a number in shared memory takes neither.
"""

from __future__ import annotations

import mmap

from nodes.wire.note import NoteKind

# Something was accepted, delivered or decided.
PROGRESS = frozenset(
    {
        NoteKind.ACCEPTED,
        NoteKind.PREACKED,
        NoteKind.CONFIRMED,
        NoteKind.DELIVERED,
        NoteKind.VIEW,
        NoteKind.RESULT,
        NoteKind.LEFT,
    }
)


class Tally:
    """Made before the nodes' processes are forked; every node counts in a place of its own."""

    def __init__(self, nodes: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, 8 * (nodes + 1))).cast("Q")

    def count(self, node: int, kind: NoteKind) -> None:
        """A node noted something."""
        if kind in PROGRESS:
            self._counts[node] += 1

    def total(self) -> int:
        """Of all nodes together; it only grows."""
        return sum(self._counts)
