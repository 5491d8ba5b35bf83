"""True time with idle stretches folded: a piecewise linear map from time to place.

What counts as idle follows from how long messages take: a stretch without any event that lasts several times as long
is drawn as long as one flight, so that the slope of a message can be seen however long the run was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_IDLE_FLIGHTS = 5  # as many flights without an event are folded ...
_FOLDED_FLIGHTS = 1.2  # ... to this

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Folding:
    """Corners of the map, in ns: at time times[i] the place is places[i]; and the stretches that are folded."""

    times: tuple[int, ...]
    places: tuple[int, ...]
    folds: tuple[tuple[int, int], ...]


def fold(times_ns: Ints, flights_ns: Sequence[int]) -> Folding:
    """The map for events at these times, when messages take so long."""
    times = np.unique(times_ns)
    if len(times) < 2:
        begin = int(times[0]) if len(times) else 0
        return Folding((begin, begin + 1_000_000), (0, 1_000_000), ())
    flight = int(np.quantile(np.asarray(flights_ns), 0.9)) if len(flights_ns) else int(times[-1] - times[0]) // 50
    flight = max(flight, 1_000)
    gaps = np.diff(times)
    (idle,) = np.nonzero(gaps > _IDLE_FLIGHTS * flight)
    folded = int(_FOLDED_FLIGHTS * flight)
    corners, places, folds = [int(times[0])], [0], []
    for index in idle.tolist():
        begin, end = int(times[index]), int(times[index + 1])
        # An event keeps a little room on both sides, drawn to scale.
        room = min(flight, (end - begin) // 4)
        for corner, advance in ((begin + room, None), (end - room, folded)):
            place = places[-1] + (corner - corners[-1] if advance is None else advance)
            corners.append(corner)
            places.append(place)
        folds.append((begin + room, end - room))
    corners.append(int(times[-1]))
    places.append(places[-1] + corners[-1] - corners[-2])
    return Folding(tuple(corners), tuple(places), tuple(folds))
