"""An attempt at a join (paper 001 §3.3), as plain data: what each entity has said in it, and where I stand."""

from __future__ import annotations

from dataclasses import dataclass, field

from nodes.to.views import View
from nodes.wire.to import JoinBlock, ToPdu, ViewBlock

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JoinRecord:
    """A join that somebody may have committed: its view, and from where on each entity takes part."""

    v: View
    nxt: Vector
    nxtp: Vector


@dataclass(slots=True)
class Attempt:
    """The attempt I am in. Joins (join.py, joiner.py) write it; who asks about it looks."""

    packs: dict[int, JoinBlock] = field(default_factory=dict)  # who has said its point, in RCV_PACK or RCV_ACK
    acks: dict[int, JoinBlock] = field(default_factory=dict)  # who has everything before the points
    nxt: int = 1  # my point, frozen
    nxtp: int = 1
    void: bool = False  # a recovery round has ended the attempt (recovery = "live")

    def forget(self) -> None:
        self.nxt = self.nxtp = 1
        self.void = False
        self.clear()

    def clear(self) -> None:
        """Nobody has said anything yet."""
        self.packs, self.acks = {}, {}

    def record(self, v: View) -> JoinRecord:
        """What everybody's RCV_PACK amounts to."""
        packs = [self.packs.get(j) for j in range(1, len(v) + 1)]
        return JoinRecord(v, tuple([x.nxt if x else 1 for x in packs]), tuple([x.nxtp if x else 1 for x in packs]))


def is_member(x: ToPdu | ViewBlock) -> bool:
    """Does the sender take part in a committed view?"""
    return x.committed[x.src - 1] == x.v[x.src - 1]
