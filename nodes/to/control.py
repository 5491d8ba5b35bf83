"""View control, common part (paper 001): what an entity knows of the others' lives, its timers, its receiving.

A TO entity is an ST entity (nodes/st/entity.py) with everybody as destination, whose minima and rounds count the
members of the committed view. The stop round (stop.py) takes entities out of the view, the join (join.py) brings
them in; both are agreements among the voters. X0 and D1 below stand before everything ST does with a PDU.

Heartbeats: an entity that has been silent for T_hb sends an ACK PDU, so that silence means a stop.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from nodes.machine import Farewell, Input, Output, Setting, Submit
from nodes.st.entity import Entity
from nodes.st.recovery import Mode
from nodes.st.transfer import Rows
from nodes.to.options import ToOptions, ViewTiming
from nodes.to.views import View, ViewMode, active, first_incarnation, merge, printed_merge, view_number
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.st import ClusterPdu, DataBlock, SnapshotBlock
from nodes.wire.to import ToData, ToPdu, ToRcv, ToRst, ToRstAck, ToRstPak


class Control(Entity):
    """E_i with a view."""

    def __init__(self, setting: Setting, options: ToOptions) -> None:
        self.incarnation = first_incarnation(setting.incarnation)
        self.vm = ViewMode.NORMAL
        self.printed = options.switches()
        self._merge = printed_merge if self.printed.merge else merge
        super().__init__(
            setting, options.transfer(), Rows(ToData, ToRst, ToRstPak, ToRstAck), (0,) * len(setting.members)
        )
        self.view_timing = ViewTiming.of(options, self.timing, self.n, setting.slot_ns)
        self.quorum = 1 if self.printed.quorum else options.quorum or self.n // 2 + 1
        self._started = False
        self._failed_joins = 0  # since I was last a member
        self._due: int | None = 0

    def _empty(self) -> None:
        super()._empty()
        code = first_incarnation(1) << 1
        self.v: View = (code,) * self.n
        self.committed: View = self.v
        self.members = frozenset(self._setting.members)
        self._heard = [self._now] * self.n  # when a PDU of each entity's current incarnation last came
        self._buffered: list[tuple[int, ToData]] = []  # BUFd, in the order of arrival, with `taken` at that time
        self._taken = 0  # messages that did not have to wait
        self._watch_at: int | None = None  # the earliest time at which a T_stop may have passed
        self._heartbeat_at: int | None = None  # T_hb
        self._view_at: int | None = None  # T_r'
        self._back_at: int | None = None  # when I come back after leaving

    # Time

    @property
    def deadline(self) -> int | None:
        """The earliest timer; before the start, at once."""
        return self._due

    def _earliest(self) -> int | None:
        due = super().deadline
        for at in (self._watch_at, self._heartbeat_at, self._view_at, self._back_at):
            if at is not None and (due is None or at < due):
                due = at
        return due

    def step(self, event: Input, now_ns: int) -> list[Output]:
        """Take one input."""
        self._now = now_ns
        if not self._started:
            self._started = True
            self._start()
        elif self._due is not None and now_ns - self._due > self.view_timing.heartbeat:
            # I was the one that stood still: what I did not hear says nothing about the others.
            self._counters["awoke"] += 1
            self._hear_all()
        if isinstance(event, Farewell):
            self._take_leave()
        outputs = super().step(event, now_ns)
        self._due = self._earliest()
        return outputs

    @abstractmethod
    def _start(self) -> None:
        """The first step: as a founding member, or as one who comes back."""

    def _fire(self) -> None:
        super()._fire()
        if self._watch_at is not None and self._now >= self._watch_at:
            self._watch()
        if self._heartbeat_at is not None and self._now >= self._heartbeat_at:
            self._heartbeat_at = self._now + self.view_timing.heartbeat
            if self.mode is Mode.DATA and self._may_speak():
                self._send_ack()
        if self._view_at is not None and self._now >= self._view_at:
            self._view_at = self._next_repetition()
            self._counters["view_repetitions"] += 1
            self._repeat_view()
        if self._back_at is not None and self._now >= self._back_at:
            self._back_at = None
            self._come_back()

    def _hear_all(self) -> None:
        """Restart all T_stop."""
        self._heard = [self._now] * self.n
        self._watch_at = self._now + self.view_timing.stop

    def _watch(self) -> None:
        """S1: whose T_stop has passed?"""
        stop, others = self.view_timing.stop, [j for j in active(self.v) if j != self.me]
        silent = [j for j in others if self._now - self._heard[j - 1] >= stop]
        if silent:
            self._suspect(silent)
        if self.vm not in (ViewMode.JOINING, ViewMode.LEFT):
            heard = [self._heard[j - 1] for j in active(self.v) if j != self.me]
            self._watch_at = max(min(heard, default=self._now) + stop, self._now + 1)

    @abstractmethod
    def _suspect(self, whom: list[int]) -> None:
        """S1: these have stopped."""

    @abstractmethod
    def _take_leave(self) -> None:
        """Say to the others that I stop."""

    @abstractmethod
    def _repeat_view(self) -> None:
        """T_r': what I said last in the stop round or the join may be lost."""

    # The application

    def settled(self) -> bool:
        """A member in an undisturbed view, to which nothing is owed."""
        return self.vm is ViewMode.NORMAL and self.v == self.committed and super().settled()

    def _submit(self, request: Submit) -> None:
        if set(request.to) != set(self._setting.members):
            self._refuse_request(request, "TO is for everybody")
        else:
            super()._submit(request)

    def _may_speak(self) -> bool:
        return self.vm in (ViewMode.NORMAL, ViewMode.STOPPING)

    def _id(self, p: DataBlock) -> int:
        assert isinstance(p, ToData)
        return (p.v[p.src - 1] >> 1) << 32 | p.tseq

    # Sending

    def _stamp(self) -> dict[str, Any]:
        return {"v": self.v, "committed": self.committed}

    def _view_pdu(self, row: type[Any], flags: int = 0, **fields: Any) -> Any:
        return row(
            src=self.me,
            cluster=self._options.cluster,
            n=self.n,
            flags=flags,
            epoch=self.epoch,
            tseq=self.sl.tseq,
            **{**self._stamp(), **fields},
        )

    def _emit(self, pdu: Pdu) -> None:
        self._heartbeat_at = self._now + self.view_timing.heartbeat
        super()._emit(pdu)

    # Receiving: X0, then what the PDU is

    def _sees_the_future(self, pdu: ClusterPdu, expected: Any) -> bool:
        assert isinstance(pdu, ToPdu)
        about_me = pdu.committed[self.index] == self.incarnation << 1
        return about_me and super()._sees_the_future(pdu, expected)

    def _dispatch(self, pdu: ClusterPdu) -> None:
        assert isinstance(pdu, ToPdu)
        if self.vm is ViewMode.LEFT or not self._admit(pdu):
            return
        self._learn(pdu)
        if self._replay:
            self._keep_for_later(pdu)  # what I learnt has ended a round: those that waited for its end came before
        elif isinstance(pdu, DataBlock):
            self._on_data(pdu)
        elif isinstance(pdu, SnapshotBlock):
            if self.vm is not ViewMode.JOINING:
                self._on_round(pdu)
        else:
            self._on_view(pdu)

    def _admit(self, x: ToPdu) -> bool:
        """X0: does x come from somebody who can still say something to me?"""
        j, joining = x.src, self.vm is ViewMode.JOINING
        mine, theirs = self.v[j - 1], x.v[j - 1]
        outcast = x.v[self.index] == self.incarnation << 1 | 1
        if outcast and (joining or not mine & 1 or len(active(self.v)) < self.quorum):
            self._leave(f"n{j} holds me for stopped")  # X0.1
            return False
        if isinstance(x, ToRcv):
            return True
        if joining:
            self._heard[j - 1] = self._now
            return True
        if theirs >> 1 < mine >> 1 or (mine & 1 and not self._still_accepted(x)):
            self._counters["of_the_stopped"] += 1
            return False  # X0.2: what I reported of a stopped entity is final (D-TO-2)
        if theirs >> 1 == mine >> 1:
            self._heard[j - 1] = self._now
        elif not mine & 1:
            self._suspect([j])  # it speaks as a later incarnation: the one I know has stopped
            return False
        return True

    def _still_accepted(self, x: ToPdu) -> bool:
        """The printed rule has no freeze: until the stop is committed, PDUs of the stopped count (D-TO-2)."""
        k = x.src - 1
        return (
            self.printed.freeze
            and isinstance(x, ToData)
            and self.v[k] != self.committed[k]
            and x.v[k] >> 1 == self.v[k] >> 1
        )

    @abstractmethod
    def _learn(self, x: ToPdu) -> None:
        """X0.3: a join that is committed anywhere is committed here."""

    @abstractmethod
    def _on_view(self, x: ToPdu) -> None:
        """A PDU of a stop round or a join."""

    def _on_data(self, p: DataBlock) -> None:
        """D1: data that belongs behind a view change waits for it."""
        assert isinstance(p, ToData)
        if self._must_wait(p):
            if len(self._buffered) < 4 * self._window * self.n:
                self._buffered.append((self._taken, p))
            else:
                self._counters["buffered_dropped"] += 1
        else:
            self._taken += bool(p.dst)
            super()._on_data(self._about_these_lives(p))

    def _about_these_lives(self, p: ToData) -> ToData:
        """p without what it acknowledges of incarnations that I do not know, or know no more."""
        if p.committed == self.committed:
            return p
        pairs = zip(p.ack, p.committed, self.committed, strict=True)
        return replace(p, ack=tuple([ack if a >> 1 == b >> 1 else 0 for ack, a, b in pairs]))

    @abstractmethod
    def _must_wait(self, p: ToData) -> bool:
        """D1: does p belong behind a view change?"""

    def _replay_buffered(self, *, agreed: bool = False) -> None:
        """D1 again for everything that waited. What a stopped or an earlier incarnation sent is void.

        Behind a join that all commit, what waited belongs behind all that did not: that is agreed. Otherwise others
        may have taken it when it came, hence before what came in the meantime here: it is taken for lost, so that a
        recovery round agrees on its place.
        """
        waiting, self._buffered = self._buffered, []
        before = self._taken
        for taken, p in waiting:
            k, theirs = p.src - 1, p.v[p.src - 1] >> 1
            if theirs > self.committed[k] >> 1:
                self._buffered.append((taken, p))
            elif theirs == self.committed[k] >> 1 and not self.v[k] & 1:
                if self._must_wait(p):
                    self._buffered.append((taken, p))
                elif agreed or taken == before or not p.dst:
                    self._on_data(p)
                else:
                    self._counters["overtaken"] += 1

    # Views

    def _install(self, why: str) -> None:
        """The committed view has changed: minima and rounds count its members."""
        self.members = frozenset(active(self.committed))
        counted = frozenset(j - 1 for j in self.members)
        self.log.al.count_only(counted)
        self.log.pal.count_only(counted)
        self._counters["views"] += 1
        self._note(NoteKind.VIEW, seq=view_number(self.committed), peers=tuple(sorted(self.members)), text=why)

    def _voters(self) -> list[int]:
        """Members about whom nothing new is known."""
        return [j for j in sorted(self.members) if self.v[j - 1] == self.committed[j - 1]]

    def _enter_view_mode(self, vm: ViewMode) -> None:
        if vm is not self.vm:
            self.vm = vm
            self._note(NoteKind.STATE, values=(self.epoch, *self.v), text=vm.value)

    def _leave(self, why: str) -> None:
        """Forget everything but the application's requests; come back as the next incarnation."""
        self._counters["left"] += 1
        self._failed_joins = self._failed_joins + 1 if self.vm is ViewMode.JOINING else 0  # do not ask at every moment
        self._note(NoteKind.LEFT, text=why)
        self._fall_silent()
        self._back_at = self._now + (self._next_repetition() - self._now << min(self._failed_joins, 6))

    def _fall_silent(self) -> None:
        self._empty()
        self.vm = ViewMode.LEFT  # without a NOTE: the next one belongs to the next life
        self._heartbeat_at = self._watch_at = None

    @abstractmethod
    def _come_back(self) -> None:
        """R1: as the next incarnation."""
