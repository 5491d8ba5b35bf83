"""TO: total order among those who live (paper 001); one entity, put together from its parts.

The data transfer and the recovery rounds are ST's, with everybody as destination. membership: what they ask · stop:
stop rounds take entities out of the view · join, joiner: joins bring them in · waiting: data that belongs behind a
change. X0 here stands before all that is done with a PDU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodes.machine import Farewell, Input, Log, Output, Received, Setting, Submit
from nodes.st.core import Core, Rows, earliest
from nodes.st.recovery import Recovery
from nodes.st.round import Mode
from nodes.st.transfer import Transfer
from nodes.to.attempt import Attempt
from nodes.to.join import Joins
from nodes.to.live import Manner
from nodes.to.membership import Membership
from nodes.to.options import ToOptions
from nodes.to.parts import Parts
from nodes.to.standing import Standing
from nodes.to.stop import Stops
from nodes.to.timers import Timers
from nodes.to.views import ViewMode, active, first_incarnation, is_last_of_its_start
from nodes.to.waiting import Waiting
from nodes.wire import Pdu
from nodes.wire.note import NoteKind
from nodes.wire.st import SnapshotBlock
from nodes.wire.to import (
    ToData,
    ToPdu,
    ToRcv,
    ToRcvAck,
    ToRcvPack,
    ToRst,
    ToRstAck,
    ToRstPak,
    ToStop,
    ToStopAck,
    ToStopPack,
)

NO_INCARNATION = "no incarnation is left in this life of the process"


class To:
    """E_i of a cluster with a view."""

    def __init__(self, setting: Setting, options: ToOptions) -> None:
        rows = Rows(ToData, ToRst, ToRstPak, ToRstAck)
        core = self.core = Core(setting, options.transfer(), rows, slot=(0,) * len(setting.members))
        attempt = self.attempt = Attempt()
        self.standing = Standing(core, options)
        manner = Manner(core, self.standing, attempt, live=options.recovery == "live")
        membership = Membership(core, self.standing, attempt, manner)
        self.timers = Timers(core, options)
        self.transfer = Transfer(core, membership)
        self.recovery = Recovery(core, membership, self.transfer, begins=lambda: self._joins.round_begins())
        self._waiting = Waiting(core, self.standing, membership, self.recovery)
        parts = Parts(
            core=core,
            standing=self.standing,
            attempt=attempt,
            manner=manner,
            timers=self.timers,
            transfer=self.transfer,
            recovery=self.recovery,
            waiting=self._waiting,
            leave=self._leave,
        )
        self.stops = Stops(parts)
        self._joins = Joins(parts, self.stops)
        joins, joiner = self._joins, self._joins.joiner
        self._as_member: dict[type, Any] = {
            ToData: self._waiting.on_data,
            **dict.fromkeys((ToRst, ToRstPak, ToRstAck), self._on_round),
            **dict.fromkeys((ToStop, ToStopPack, ToStopAck), self.stops.on_stop),
            ToRcv: joins.on_return,
            **dict.fromkeys((ToRcvPack, ToRcvAck), joins.on_join),
        }
        self._as_joiner: dict[type, Any] = {
            **self._as_member,
            **dict.fromkeys((ToRst, ToRstPak, ToRstAck), lambda x: None),  # rounds are among members
            **dict.fromkeys((ToStop, ToStopPack, ToStopAck), joiner.on_stop),
        }
        self._started = False
        self._failed_joins = 0  # since I was last a member
        self._back_at: int | None = None  # when I come back after leaving
        self._due: int | None = 0

    def states(self) -> Mapping[int, str]:
        """Where it stands in the view control, once it has heard anything."""
        return {0: self.standing.vm.value} if self._started else {}

    def phase(self) -> str:
        """What it is doing, and whether a join may be done elsewhere: which it has promised, or founds with others."""
        bound = "promised" if self.standing.promised else "founding" if self._joins.joiner.founding else ""
        return f"{self.standing.vm.value} {self.core.phase.mode.value} {bound}"

    @property
    def deadline(self) -> int | None:
        """The earliest timer; before the start, at once."""
        return self._due

    def step(self, event: Input, now_ns: int) -> list[Output]:
        """Take one input."""
        core = self.core
        core.now_ns = now_ns
        if not self._started:
            self._start()
        elif self._due is not None and now_ns - self._due > self.timers.heartbeat:
            # I was the one that stood still: what I did not hear says nothing about the others.
            core.counters["awoke"] += 1
            self.timers.restart()
        if isinstance(event, Received):
            if self.transfer.admits(event.pdu):
                self._dispatch(event.pdu)
        elif isinstance(event, Submit):
            self._submit(event)
        elif isinstance(event, Farewell) and self.standing.is_inside():
            self.stops.say_farewell()
            self._fall_silent()
        self._fire()
        self._settle()
        self._due = earliest(self.transfer.deadline, self.recovery.deadline, self.timers.deadline, self._back_at)
        return core.take_outputs()

    def _start(self) -> None:
        """The first step: as a founding member, or as one who comes back."""
        self._started = True
        if self.standing.incarnation == first_incarnation(1):
            self.timers.restart()
            self.timers.beat()
        else:
            self._joins.joiner.begin()

    def _fire(self) -> None:
        core = self.core
        self.transfer.fire()
        self.recovery.fire()
        if self.timers.is_watch_due():
            self._joins.joiner.watch() if self.standing.vm is ViewMode.JOINING else self.stops.watch()
        if self.timers.is_beat_due():
            self.timers.beat()
            self.transfer.send_ack()
        if self.timers.is_repetition_due():
            self.timers.repeat()
            core.counters["view_repetitions"] += 1
            self.stops.repeat() if self.standing.vm is ViewMode.STOPPING else self._joins.repeat()
        if self._back_at is not None and core.now_ns >= self._back_at:
            self._back_at = None
            self.standing.begin_next_life()
            self._joins.joiner.begin()

    def _settle(self) -> None:
        self._joins.resume()
        for pdu in self.recovery.due():
            self._dispatch(pdu)
        self.transfer.settle()
        self._joins.go_on()

    def settled(self) -> bool:
        """A member in an undisturbed view, to which nothing is owed."""
        here = self.standing
        undisturbed = here.vm is ViewMode.NORMAL and here.v == here.committed and self.core.phase.mode is Mode.DATA
        return undisturbed and self.transfer.settled()

    def counters(self) -> Mapping[str, int]:
        """Totals by name."""
        return dict(self.core.counters)

    def _submit(self, request: Submit) -> None:
        if set(request.to) != set(self.core.setting.members):
            self.core.refuse_request(request, "TO is for everybody")
        elif not self.standing.is_inside() and is_last_of_its_start(self.standing.incarnation):
            self.core.refuse_request(request, NO_INCARNATION)
        else:
            self.transfer.submit(request)

    # Receiving: X0, then what the PDU is

    def _dispatch(self, pdu: Pdu) -> None:
        assert isinstance(pdu, ToPdu)
        if self.standing.vm is ViewMode.LEFT or not self._admits(pdu) or not self._learn(pdu):
            return
        if self.recovery.ended:
            self.recovery.keep_for_later(pdu)  # what I learnt has ended a round: those that waited for it came before
            return
        handlers = self._as_joiner if self.standing.vm is ViewMode.JOINING else self._as_member
        handlers[type(pdu)](pdu)

    def _on_round(self, x: SnapshotBlock) -> None:
        """Rounds are among members: who is one by a join that I have not committed takes me into none. That would void
        what I have promised, and I could not follow any more."""
        if x.src in self.standing.members or self.core.phase.mode is not Mode.DATA:
            self.recovery.on_pdu(x)

    def _learn(self, x: ToPdu) -> bool:
        """X0.3: what is committed anywhere is committed here. False if I left for it: my next life must not find x."""
        if self.standing.vm is not ViewMode.JOINING:
            self.stops.learn(x)
        self._joins.learn(x)
        return self.standing.vm is not ViewMode.LEFT

    def _admits(self, x: ToPdu) -> bool:
        """X0: does x come from somebody who can still say something to me?"""
        here, j, joining = self.standing, x.src, self.standing.vm is ViewMode.JOINING
        mine, theirs = here.v[j - 1], x.v[j - 1]
        outcast = x.v[self.core.index] == here.code | 1
        if outcast and (joining or not mine & 1 or len(active(here.v)) < here.quorum):
            self._leave(f"n{j} holds me for stopped")  # X0.1
            return False
        if isinstance(x, ToRcv):
            return True
        if joining:
            if self._joins.joiner.has_gone_on_without(x):
                return False
            self.timers.hear(j)
            return True
        if theirs >> 1 < mine >> 1 or (mine & 1 and not self._is_still_accepted(x)):
            self.core.counters["of_the_stopped"] += 1
            return False  # X0.2: what I reported of a stopped entity is final (D-TO-2)
        if theirs >> 1 == mine >> 1:
            self.timers.hear(j)
            if here.goes_on_without_me(x):
                self._leave(f"n{j} has gone on without me")
                return False
        elif not mine & 1:
            self.stops.suspect([j])  # it speaks as a later incarnation: the one I know has stopped
            return False
        return True

    def _is_still_accepted(self, x: ToPdu) -> bool:
        """The printed rule has no freeze: until the stop is committed, PDUs of the stopped count (D-TO-2)."""
        here, k = self.standing, x.src - 1
        return (
            here.printed.freeze
            and isinstance(x, ToData)
            and here.v[k] != here.committed[k]
            and x.v[k] >> 1 == here.v[k] >> 1
        )

    # Leaving

    def _leave(self, why: str) -> None:
        """Forget everything but the application's requests; come back as the next incarnation."""
        core = self.core
        core.counters["left"] += 1
        joining = self.standing.vm is ViewMode.JOINING
        self._failed_joins = self._failed_joins + 1 if joining else 0  # do not ask at every moment
        core.note(Log(NoteKind.LEFT, text=why))
        self._fall_silent()
        if is_last_of_its_start(self.standing.incarnation):
            core.note(Log(NoteKind.ALARM, core.me, text=NO_INCARNATION))
        else:
            self._back_at = core.now_ns + (core.next_repetition() - core.now_ns << min(self._failed_joins, 6))

    def _fall_silent(self) -> None:
        self.standing.forget(ViewMode.LEFT)
        self.transfer.forget()
        self.recovery.forget()
        self.timers.forget()
        self._waiting.forget()
        self.stops.forget()
        self._joins.forget()
        self._back_at = None
