"""All frames of captures, counted by what they carry: the little that is tabulated of every run of a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

_BY = ("type", "direction", "error")
COLUMNS = (*_BY, "captured")  # of the decoder
_MOST = 1 << 10  # names in one of them


@dataclass(frozen=True, slots=True)
class Traffic:
    """The frames of one kind in one capture, ours or not."""

    capture: str
    type: str | None  # of the PDU; None: there is none
    direction: str | None
    error: str | None
    frames: int
    bytes: int


class Tally:
    """Counts frames and their bytes per capture, type, direction and error."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, int], tuple[int, int]] = {}
        self._names: dict[str, Any] = {}

    def add(self, capture: str, batch: Any) -> None:
        """Count the frames of a batch."""
        key = np.zeros(batch.num_rows, np.int64)
        for by in _BY:
            column = batch.column(by)
            key *= _MOST
            if column.null_count < len(column):
                self._names[by] = column.dictionary
                key += column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
        kinds, index = np.unique(key, return_inverse=True)
        frames = np.bincount(index)
        octets = np.bincount(index, weights=batch.column("captured").to_numpy())
        for kind, count, size in zip(kinds.tolist(), frames.tolist(), octets.tolist(), strict=True):
            before = self._totals.get((capture, kind), (0, 0))
            self._totals[capture, kind] = (before[0] + count, before[1] + int(size))

    def traffic(self) -> Iterator[Traffic]:
        """All counts: the captures as they came, the kinds of each in the order of the wire table."""
        captures = {capture: rank for rank, capture in enumerate(dict.fromkeys(name for name, _ in self._totals))}
        for (capture, key), (frames, octets) in sorted(
            self._totals.items(), key=lambda item: (captures[item[0][0]], item[0][1])
        ):
            at = (key // _MOST // _MOST, key // _MOST % _MOST, key % _MOST)
            kind, direction, error = (
                self._names[by][index - 1].as_py() if index else None for by, index in zip(_BY, at, strict=True)
            )
            yield Traffic(capture, kind, direction, error, frames, octets)
