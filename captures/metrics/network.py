"""What the network really did, measured in the captures beside what was asked for: loss, delay, clocks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from captures.history import History, Transmission
from captures.metrics.registry import metric, quantiles, ratio, sent_frames

_MS = 1e6


def _at_nodes(history: History, direction: str) -> list[Transmission]:
    names = {f"n{node}" for node in history.nodes}
    return [frame for frame in history.transmissions if frame.direction == direction and frame.at in names]


def loss_by_receiver(history: History) -> dict[int, float]:
    """The share of the channel's frames that did not come in at each node. Of one channel only: {} elsewhere."""
    on_channel = sum(1 for frame in history.transmissions if frame.at == "channel")
    came = Counter(frame.at for frame in _at_nodes(history, "in"))
    return {node: 1 - came[f"n{node}"] / on_channel for node in history.nodes} if on_channel else {}


@metric("loss_share", "copies of frames that did not come in where they should have")
def _loss(history: History) -> float | None:
    by_receiver = loss_by_receiver(history)
    if by_receiver:
        return ratio(sum(by_receiver.values()), len(by_receiver))
    copies = sum(len(history.nodes) - 1 if frame.multicast else 1 for frame in sent_frames(history))
    return None if not copies else 1 - len(_at_nodes(history, "in")) / copies


def _extreme_loss(name: str, meaning: str, choose: Callable[..., float]) -> None:
    @metric(name, meaning)
    def _(history: History) -> float | None:
        by_receiver = loss_by_receiver(history)
        return choose(by_receiver.values()) if by_receiver else None


_extreme_loss("loss_share_max", "the greatest loss of any receiver of one channel", max)
_extreme_loss("loss_share_min", "the least loss of any receiver of one channel", min)


def delays_by_link(history: History) -> dict[tuple[str, str], list[int]]:
    """(capture point, node) -> delays in ns of frames that carry a message, where both ends were captured.

    A frame is known again by the message it carries, so only those that were sent once and came once are measured.
    """
    out: dict[tuple[str, int, int], list[Transmission]] = defaultdict(list)
    came: dict[tuple[str, int, int, str], list[Transmission]] = defaultdict(list)
    for frame in sent_frames(history):
        if frame.about:
            out[frame.title, frame.about, frame.seq].append(frame)
    for frame in _at_nodes(history, "in"):
        if frame.about:
            came[frame.title, frame.about, frame.seq, frame.at].append(frame)
    delays: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (title, about, seq, at), frames in came.items():
        sent = out.get((title, about, seq), [])
        if len(sent) == len(frames) == 1:
            delays[sent[0].at, at].append(frames[0].time_ns - sent[0].time_ns)
    return dict(delays)


quantiles(
    "delay",
    "from the channel, or the sender, to the receiver",
    lambda history: [delay / _MS for delays in delays_by_link(history).values() for delay in delays],
)


@metric("clock_skew_max_ms", "the greatest difference between two local clocks' errors, as NOTEs show it", "ms")
def _skew(history: History) -> float | None:
    errors = [event.local_ns - event.time_ns for event in history.events if event.node]
    return (max(errors) - min(errors)) / _MS if errors else None
