"""The failure line (paper 000 §4.1, §4.2) and the order of what lies behind it (§4.3), as functions over logs.

The repaired rule cuts the set of PDUs, not the log: what every entity had when the round began keeps the order in
which it came, the rest is sorted after it, everywhere by the same vector. The paper's rules cut each log at one
point; they stand here too, because scenarios switch them on and tests hold them against the paper's own figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodes.wire.st import DataBlock, SnapshotBlock

Log = Sequence[DataBlock]
Cut = tuple[list[DataBlock], list[DataBlock]]  # before the line, behind it


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an entity knows when it cuts its log."""

    me: int
    c: tuple[int, ...]  # per source: the least TREQ of any snapshot
    snapshots: Mapping[int, SnapshotBlock]


def agreed_line(snapshots: Sequence[SnapshotBlock]) -> tuple[int, ...]:
    """c: what nobody lacks of each source is below it (D-ST-4)."""
    return tuple([min(column) for column in zip(*[snapshot.a_t for snapshot in snapshots], strict=True)])


def partition(log: Log, evidence: Evidence) -> Cut:
    """Repaired: a PDU is behind the line iff its TSEQ is not below c of its source (D-ST-4, D-ST-5)."""
    c = evidence.c
    front = [p for p in log if p.tseq < c[p.src - 1]]
    return front, [p for p in log if p.tseq >= c[p.src - 1]]


def printed_line(log: Log, evidence: Evidence) -> Cut:
    """§4.2 (3) to the letter: the first q with q.PSEQ_h >= the least A_h, whatever q's source is (D-ST-4)."""
    h = evidence.me - 1
    least = min(snapshot.a_p[h] for snapshot in evidence.snapshots.values())
    return _cut_at_first(log, [p.pseq[h] >= least for p in log])


def prefix_line(log: Log, evidence: Evidence) -> Cut:
    """§4.2 (3) as meant: the first PDU that one of its destinations lacked; no closure (D-ST-5)."""
    return _cut_at_first(log, [lacked_somewhere(p, evidence.snapshots) for p in log])


def lacked_somewhere(p: DataBlock, snapshots: Mapping[int, SnapshotBlock]) -> bool:
    """Whether a destination of p had not received it when it made its snapshot."""
    return any(p.pseq[j - 1] >= snapshots[j].a_p[p.src - 1] for j in p.dst)


def closure(logs: Mapping[int, Log], snapshots: Mapping[int, SnapshotBlock]) -> dict[int, int]:
    """§4.1: per entity how many PDUs of its log lie before the line; behind at one destination is behind at all.

    No entity can compute it, since it needs all logs; it is here to be compared with figure 6.
    """
    behind = {(p.src, p.tseq) for log in logs.values() for p in log if lacked_somewhere(p, snapshots)}
    while True:
        cut = {
            i: next((at for at, p in enumerate(log) if (p.src, p.tseq) in behind), len(log)) for i, log in logs.items()
        }
        grown = behind | {(p.src, p.tseq) for i, log in logs.items() for p in log[cut[i] :]}
        if grown == behind:
            return cut
        behind = grown


def sort_rear(rear: Log, order: Sequence[int]) -> list[DataBlock]:
    """§4.3: by the position of the source in `order`, then as it was sent."""
    position = {source: at for at, source in enumerate(order)}
    return sorted(rear, key=lambda p: (position[p.src], p.tseq))


def _cut_at_first(log: Log, behind: Sequence[bool]) -> Cut:
    at = behind.index(True) if True in behind else len(log)
    return list(log[:at]), list(log[at:])
