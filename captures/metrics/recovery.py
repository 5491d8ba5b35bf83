"""What a loss costs, as papers 000 and 003 count it: PDUs sorted, PDUs a go-back would repeat, failures missed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from captures.history import History
from captures.metrics.latency import submitted_ns
from captures.metrics.registry import count, metric, of_kind, ratio, sent_frames
from nodes.wire.note import NoteKind

BURST_NS = 5_000_000  # what is submitted within this time belongs to one burst

Message = tuple[int, int]  # origin, number


@metric("sorted_per_data", "U/L of paper 000 §5: PDUs that entities sort after a loss, per entity and message")
def _sorted(history: History) -> float | None:
    held = dict.fromkeys(history.nodes, 0)  # accepted and not yet delivered
    recovering = dict.fromkeys(history.nodes, False)
    found = 0
    rounds = False
    for event in history.events:
        if event.kind is NoteKind.ACCEPTED:
            held[event.node] += 1
        elif event.kind is NoteKind.DELIVERED:
            held[event.node] -= 1
        elif event.kind is NoteKind.STATE and event.node in held:
            rounds = True
            if recovering[event.node] and event.text == "DATA":
                found += held[event.node]
            recovering[event.node] = event.text == "RECOV"
    messages = count(history, NoteKind.SENT)
    if not rounds and not any(event.kind is NoteKind.ACCEPTED for event in history.events):
        return None  # not of these protocols
    return ratio(found, messages * len(history.nodes))


@metric("go_back_per_data", "what a go-back would repeat: per burst, messages from the first lost one on, per message")
def _go_back(history: History) -> float | None:
    to = {(event.about, event.seq): set(event.peers) for event in of_kind(history, NoteKind.SENT)}
    first, again = _times_on_channel(history)
    came: dict[Message, set[int]] = defaultdict(set)
    for frame in history.transmissions:
        key = (frame.about, frame.seq)
        if frame.direction != "in" or key not in first or not frame.title.endswith(".DATA") or frame.at[0] != "n":
            continue
        if frame.time_ns < again.get(key, frame.time_ns + 1):
            came[key].add(int(frame.at[1:]))
    behind = 0
    for burst in _bursts(history, first):
        lost = [number for number, key in enumerate(burst) if to.get(key, set()) - came[key]]
        behind += len(burst) - lost[0] if lost else 0
    return ratio(behind, len(first))


def _times_on_channel(history: History) -> tuple[dict[Message, int], dict[Message, int]]:
    """When each message was on the single channel first, and when for the second time."""
    first: dict[Message, int] = {}
    again: dict[Message, int] = {}
    for frame in history.transmissions:
        if frame.at == "channel" and frame.title.endswith(".DATA") and frame.about:
            key = (frame.about, frame.seq)
            (again if key in first else first).setdefault(key, frame.time_ns)
    return first, again


def _bursts(history: History, first: dict[Message, int]) -> Iterator[list[Message]]:
    """Messages that were submitted together, in the order in which the channel carried them."""
    submitted = submitted_ns(history)
    began = sorted(
        (submitted.get((event.about, event.seq), event.time_ns), event.about, event.seq)
        for event in of_kind(history, NoteKind.SENT)
        if (event.about, event.seq) in first
    )
    burst: list[Message] = []
    start_ns = 0
    for time_ns, about, seq in began:
        if burst and time_ns - start_ns > BURST_NS:
            yield sorted(burst, key=first.__getitem__)
            burst = []
        start_ns = start_ns if burst else time_ns
        burst.append((about, seq))
    if burst:
        yield sorted(burst, key=first.__getitem__)


@metric("missed_share", "multicasts that ended in a false SUCCESS, of all of decided messages (paper 003 §3.4.2)")
def _missed(history: History) -> float | None:
    """Every multicast is a trial: one whose failure is found is repeated, one whose failure is missed is the last."""
    multicasts = Counter((frame.about, frame.seq) for frame in sent_frames(history) if frame.title == "him.DATA")
    lacking: dict[Message, set[int]] = {}
    trials = missed = 0
    for event in history.events:
        key = (event.about, event.seq)
        if event.kind is NoteKind.SENT:
            lacking[key] = set(event.peers)
        elif event.kind is NoteKind.DELIVERED and key in lacking:
            lacking[key].discard(event.node)
        elif event.kind is NoteKind.RESULT and key in multicasts:
            trials += multicasts[key]
            missed += event.text == "SUCCESS" and bool(lacking.get(key))
    return ratio(missed, trials)
