"""What a loss costs, as papers 000 and 003 count it: PDUs sorted, PDUs a go-back would repeat, failures missed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from captures.evidence import Evidence
from captures.metrics.latency import submitted_ns
from captures.metrics.registry import count, messages, metric, ratio
from nodes.wire.him import HimData
from nodes.wire.note import NoteKind

BURST_NS = 5_000_000  # what is submitted within this time belongs to one burst

Message = tuple[int, int]  # origin, number


@metric("sorted_per_data", "U/L of paper 000 §5: PDUs that entities sort after a loss, per entity and message")
def _sorted(evidence: Evidence) -> float | None:
    held = dict.fromkeys(evidence.nodes, 0)  # accepted and not yet delivered
    recovering = dict.fromkeys(evidence.nodes, False)
    found = 0
    rounds = False
    for event in evidence.notes.events(NoteKind.ACCEPTED, NoteKind.DELIVERED, NoteKind.STATE):
        if event.kind is NoteKind.ACCEPTED:
            held[event.node] += 1
        elif event.kind is NoteKind.DELIVERED:
            held[event.node] -= 1
        elif event.kind is NoteKind.STATE and event.node in held:
            rounds = True
            if recovering[event.node] and event.text == "DATA":
                found += held[event.node]
            recovering[event.node] = event.text == "RECOV"
    messages = count(evidence, NoteKind.SENT)
    if not rounds and not count(evidence, NoteKind.ACCEPTED):
        return None  # not of these protocols
    return ratio(found, messages * len(evidence.nodes))


@metric("go_back_per_data", "what a go-back would repeat: per burst, messages from the first lost one on, per message")
def _go_back(evidence: Evidence) -> float | None:
    to = {(event.about, event.seq): set(event.peers) for event in evidence.notes.events(NoteKind.SENT)}
    first, again = _times_on_channel(evidence)
    came: dict[Message, set[int]] = defaultdict(set)
    frames = evidence.frames
    arrived = frames.carriers(frames.came)
    told = (frames.node[arrived].tolist(), frames.time_ns[arrived].tolist(), messages(frames, arrived))
    for node, time_ns, key in zip(*told, strict=True):
        if key in first and time_ns < again.get(key, time_ns + 1):
            came[key].add(node)
    behind = 0
    for burst in _bursts(evidence, first):
        lost = [number for number, key in enumerate(burst) if to.get(key, set()) - came[key]]
        behind += len(burst) - lost[0] if lost else 0
    return ratio(behind, len(first))


def _times_on_channel(evidence: Evidence) -> tuple[dict[Message, int], dict[Message, int]]:
    """When each message was on the single channel first, and when for the second time."""
    first: dict[Message, int] = {}
    again: dict[Message, int] = {}
    frames = evidence.frames
    rows = frames.carriers(frames.sent if frames.on_channel else frames.sent[:0])
    for key, time_ns in zip(messages(frames, rows), frames.time_ns[rows].tolist(), strict=True):
        (again if key in first else first).setdefault(key, time_ns)
    return first, again


def _bursts(evidence: Evidence, first: dict[Message, int]) -> Iterator[list[Message]]:
    """Messages that were submitted together, in the order in which the channel carried them."""
    submitted = submitted_ns(evidence)
    began = sorted(
        (submitted.get((event.about, event.seq), event.time_ns), event.about, event.seq)
        for event in evidence.notes.events(NoteKind.SENT)
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


def _decided(evidence: Evidence) -> Iterator[tuple[int, bool, bool]]:
    """Of every message that was decided: how often it was multicast, whether it was a SUCCESS, whether a false one.

    A multicast whose failure is found is repeated; one whose failure is missed is the last of its message.
    """
    frames = evidence.frames
    multicasts = Counter(messages(frames, frames.of_type(HimData, among=frames.sent)))
    lacking: dict[Message, set[int]] = {}
    for event in evidence.notes.events(NoteKind.SENT, NoteKind.DELIVERED, NoteKind.RESULT):
        key = (event.about, event.seq)
        if event.kind is NoteKind.SENT:
            lacking[key] = set(event.peers)
        elif event.kind is NoteKind.DELIVERED and key in lacking:
            lacking[key].discard(event.node)
        elif event.kind is NoteKind.RESULT and key in multicasts:
            success = event.text == "SUCCESS"
            yield multicasts[key], success, success and bool(lacking.get(key))


@metric("missed_share", "multicasts that ended in a false SUCCESS, of all of decided messages (paper 003 §3.4.2)")
def _missed(evidence: Evidence) -> float | None:
    found = list(_decided(evidence))
    return ratio(sum(false for _, _, false in found), sum(times for times, _, _ in found))


@metric("sends_to_report", "multicasts, of one message or of several, until somebody is reported (paper 003 §3.4.2)")
def _sends(evidence: Evidence) -> float | None:
    """What comes after the last report is left out: nobody knows how long it would have gone on."""
    reports = sends = missed = 0
    for times, success, false in _decided(evidence):
        reported = times - success  # the last one of a SUCCESS is followed by no report
        if reported:
            reports, sends, missed = reports + reported, sends + missed + reported, 0
        missed += false
    return ratio(sends, reports)
