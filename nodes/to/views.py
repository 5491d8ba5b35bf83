"""Views: per entity one number, incarnation << 1 | stopped, so that "later" is "greater" (D-TO-3).

(i, active) < (i, stopped) < (i+1, active): a stop outlasts what was known before it, a new incarnation outlasts the
stop. Merging takes the greater number per entity; the order in which news comes does not matter.

An incarnation is the number of the process's start << 16 | the number of times this process has come back by itself:
a restarted process, which remembers nothing, can never use one again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

REJOIN_BITS = 16

View = tuple[int, ...]


class ViewMode(Enum):
    """Where an entity stands in the view control."""

    NORMAL = "normal"
    STOPPING = "stopping"  # a stop round; data transfer goes on
    ADMITTING = "admitting"  # a member in a join; sending is suspended
    JOINING = "joining"  # not a member
    LEFT = "left"  # about to come back as the next incarnation


LIVES = (1 << 32 - 1 - REJOIN_BITS) - 1  # starts of a process, of which a view's number can tell


def first_incarnation(start: int) -> int:
    """The incarnation with which the start-th process of a node begins."""
    return start << REJOIN_BITS


def is_last_of_its_start(incarnation: int) -> bool:
    """The next one would be the next process's."""
    return (incarnation + 1) % (1 << REJOIN_BITS) == 0


def merge(mine: Sequence[int], theirs: Sequence[int]) -> View:
    """What both know."""
    return tuple(map(max, mine, theirs))


def printed_merge(mine: Sequence[int], theirs: Sequence[int]) -> View:
    """emask OR BMAP: a stop bit that somebody still has sets it again, whatever incarnation it was about."""
    return tuple([max(a >> 1, b >> 1) << 1 | (a | b) & 1 for a, b in zip(mine, theirs, strict=True)])


def active(view: Sequence[int]) -> list[int]:
    """The entities that have not stopped."""
    return [j for j, code in enumerate(view, 1) if not code & 1]


def with_stopped(view: Sequence[int], whom: Collection[int]) -> View:
    """The view once these entities have stopped."""
    return tuple([code | 1 if j in whom else code for j, code in enumerate(view, 1)])


def view_number(committed: Sequence[int]) -> int:
    """A number that grows with every change of a view, equal where views are equal; 1 at the start. An entity that a
    newly founded cluster has not met (0) counts as at the start."""
    start = first_incarnation(1) << 1
    return 1 + sum(max(0, one - start) for one in committed)
