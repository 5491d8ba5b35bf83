"""Who comes back (paper 001 §3.3): it calls, follows what the members say, and founds a cluster where there is none.

Founding: a cluster whose members have all gone cannot admit anybody. When a quorum of joiners hears nobody else for
2 T_stop, they join each other (RCV_PACK and RCV_ACK with PHASE). Entities that are not among them count as stopped.
A joiner that has ever answered a member never founds in that incarnation, and a founder that hears a member leaves,
since either may have been committed: so no entity is in two clusters. A founder whom the others give up may have
committed the founding that they give up with it: all of them follow it, or none.
"""

from __future__ import annotations

from collections.abc import Callable

from nodes.to.attempt import is_member
from nodes.to.parts import Parts
from nodes.to.views import View, active, with_stopped
from nodes.wire.st import PHASE
from nodes.wire.to import JoinBlock, StopBlock, ToPdu, ToRcv

NOBODY = 1  # the code of an entity that is not among the founders: stopped before its first incarnation


class Joiner:
    """One entity until it is a member. `say_pack` says its RCV_PACK."""

    def __init__(self, parts: Parts, say_pack: Callable[[], None]) -> None:
        self._core, self._standing, self._attempt = parts.core, parts.standing, parts.attempt
        self._timers, self._recovery, self._live = parts.timers, parts.recovery, parts.manner.live
        self._pdu_of, self._say_pack, self._leave = parts.pdu, say_pack, parts.leave
        self.forget()

    def forget(self) -> None:
        """I have met nobody."""
        self.met_member = False  # a member knows that I am here, and may have committed me
        self.founding = False  # other founders do
        self._others: dict[int, tuple[int, int]] = {}  # other joiners: incarnation, when heard
        self._since_ns = self._core.now_ns

    # R1

    def begin(self) -> None:
        """I am back."""
        self._since_ns = self._core.now_ns
        self._standing.begin_joining()
        self.call()
        self._timers.repeat()
        self._timers.restart()
        self._timers.beat()

    def call(self) -> None:
        self._core.emit(self._pdu_of(ToRcv))

    def on_return(self, x: ToRcv) -> None:
        """Another one has come back."""
        self._others[x.src] = (x.v[x.src - 1] >> 1, self._core.now_ns)

    # R3

    def on_stop(self, x: StopBlock) -> None:
        """S2.1: a joiner takes no part in a stop round, but the view it joins changes."""
        known = self._standing.merge(self._standing.v, x.v)
        if known != self._standing.v and self.met_member and is_member(x):
            self._begin_again(known)

    def follows(self, x: JoinBlock) -> bool:
        """Learn from x; whether it belongs to the attempt that I am in."""
        later = self._live and is_member(x) and x.epoch != self._core.phase.epoch
        if later:
            if x.epoch < self._core.phase.epoch:
                return False
            self._recovery.join_epoch(x.epoch)
            self._standing.release()
            self._begin_again(self._standing.v)
        follows = self._merge(x)
        if later and follows and self._core.me not in self._attempt.packs:
            self._say_pack()
        return follows

    def _merge(self, x: JoinBlock) -> bool:
        if is_member(x):
            if self.founding:
                self._leave(f"n{x.src} is a member of a cluster")
                return False
            self.met_member = True
        elif x.flags & PHASE:
            if self.met_member:
                return False
            if not self.founding:
                self.founding = True
                self._timers.hear_all()
        else:
            return not self.founding  # another joiner: what it knows of the view, it has from members
        known = self._standing.merge(self._standing.v, x.v)
        if known != self._standing.v:
            self._begin_again(known)
            self._say_pack()
        return True

    def _begin_again(self, known: View) -> None:
        """A joiner learns a later view. It keeps the record of a join that others may have committed.

        It has committed nothing itself: to show the view as committed would bear false witness of another joiner.
        """
        self._standing.know(known)
        self._attempt.clear()
        self._since_ns = self._core.now_ns

    def has_gone_on_without(self, x: ToPdu) -> bool:
        """Is x's sender a founder without whom I found? What it shows must not count any more: once all founders have
        said so, any of them may found without it, and one that followed it then would be in another cluster."""
        return self.founding and x.v[x.src - 1] < self._standing.v[x.src - 1]

    # Time

    def watch(self) -> None:
        """Does the join come to nothing? Is there nobody who could let me in?"""
        timers, now, stop = self._timers, self._core.now_ns, self._timers.stop
        timers.watch_in(stop // 2)
        if self.founding or self.met_member:
            silent = timers.silent(self._standing.others())
            if now - self._since_ns >= 4 * stop:
                self._leave("the join came to nothing")
            elif self.founding and silent:
                self._found_without(silent)
            return
        strangers = [at for j, at in enumerate(timers.heard, 1) if j != self._core.me and j not in self._others]
        silence = now - max([self._since_ns, *strangers])
        fresh = {j: incarnation for j, (incarnation, heard) in self._others.items() if now - heard < stop}
        if silence >= 2 * stop and len(fresh) + 1 >= self._standing.quorum:
            self._found(fresh)

    def _found(self, others: dict[int, int]) -> None:
        """The joiners become a cluster of their own."""
        view = [others[j] << 1 if j in others else NOBODY for j in range(1, self._core.n + 1)]
        view[self._core.index] = self._standing.code
        self._core.counters["foundings"] += 1
        self.founding = True
        self._timers.hear_all()
        self._begin_again(tuple(view))
        self._say_pack()

    def _found_without(self, silent: list[int]) -> None:
        """A founder has stopped before the cluster was there. No member is touched: all in this view are founders."""
        known = with_stopped(self._standing.v, silent)
        if len(active(known)) < self._standing.quorum:
            self._leave("the founding came to nothing")
        else:
            self._begin_again(known)
            self._say_pack()
