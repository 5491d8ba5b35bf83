"""The state of the machines over time, as steps per node: from NOTEs, and from what PDUs say about their sender.

Nothing here looks into a machine: sequence numbers, acknowledgements and free buffers stand in the PDUs, how many
messages wait follows from the NOTEs, and what a machine wants to show it says in a STATE or MEASURED.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from captures.evidence import Event, facets
from harness.report.copies import Sending
from harness.report.seen import Seen
from nodes.wire.note import NoteKind, submission
from nodes.wire.st import DataBlock

_CLOCK_NOISE_MS = 0.005  # between reading a clock and the frame that tells it

Steps = list[tuple[int, float]]  # (ns, value from then on)


@dataclass(slots=True)
class Series:
    """One quantity of every node. With `levels` a value is the index of a word."""

    name: str
    meaning: str
    nodes: dict[int, Steps]
    levels: list[str] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """Does anything ever happen?"""
        return any(len(steps) > 1 for steps in self.nodes.values())


def series_of(events: Sequence[Event], seen: Seen, sent: Sequence[Sending]) -> list[Series]:
    """All quantities that move, the most telling first."""
    found = [
        _clock(events),
        _waiting(events, "queue", "submitted, not yet sent", (NoteKind.SUBMITTED,), (NoteKind.SENT, NoteKind.REFUSED)),
        *((*_cluster(seen, sent), _tags(seen, sent)) if len(seen.frames) else ()),
        _waiting(events, "RRL", "accepted, not yet pre-acknowledged", (NoteKind.ACCEPTED,), (NoteKind.PREACKED,)),
        _waiting(events, "PRL", "pre-acknowledged, not yet confirmed", (NoteKind.PREACKED,), (NoteKind.CONFIRMED,)),
        _totals(events, "delivered", "messages delivered", NoteKind.DELIVERED),
        *_said(events),
    ]
    return [one for one in found if one.moves]


class _Recorder:
    """Steps of every node; a value is written down when it changes."""

    def __init__(self) -> None:
        self.nodes: dict[int, Steps] = defaultdict(list)

    def put(self, node: int, time_ns: int, value: float) -> None:
        steps = self.nodes[node]
        if steps and steps[-1][0] == time_ns:
            steps.pop()
        if not steps or steps[-1][1] != value:
            steps.append((time_ns, value))


def _clock(events: Iterable[Event]) -> Series:
    recorder = _Recorder()
    for event in events:
        if event.node:
            recorder.put(event.node, event.time_ns, (event.local_ns - event.time_ns) / 1e6)
    errors = [value for steps in recorder.nodes.values() for _, value in steps]
    if not errors or max(errors) - min(errors) < _CLOCK_NOISE_MS:
        recorder.nodes.clear()  # all clocks are right, or wrong in the same way, for ever
    else:
        last = max((event.time_ns for event in events), default=0)
        for steps in recorder.nodes.values():
            steps.append((last, steps[-1][1]))
    return Series("clock", "local clock minus true time, ms", dict(recorder.nodes))


def _waiting(
    events: Iterable[Event], name: str, meaning: str, more: tuple[NoteKind, ...], fewer: tuple[NoteKind, ...]
) -> Series:
    """How many messages a node has heard of in one way and not yet in another."""
    recorder = _Recorder()
    waiting: dict[int, set[tuple[int, int]]] = defaultdict(set)
    incarnations: dict[int, int] = {}
    ever_fewer = False
    for event in events:
        if event.kind not in more and event.kind not in fewer:
            continue
        if incarnations.setdefault(event.node, event.incarnation) != event.incarnation:
            incarnations[event.node] = event.incarnation
            waiting[event.node].clear()  # its logs died with it
        if event.kind in more:
            waiting[event.node].add(_key(event))
        else:
            ever_fewer = True
            waiting[event.node].discard(_key(event))
        recorder.put(event.node, event.time_ns, len(waiting[event.node]))
    return Series(name, meaning, dict(recorder.nodes) if ever_fewer else {})


def _key(event: Event) -> tuple[int, int]:
    """The message; or its submission, before it is one."""
    if event.kind in (NoteKind.SUBMITTED, NoteKind.SENT, NoteKind.REFUSED):
        return event.node, submission(event.kind, event.seq, event.values)
    return event.about, event.seq


def _totals(events: Iterable[Event], name: str, meaning: str, kind: NoteKind) -> Series:
    recorder = _Recorder()
    counts: dict[int, int] = defaultdict(int)
    for event in events:
        if event.kind is kind:
            counts[event.node] += 1
            recorder.put(event.node, event.time_ns, counts[event.node])
    return Series(name, meaning, dict(recorder.nodes))


def _tags(seen: Seen, sent: Sequence[Sending]) -> Series:
    recorder = _Recorder()
    frames = seen.frames
    rows = np.array([one.first for one in sent], np.int64)
    rows = frames.of_type(*(pdu for pdu, facet in facets().items() if facet.tag), among=rows)
    for row, entries in zip(rows.tolist(), frames.entries[rows].tolist(), strict=True):
        recorder.put(int(frames.src[row]), seen.time_ns[row], entries)
    return Series("tag", "entries of the tag of what it sends", dict(recorder.nodes))


def _cluster(seen: Seen, sent: Sequence[Sending]) -> list[Series]:
    """ST and TO: TSEQ, minAL and BUF, as the DATA PDUs on the wire say."""
    numbers, open_, pal, buffer = _Recorder(), _Recorder(), _Recorder(), _Recorder()
    known: dict[int, dict[int, int]] = defaultdict(dict)  # source -> receiver -> TSEQ expected next
    latest: dict[int, int] = {}
    rows = np.array([one.first for one in sent if one.original is None], np.int64)
    said: dict[int, tuple[int, int, tuple[int, ...]]] = {}
    for pdu in (pdu for pdu in facets() if issubclass(pdu, DataBlock)):
        these = seen.frames.of_type(pdu, among=rows)
        fields = (seen.frames.said(these, name) for name in ("tseq", "buf", "ack"))
        said |= dict(zip(these.tolist(), zip(*fields, strict=True), strict=True))
    for one in sent:
        if one.first not in said:
            continue
        tseq, free, ack = said[one.first]
        numbers.put(one.src, one.time_ns, tseq)
        buffer.put(one.src, one.time_ns, free)
        latest[one.src] = tseq
        for source, expected in enumerate(ack, 1):
            known[source][one.src] = expected
        for source, last in latest.items():
            if len(known[source]) == len(ack):
                open_.put(source, one.time_ns, max(0, last + 1 - min(known[source].values())))
                pal.put(source, one.time_ns, min(known[source].values()))
    return [
        Series("TSEQ", "number of the latest PDU", dict(numbers.nodes)),
        Series("minAL", "first PDU of the node that somebody may still miss", dict(pal.nodes)),
        Series("window", "sent and not known to be everywhere: TSEQ - minAL", dict(open_.nodes)),
        Series("BUF", "free buffers, in PDUs", dict(buffer.nodes)),
    ]


def _said(events: Iterable[Event]) -> list[Series]:
    """What machines say of themselves: STATE and MEASURED, one quantity per name."""
    numbers: dict[str, _Recorder] = defaultdict(_Recorder)
    modes = _Recorder()
    words: list[str] = []
    for event in events:
        if event.kind is NoteKind.STATE and event.text.isupper():
            if event.text not in words:
                words.append(event.text)
            modes.put(event.node, event.time_ns, words.index(event.text))
        elif event.kind in (NoteKind.STATE, NoteKind.MEASURED) and event.values:
            names = event.text.replace(",", " ").split() or ["value"]
            if len(names) != len(event.values):
                names = [f"{event.text} {index}".strip() for index in range(1, len(event.values) + 1)]
            for name, value in zip(names, event.values, strict=True):
                numbers[name].put(event.node, event.time_ns, float(value))
    found = [Series(name, f"{name}, as the machine says", dict(one.nodes)) for name, one in sorted(numbers.items())]
    return [Series("mode", "what the machine is doing", dict(modes.nodes), words), *found]
