"""What makes a message deliverable: s-records and vector time (paper 004 §3.3), or an N x N matrix instead.

An order knows nothing of links, queues and time. `t` numbers the events of a process; after a restart they go on
above those of the last incarnation, so every record of an earlier life is below.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping

from nodes.cmd.options import CmdOptions
from nodes.cmd.reliable import Copy, Frame
from nodes.cmd.rules import NUMBERING, Records, rules_for
from nodes.wire.cmd import CmdData, CmdMatrix

RECORDS_MAX = 7000  # what fits into one UDP datagram

Build = Callable[[Frame], Copy]
Queued = Mapping[int, int]  # source -> t of its oldest message in the Queue


class Order(typing.Protocol):
    """One process's knowledge of what must come before what."""

    @property
    def t(self) -> int:
        """The local time: number of this process's events."""

    @property
    def may_count(self) -> bool:
        """Is there a number for one more event in this life?"""

    def send(self, to: tuple[int, ...], data: bytes) -> dict[int, Build] | None:
        """Count a message; the copy for each destination. None: its tag would not fit into a datagram."""

    def refusal(self, copy: Copy) -> str | None:
        """Why a copy cannot be one of this order."""

    def deliverable(self, copy: Copy, queued: Queued) -> bool:
        """Is everything delivered that must come before it?"""

    def deliver(self, copy: Copy) -> bool:
        """Count it. Should the Queue be looked at?"""

    def lost_up_to(self, source: int, t: int) -> None:
        """What a source numbered up to t will not come any more."""

    def tag_size(self) -> int:
        """Records or counters in the tag of the next message."""

    def vector(self) -> tuple[int, ...]:
        """V, where the order has one."""


class SRecords:
    """V_i and R_i."""

    def __init__(self, me: int, members: tuple[int, ...], incarnation: int, options: CmdOptions) -> None:
        self._me, self._members = me, members
        self._rules = rules_for(options)
        self.v = dict.fromkeys(members, 0)
        self._numbers = NUMBERING.of(incarnation)
        self.v[me] = self._numbers[0] - 1
        self.r: Records = frozenset()
        self._lost = dict.fromkeys(members, 0)
        # Process, one of its lives -> how far I know it. V tells of the latest life alone, and what a message tells of
        # an earlier one may come after it.
        self._reached: dict[tuple[int, int], int] = {}

    @property
    def t(self) -> int:
        return self.v[self._me]

    @property
    def may_count(self) -> bool:
        return self.t + 1 in self._numbers

    def send(self, to: tuple[int, ...], data: bytes) -> dict[int, Build] | None:
        if len(self.r) + len(to) > RECORDS_MAX:
            return None
        self.v[self._me] += 1
        t, v = self.t, self.vector()
        copies = {j: self._copy(t, v, self.r | self._rules.names(self._me, to, t, j), data) for j in to}
        self.r = self._rules.sent(self.r, self._me, to, t)
        return copies

    def _copy(self, t: int, v: tuple[int, ...], records: Records, data: bytes) -> Build:
        r = tuple(sorted(records))
        return lambda frame: CmdData(
            src=self._me,
            incarnation=frame.incarnation,
            to_incarnation=frame.to_incarnation,
            link=frame.link,
            repeated=0,
            t=t,
            n=len(v),
            nrec=len(r),
            v=v,
            r=r,
            payload=data,
        )

    def refusal(self, copy: Copy) -> str | None:
        if not isinstance(copy, CmdData):
            return "scheme"
        if copy.n != len(self._members) or not all(k in self.v and to in self.v for k, to, _ in copy.r):
            return "tag"
        return None

    def deliverable(self, copy: Copy, queued: Queued) -> bool:
        assert isinstance(copy, CmdData)
        return all(to != self._me or self._is_over(k, t, queued) for k, to, t in copy.r)

    def _is_over(self, k: int, t: int, queued: Queued) -> bool:
        """It is delivered, or will not come any more; and so is what its source sent me before it and did come."""
        return queued.get(k, t + 1) > t and (self._knows(k, t) or self._lost[k] >= t)

    def _knows(self, k: int, t: int) -> bool:
        return self._reached.get((k, self._rules.life(t)), 0) >= t

    def deliver(self, copy: Copy) -> bool:
        assert isinstance(copy, CmdData)
        before, v_message = dict(self.v), dict(zip(self._members, copy.v, strict=True))
        if self.may_count:  # else I shall send no more, and nobody asks for what I have counted
            self.v[self._me] += 1
        for k, count in v_message.items():
            if k != self._me:
                life = self._rules.life(count)
                self._reached[k, life] = max(self._reached.get((k, life), 0), count)
                self.v[k] = max(self.v[k], count)
        tag: Records = frozenset([(k, to, t) for k, to, t in copy.r])
        had_record = any(to == self._me for _, to, _ in tag)
        if self._rules.prunes(had_record):
            self.r = self._rules.merged(self.r, tag, v_message, self._rules.clock(before, self.v))
        else:
            self.r |= tag
        return self._rules.looks_at_queue(had_record)

    def lost_up_to(self, source: int, t: int) -> None:
        self._lost[source] = max(self._lost[source], t)

    def tag_size(self) -> int:
        return len(self.r)

    def vector(self) -> tuple[int, ...]:
        return tuple(self.v.values())


class Matrix:
    """How many messages each process has sent to each: the baseline of 004 §1, N² counters in every message.

    It knows no lives: who comes back counts from 1 again, and what is counted passes for what an earlier life sent.
    """

    def __init__(self, me: int, members: tuple[int, ...], incarnation: int, options: CmdOptions) -> None:
        self._me, self._members = me, members
        self._numbers = NUMBERING.of(incarnation)
        self._events = self._numbers[0] - 1
        self._sent = {(k, to): 0 for k in members for to in members}
        self._delivered = dict.fromkeys(members, 0)

    @property
    def t(self) -> int:
        return self._events

    @property
    def may_count(self) -> bool:
        return self.t + 1 in self._numbers

    def send(self, to: tuple[int, ...], data: bytes) -> dict[int, Build] | None:
        self._events += 1
        before, t = dict(self._sent), self._events
        for j in to:
            self._sent[self._me, j] += 1
        return {j: self._copy(t, self._sent | {(self._me, j): before[self._me, j]}, data) for j in to}

    def _copy(self, t: int, counters: dict[tuple[int, int], int], data: bytes) -> Build:
        sent = tuple(counters.values())
        return lambda frame: CmdMatrix(
            src=self._me,
            incarnation=frame.incarnation,
            to_incarnation=frame.to_incarnation,
            link=frame.link,
            repeated=0,
            t=t,
            n=len(self._members),
            sent=sent,
            payload=data,
        )

    def refusal(self, copy: Copy) -> str | None:
        if not isinstance(copy, CmdMatrix):
            return "scheme"
        return None if copy.n == len(self._members) else "tag"

    def _counters(self, copy: Copy) -> dict[tuple[int, int], int]:
        assert isinstance(copy, CmdMatrix)
        return dict(zip(self._sent, copy.sent, strict=True))

    def deliverable(self, copy: Copy, queued: Queued) -> bool:
        counters = self._counters(copy)
        return all(self._delivered[k] >= counters[k, self._me] for k in self._members)

    def deliver(self, copy: Copy) -> bool:
        self._events += self.may_count
        self._delivered[copy.src] += 1
        counters = self._counters(copy)
        counters[copy.src, self._me] += 1
        for pair, count in counters.items():
            self._sent[pair] = max(self._sent[pair], count)
        return True

    def lost_up_to(self, source: int, t: int) -> None:
        """Counters do not say which message is missing: after a restart this baseline waits for ever."""

    def tag_size(self) -> int:
        return len(self._sent)

    def vector(self) -> tuple[int, ...]:
        return ()


def order_for(me: int, members: tuple[int, ...], incarnation: int, options: CmdOptions) -> Order:
    """The order that the options name."""
    made: type[Matrix] | type[SRecords] = Matrix if options.scheme == "matrix" else SRecords
    return made(me, members, incarnation, options)
