"""Where an entity stands in its cluster (paper 001): its own life, the view as it knows it and as it was agreed.

`v` is what I know (BMAP), `committed` what all members have agreed on; where they differ, a stop round or a join is
to come. A PDU carries both.
"""

from __future__ import annotations

from typing import Any

from nodes.machine import Log
from nodes.st.core import Core
from nodes.st.notes import State
from nodes.to.attempt import JoinRecord, is_member
from nodes.to.options import ToOptions
from nodes.to.views import View, ViewMode, active, first_incarnation, merge, printed_merge, view_number
from nodes.wire.note import NoteKind
from nodes.wire.to import ToPdu, ViewBlock


class Standing:
    """One per entity. Stops, joins and the machine move it, through its methods."""

    def __init__(self, core: Core, options: ToOptions) -> None:
        self._core = core
        self.printed = options.switches()
        self.quorum = 1 if self.printed.quorum else options.quorum or core.n // 2 + 1
        self.merge = printed_merge if self.printed.merge else merge
        self.incarnation = first_incarnation(core.setting.incarnation)
        self.forget(ViewMode.NORMAL)

    def forget(self, vm: ViewMode) -> None:
        """Nothing is known of the others. No NOTE of the mode: the next one belongs to the next life."""
        self.vm = vm
        start = (first_incarnation(1) << 1,) * self._core.n
        self._set(start, start)
        self.promised: JoinRecord | None = None  # jrec: the join for which I have sent RCV_ACK

    def _set(self, v: View, committed: View) -> None:
        self.v, self.committed = v, committed
        self.members = frozenset(active(committed))

    @property
    def code(self) -> int:
        """What a view that holds me for active says of me."""
        return self.incarnation << 1

    def is_inside(self) -> bool:
        """Am I a member?"""
        return self.vm not in (ViewMode.JOINING, ViewMode.LEFT)

    def is_in_join(self) -> bool:
        """Do I take part in a join, of mine or of another one?"""
        return self.vm in (ViewMode.JOINING, ViewMode.ADMITTING)

    def others(self) -> list[int]:
        """The entities that have not stopped, without me."""
        return [j for j in active(self.v) if j != self._core.me]

    def voters(self) -> list[int]:
        """Members about whom nothing new is known."""
        return [j for j in sorted(self.members) if self.v[j - 1] == self.committed[j - 1]]

    def may_learn_from(self, x: ToPdu) -> bool:
        """May what x shows tell me of a join? Not if its sender has stopped since: it may have committed one that all
        others have given up. In a stop round that the voters can end, only what a voter shows: who does not hear
        another one in time gives the join up with the end of the round, and then all must."""
        j = x.src
        if x.v[j - 1] | 1 <= self.v[j - 1]:
            return False
        if self.vm is not ViewMode.STOPPING:
            return True
        voters = self.voters()
        return j in voters or len(voters) < self.quorum

    def holds_me(self, x: ToPdu | ViewBlock) -> bool:
        """Am I a member for x's sender?"""
        return x.committed[self._core.index] == self.code

    def goes_on_without_me(self, x: ToPdu) -> bool:
        """Has x's sender agreed on a stop that I do not know of, and given up the join that I came with?"""
        later = any(theirs > mine for mine, theirs in zip(self.committed, x.committed, strict=True))
        return later and is_member(x) and not self.holds_me(x)

    def has_stops_to_commit(self) -> bool:
        return any(v & 1 and v != c for v, c in zip(self.v, self.committed, strict=True))

    def stamp(self) -> dict[str, Any]:
        """What every PDU shows."""
        return {"v": self.v, "committed": self.committed}

    # Changes

    def enter(self, vm: ViewMode) -> None:
        if vm is not self.vm:
            self.vm = vm
            self._core.note(Log(NoteKind.STATE, values=(*State(self._core.phase.epoch), *self.v), text=vm.value))

    def know(self, v: View) -> None:
        """News of the others."""
        self.v = v

    def see_out(self) -> None:
        """Whoever is a member and has come back since has stopped: that comes first, and it calls again (D-TO-13)."""
        pairs = zip(self.v, self.committed, strict=True)
        self.v = tuple([then | 1 if not then & 1 and now >> 1 > then >> 1 else now for now, then in pairs])

    def commit(self, committed: View, why: str) -> None:
        """The members have agreed."""
        self._set(self.v, committed)
        self._core.counters["views"] += 1
        self._core.note(Log(NoteKind.VIEW, seq=view_number(committed), peers=tuple(sorted(self.members)), text=why))

    def promise(self, record: JoinRecord) -> None:
        """Once I have said RCV_ACK, somebody may have committed this join."""
        self.promised = record

    def release(self) -> None:
        """It is committed here too, or can be committed nowhere."""
        self.promised = None

    def begin_next_life(self) -> None:
        self.incarnation += 1

    def begin_joining(self) -> None:
        """I know nobody but myself, and take part in no view."""
        nobody = (0,) * self._core.n
        self._set(tuple([self.code if j == self._core.me else 0 for j in range(1, self._core.n + 1)]), nobody)
        self.enter(ViewMode.JOINING)
