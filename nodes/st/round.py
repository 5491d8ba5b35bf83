"""A recovery round (paper 000 §4.2, §4.3): its phases, what was collected in it, and the bitmap of what is held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from enum import Enum

from nodes.st.lines import agreed_line
from nodes.wire.st import RoundBlock, SnapshotBlock

WORD = 32


class Mode(Enum):
    """Where an entity stands."""

    DATA = "DATA"  # data transfer
    PAKWAIT = "PAKWAIT"  # waiting for the snapshots
    ACKWAIT = "ACKWAIT"  # waiting until everybody knows all snapshots
    RECOV = "RECOV"  # waiting for what I lost


class Phase:
    """How far an entity's rounds have come. Only they (recovery.py) write it; everybody may look."""

    __slots__ = ("epoch", "mode")

    def __init__(self) -> None:
        self.epoch = 0  # rounds finished
        self.mode = Mode.DATA


class Round:
    """What one entity has collected in one round. The first snapshot of an entity counts: they are frozen (D-ST-9)."""

    __slots__ = ("acks", "arrivals", "c", "number", "snapshots")

    def __init__(self, number: int) -> None:
        self.number = number
        self.snapshots: dict[int, SnapshotBlock] = {}
        self.acks: dict[int, RoundBlock] = {}
        self.arrivals: list[int] = []  # ORDR: as the RST_PAKs came (D-ST-15)
        self.c: tuple[int, ...] | None = None

    def collect_snapshot(self, x: SnapshotBlock) -> bool:
        """A RST_PAK; whether its sender's was there before."""
        if x.src not in self.arrivals:
            self.arrivals.append(x.src)
        return self.snapshots.setdefault(x.src, x) is not x

    def collect_ack(self, x: RoundBlock) -> bool:
        """A RST_ACK, with its copy of the RST_PAK; whether one was there before."""
        self.snapshots.setdefault(x.src, x)
        return self.acks.setdefault(x.src, x) is not x

    def line(self, members: Set[int]) -> tuple[int, ...] | None:
        """c, once the snapshots of all members are there."""
        if not members <= self.snapshots.keys():
            return None
        return agreed_line([self.snapshots[j] for j in sorted(members)])


def words_for(window: int) -> int:
    """Words per entity that hold the bitmap of a window."""
    return -(-window // WORD)


def bitmap(held: Iterable[int], lo: int, words: int) -> list[int]:
    """Which numbers from lo+1 on are held, as words, the top one first; what does not fit is left out."""
    bits, limit = 0, words * WORD
    for number in held:
        if 0 <= number - lo - 1 < limit:
            bits |= 1 << (number - lo - 1)
    return [bits >> (WORD * (words - 1 - w)) & 0xFFFFFFFF for w in range(words)]


def is_held(number: int, lo: int, words: Sequence[int]) -> bool:
    """Whether the bitmap says that `number` is held."""
    bit = number - lo - 1
    if not 0 <= bit < WORD * len(words):
        return False
    return bool(words[len(words) - 1 - bit // WORD] >> (bit % WORD) & 1)
