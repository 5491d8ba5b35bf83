"""BUFd (paper 001 §3.3): data that belongs behind a change of the view waits for it, in the order in which it came."""

from __future__ import annotations

from dataclasses import replace

from nodes.st.core import Core
from nodes.st.recovery import Recovery
from nodes.to.membership import Membership
from nodes.to.standing import Standing
from nodes.wire.to import ToData


class Waiting:
    """What stands between a data PDU and the recovery rounds."""

    def __init__(self, core: Core, standing: Standing, membership: Membership, recovery: Recovery) -> None:
        self._core, self._standing, self._membership, self._recovery = core, standing, membership, recovery
        self.forget()

    def forget(self) -> None:
        """Nothing waits."""
        self._buffered: list[tuple[int, ToData]] = []  # with `_taken` at that time
        self._taken = 0  # messages that did not have to wait

    def on_data(self, p: ToData) -> None:
        """D1."""
        if not self._membership.must_wait(p):
            self._take(p)
        elif len(self._buffered) < 4 * self._core.window * self._core.n:
            self._buffered.append((self._taken, p))
        else:
            self._core.counters["buffered_dropped"] += 1

    def _take(self, p: ToData) -> None:
        self._taken += bool(p.dst)
        self._recovery.on_data(self._about_these_lives(p))

    def _about_these_lives(self, p: ToData) -> ToData:
        """p without what it acknowledges of incarnations that I do not know, or know no more."""
        committed = self._standing.committed
        if p.committed == committed:
            return p
        pairs = zip(p.ack, p.committed, committed, strict=True)
        return replace(p, ack=tuple([ack if a >> 1 == b >> 1 else 0 for ack, a, b in pairs]))

    def look_again(self, *, agreed: bool = False) -> None:
        """D1 again for everything that waited. What a stopped or an earlier incarnation sent is void.

        Behind a join that all commit, what waited belongs behind all that did not: that is agreed. Otherwise others,
        for whom it did not have to wait, may have taken it when it came. If I have taken something since then, it would
        come too late here: it is taken for lost, so that a recovery round agrees on its place.
        """
        waiting, self._buffered = self._buffered, []
        here, before = self._standing, self._taken
        for taken, p in waiting:
            k, theirs = p.src - 1, p.v[p.src - 1] >> 1
            if theirs > here.committed[k] >> 1:
                self._buffered.append((taken, p))
            elif theirs == here.committed[k] >> 1 and not here.v[k] & 1:
                if self._membership.must_wait(p):
                    self._buffered.append((taken, p))
                elif agreed or taken == before or not p.dst:
                    self._take(p)
                else:
                    self._core.counters["overtaken"] += 1
