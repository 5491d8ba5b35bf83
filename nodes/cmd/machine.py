"""The entity S_i of CMD: causal order of message delivery over the reliable sub-layer (paper 004 §3.3), repaired.

The number of a message is t, the local time of its send.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from nodes.cmd.notes import RESTARTED, SILENT, Alarm, Delivered, Sent
from nodes.cmd.options import CmdOptions
from nodes.cmd.orders import order_for
from nodes.cmd.reliable import Arrived, Copy, Reliable, Restarted, Result, Silent, Welcomed
from nodes.cmd.rules import NUMBERING
from nodes.lives import refused
from nodes.machine import Input, Log, Output, Received, Send, Setting, Submit
from nodes.wire import Pdu
from nodes.wire.cmd import CmdData, CmdMatrix
from nodes.wire.note import NoteKind, Refused, digest_of


@dataclass(frozen=True, slots=True)
class _Queued:
    """A message that waits for another one."""

    copy: Copy
    arrived_ns: int


def _oldest_of(queue: list[_Queued]) -> dict[int, int]:
    oldest: dict[int, int] = {}
    for queued in queue:
        oldest[queued.copy.src] = min(queued.copy.t, oldest.get(queued.copy.src, queued.copy.t))
    return oldest


class Cmd:
    """One entity."""

    def __init__(self, setting: Setting, options: CmdOptions) -> None:
        self._me, self._members = setting.me, setting.members
        self._peers = tuple([peer for peer in setting.members if peer != setting.me])
        self._options = options
        self.order = order_for(setting.me, setting.members, setting.incarnation, options)
        self._reliable = Reliable(
            setting.me,
            self._peers,
            setting.incarnation,
            retry_ns=options.retry_ns,
            retry_max_ns=options.retry_max_ns,
            attempts=options.attempts,
            window=options.window,
        )
        self._queue: list[_Queued] = []
        self._oldest: dict[int, int] = {}  # source -> t of its oldest message in the Queue
        self._overflow = False  # the alarm was given
        self._counts: Counter[str] = Counter()

    # the machine

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Submit):
            return self._submitted(event, now_ns)
        outputs: list[Output] = []
        if isinstance(event, Received):
            outputs += self._received(event.pdu, now_ns)
        for result in self._reliable.due(now_ns):
            outputs += self._handled(result, now_ns)
        return outputs

    @property
    def deadline(self) -> int | None:
        return self._reliable.deadline

    def settled(self) -> bool:
        return not self._queue and self._reliable.idle()

    def counters(self) -> Mapping[str, int]:
        sub_layer = {
            "repetitions": self._reliable.repetitions,
            "duplicates": self._reliable.duplicates,
            "stale": self._reliable.stale,
            "unacknowledged": self._reliable.waiting(),
        }
        return {**self._counts, **sub_layer, "queue": len(self._queue), "records": self.order.tag_size()}

    def phase(self) -> str:
        """Which links wait for what, and whether anything is queued."""
        return f"{self._reliable.phase()} {'queue' if self._queue else ''}"

    def states(self) -> Mapping[int, str]:
        """Those of the links, by peer."""
        return self._reliable.states()

    # sending

    def _submitted(self, event: Submit, now_ns: int) -> list[Output]:
        to = tuple(sorted(set(event.to)))
        others = tuple([j for j in to if j != self._me])
        if not to or not set(to) <= set(self._members):
            return [Log(NoteKind.REFUSED, peers=to, values=Refused(event.number), text="no such destination")]
        outputs: list[Output] = []
        for peer in others:
            outputs += self._reliable.ask_again(peer, now_ns)
        full = tuple([peer for peer in others if not self._reliable.room(peer)])
        if full:
            text = "too many copies under way"
            return [*outputs, Log(NoteKind.REFUSED, peers=full, values=Refused(event.number), text=text)]
        if not self.order.may_count:
            return [*outputs, *refused(self._me, event)]
        size = self.order.tag_size()
        copies = self.order.send(others, event.data)
        if copies is None:
            text = "the tag does not fit"
            return [*outputs, Log(NoteKind.REFUSED, peers=to, values=Refused(event.number), text=text)]
        t = self.order.t
        told = (*Sent(event.number, size), *self.order.vector())
        outputs.append(Log(NoteKind.SENT, self._me, t, peers=to, values=told))
        for peer, build in copies.items():
            outputs += self._reliable.send(peer, build, now_ns)
        if self._me in to:  # my own copy does not travel (D-CM-7)
            own = Delivered(digest_of(event.data), 0, 0, 0)
            outputs.append(Log(NoteKind.DELIVERED, self._me, t, values=own))
        return outputs

    # receiving

    def _received(self, pdu: Pdu, now_ns: int) -> list[Output]:
        if isinstance(pdu, CmdData | CmdMatrix):
            reason = self.order.refusal(pdu)
            if reason is not None:
                self._counts[f"refused_{reason}"] += 1
                return []
            if len(self._queue) >= self._options.queue_limit and not self._deliverable(pdu):
                return self._no_room(pdu)
        results = self._reliable.received(pdu, now_ns, self.order.t)
        if results is None:
            self._counts["refused_foreign"] += 1
            return []
        outputs: list[Output] = []
        for result in results:
            outputs += self._handled(result, now_ns)
        return outputs

    def _no_room(self, pdu: Copy) -> list[Output]:
        """A copy that is not acknowledged comes again, when there may be room."""
        self._counts["queue_full"] += 1
        if self._overflow:
            return []
        self._overflow = True
        return [Log(NoteKind.ALARM, peers=(pdu.src,), values=Alarm(len(self._queue)), text="queue full")]

    def _handled(self, result: Result, now_ns: int) -> list[Output]:
        if isinstance(result, Send):
            return [result]
        if isinstance(result, Arrived):
            return self._arrived(result.copy, now_ns)
        if isinstance(result, Silent):
            return [Log(NoteKind.ALARM, peers=(result.peer,), values=Alarm(result.waiting), text=SILENT)]
        if isinstance(result, Welcomed):
            self.order.lost_up_to(result.peer, result.mark)
            return self._drained(now_ns)
        assert isinstance(result, Restarted)
        self.order.lost_up_to(result.peer, NUMBERING.of(result.incarnation)[0] - 1)
        lost = Log(NoteKind.ALARM, peers=(result.peer,), values=Alarm(len(result.lost)), text=RESTARTED)
        return [lost, *self._drained(now_ns)]

    def _arrived(self, copy: Copy, now_ns: int) -> list[Output]:
        if not self._deliverable(copy):
            self._queue.append(_Queued(copy, now_ns))
            self._oldest = _oldest_of(self._queue)
            return []
        delivered, look = self._delivered(_Queued(copy, now_ns), now_ns)
        return [delivered, *self._drained(now_ns)] if look else [delivered]

    def _deliverable(self, copy: Copy) -> bool:
        return self.order.deliverable(copy, self._oldest)

    def _drained(self, now_ns: int) -> list[Output]:
        """Deliver from the Queue, from its start again after each, until nothing can be delivered."""
        outputs: list[Output] = []
        look = True
        while look:
            queued = next((each for each in self._queue if self._deliverable(each.copy)), None)
            if queued is None:
                break
            self._queue.remove(queued)
            self._oldest = _oldest_of(self._queue)
            delivered, look = self._delivered(queued, now_ns)
            outputs.append(delivered)
        self._overflow = self._overflow and bool(self._queue)
        return outputs

    def _delivered(self, queued: _Queued, now_ns: int) -> tuple[Log, bool]:
        copy = queued.copy
        look = self.order.deliver(copy)
        if isinstance(copy, CmdData):
            records, mine = copy.nrec, sum(record[1] == self._me for record in copy.r)
        else:
            records, mine = len(copy.sent), 0
        said = Delivered(digest_of(copy.payload), now_ns - queued.arrived_ns, records, mine)
        return Log(NoteKind.DELIVERED, copy.src, copy.t, values=said), look
