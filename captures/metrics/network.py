"""What the network really did, measured in the captures beside what was asked for: loss, delay, clocks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np

from captures.evidence import Evidence
from captures.metrics.registry import metric, quantiles, ratio
from captures.tables import Ints

_MS = 1e6


def _came(evidence: Evidence) -> Ints:
    """What came in at the nodes."""
    frames = evidence.frames
    return frames.came[np.isin(frames.node[frames.came], evidence.nodes)]


def loss_by_receiver(evidence: Evidence) -> dict[int, float]:
    """The share of the channel's frames that did not come in at each node. Of one channel only: {} elsewhere."""
    frames = evidence.frames
    if not frames.on_channel:
        return {}
    came = Counter(frames.node[_came(evidence)].tolist())
    return {node: 1 - came[node] / len(frames.sent) for node in evidence.nodes}


@metric("loss_share", "copies of frames that did not come in where they should have")
def _loss(evidence: Evidence) -> float | None:
    by_receiver = loss_by_receiver(evidence)
    if by_receiver:
        return ratio(sum(by_receiver.values()), len(by_receiver))
    multicast = evidence.frames.multicast[evidence.frames.sent]
    copies = int(np.where(multicast, len(evidence.nodes) - 1, 1).sum())
    return None if not copies else 1 - len(_came(evidence)) / copies


def _extreme_loss(name: str, meaning: str, choose: Callable[..., float]) -> None:
    @metric(name, meaning)
    def _(evidence: Evidence) -> float | None:
        by_receiver = loss_by_receiver(evidence)
        return choose(by_receiver.values()) if by_receiver else None


_extreme_loss("loss_share_max", "the greatest loss of any receiver of one channel", max)
_extreme_loss("loss_share_min", "the least loss of any receiver of one channel", min)


def delays_by_link(evidence: Evidence) -> dict[tuple[str, str], list[int]]:
    """(capture point, node) -> delays in ns of frames that carry a message, where both ends were captured.

    A frame is known again by the message it carries, so only those that were sent once and came once are measured.
    """
    frames = evidence.frames
    sent, came = (rows[frames.about[rows] > 0] for rows in (frames.sent, _came(evidence)))

    def ends(rows: Ints, *columns: Ints) -> dict[tuple[int, ...], int]:
        """What was seen once -> its row."""
        of_message = (*columns, frames.type, frames.about, frames.seq)
        keys = list(zip(*(column[rows].tolist() for column in of_message), strict=True))
        times = Counter(keys)
        return {key: row for key, row in zip(keys, rows.tolist(), strict=True) if times[key] == 1}

    out = ends(sent)
    delays: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (node, *key), row in ends(came, frames.node).items():
        if (start := out.get(tuple(key))) is not None:
            link = frames.places[frames.place[start]], f"n{node}"
            delays[link].append(int(frames.time_ns[row] - frames.time_ns[start]))
    return dict(delays)


quantiles(
    "delay",
    "from the channel, or the sender, to the receiver",
    lambda evidence: [delay / _MS for delays in delays_by_link(evidence).values() for delay in delays],
)


@metric("clock_skew_max_ms", "the greatest difference between two local clocks' errors, as NOTEs show it", "ms")
def _skew(evidence: Evidence) -> float | None:
    notes = evidence.notes
    errors = (notes.local_ns - notes.time_ns)[notes.node > 0]
    return int(errors.max() - errors.min()) / _MS if len(errors) else None
