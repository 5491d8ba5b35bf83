"""How long judging takes, and how it grows: histories of a run that went well (the worst case for a judge: nothing
ends the search), doubled until they have the size asked for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

from captures.evidence import Event, Evidence, Notes
from harness.bench.row import Row
from harness.judges import judge
from nodes.delta.options import DeltaOptions
from nodes.wire.note import NoteKind

# One group per kind of protocol, as their packages export them.
GROUPS = {
    "ST": ("ST-1", "ST-2", "ST-3", "ST-4", "ST-5"),
    "TD": ("NC", "ND", "TD-1", "TD-2", "TD-3", "TD-4", "TD-5", "TD-6"),
    "CD": ("NC", "ND", "CD-1", "CD-2"),
    "DC": ("DC-1", "DC-2", "DC-3", "DC-4"),
}


@dataclass(frozen=True, slots=True)
class JudgesResult(Row):
    """One group of properties on histories of growing size."""

    group: Annotated[str, "judging {}"]
    deliveries: Annotated[tuple[int, ...], "deliveries {}"]
    seconds: Annotated[tuple[float, ...], "seconds {}, growth with exponent {row.exponent:.2f}"]

    @property
    def exponent(self) -> float:
        """The growth from the smallest to the largest: 1 is linear; n log n is about 1.07 here."""
        size = self.deliveries[-1] / self.deliveries[0]
        return math.log(self.seconds[-1] / self.seconds[0]) / math.log(size)


def orderly(deliveries: int, nodes: int = 10, share: float = 0.5) -> Evidence:
    """A quiet run: every node sends in turn to a share of the others (1: to all); all deliver in the order of sending.

    Deliveries trail behind, node by node, so that the logs are not simply parallel.
    """
    everybody = tuple(range(1, nodes + 1))
    width = max(1, round(share * nodes))
    events = list(_orderly(deliveries // width, everybody, width))
    events.append(Event(events[-1].time_ns + 1, 0, NoteKind.MARK, text="end quiet", capture="harness.pcap", frame=1))
    return Evidence(everybody, Notes(events), options=DeltaOptions(delta_ns=10**12))


def _orderly(messages: int, everybody: tuple[int, ...], width: int) -> Iterator[Event]:
    nodes = len(everybody)
    numbers = dict.fromkeys(everybody, 0)
    waiting: dict[int, list[tuple[int, int]]] = {node: [] for node in everybody}
    now = 1_000_000_000

    sent_ns: dict[tuple[int, int], int] = {}

    def note(node: int, kind: NoteKind, about: int, seq: int, peers: tuple[int, ...] = ()) -> Event:
        nonlocal now
        now += 1_000
        numbers[node] += 1
        # As delta notes them: a digest, the time stamp; no wait, no entries.
        values: tuple[int, ...] = ()
        if kind is NoteKind.SENT:
            sent_ns[about, seq] = now
            values = (seq, now, 0)
        elif kind is NoteKind.DELIVERED:
            values = (0, sent_ns[about, seq], 0, 0, 0, 0)
        return Event(
            now, node, kind, about, seq, peers, values, "", 1, numbers[node], now, f"n{node}.pcap", numbers[node]
        )

    for index in range(messages):
        sender = everybody[index % nodes]
        seq = index // nodes + 1
        to = tuple(sorted({everybody[(index * 7 + step) % nodes] for step in range(width)}))
        yield note(sender, NoteKind.SENT, sender, seq, to)
        for node in to:
            yield note(node, NoteKind.ACCEPTED, sender, seq)
            waiting[node].append((sender, seq))
        slow = everybody[(index * 3) % nodes]
        for node in everybody:
            while waiting[node] and (node != slow or len(waiting[node]) > 20):
                yield note(node, NoteKind.DELIVERED, *waiting[node].pop(0))
    for node in everybody:
        for about, seq in waiting[node]:
            yield note(node, NoteKind.DELIVERED, about, seq)


def bench_judges(
    largest: int = 1_000_000, doublings: int = 3, clock: Callable[[], float] = time.process_time
) -> list[JudgesResult]:
    """Judge histories of `largest` deliveries, and of halves of it. Time is CPU time: judging does not wait."""
    sizes = [largest >> (doublings - step) for step in range(doublings + 1)]
    results = []
    for group, properties in GROUPS.items():
        counts, seconds = [], []
        for size in sizes:
            evidence = orderly(size, share=1.0 if group == "TD" else 0.5)
            begin = clock()
            verdicts = judge(evidence, properties)
            seconds.append(clock() - begin)
            wrong = [verdict for verdict in verdicts if verdict.outcome.value != "pass"]
            if wrong:
                raise AssertionError(f"the benchmark's history is orderly, but {wrong[0]}")
            counts.append(sum(event.kind is NoteKind.DELIVERED for event in evidence.notes))
        results.append(JudgesResult(group, tuple(counts), tuple(seconds)))
    return results
