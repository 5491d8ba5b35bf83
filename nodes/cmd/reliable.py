"""The sub-layer below CMD: no copy is lost or comes twice; nothing is put in order (the channel of paper 004 §3).

Each copy has a number on its link (this node to one peer) and is repeated until acknowledged, ever more rarely;
an acknowledgement answers every copy that comes, also one that came before, so a lost acknowledgement costs one
repetition. When all is acknowledged there is silence.

Incarnations: a link joins one incarnation of this node to one of the peer, and everything on it says which. A node
that was restarted says HELLO; whoever learns of a new incarnation, from whatever comes first, drops what it still
had to repeat to the old one (that is lost with the node's memory: reported, never repeated, for the old incarnation
may have had it) and begins a new link. WELCOME tells the new incarnation where this link begins, as a number of the
layer above; until then the restarted node holds its own copies back, for it cannot know for which incarnation of the
peer they are. What still comes from or for an old incarnation is refused.

Bounds: at most `window` numbers between the oldest copy under way and the newest, so a receiver remembers at most as
many; after `attempts` repetitions of a copy the link is silent until something is heard of the peer, or until there is
something new for it: whatever cut it off may be over.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nodes.machine import Send
from nodes.wire import Pdu
from nodes.wire.cmd import CmdAck, CmdData, CmdHello, CmdMatrix, CmdWelcome

Copy = CmdData | CmdMatrix  # what is repeated until it is acknowledged


@dataclass(frozen=True, slots=True)
class Frame:
    """The fields of the sub-layer in a copy that is sent for the first time."""

    incarnation: int
    to_incarnation: int
    link: int


# What the sub-layer tells the layer above, beside Send.


@dataclass(frozen=True, slots=True)
class Arrived:
    """A copy that was not here before."""

    copy: Copy


@dataclass(frozen=True, slots=True)
class Restarted:
    """The peer is a new incarnation; `lost` were under way to the old one."""

    peer: int
    incarnation: int
    lost: tuple[Copy, ...]


@dataclass(frozen=True, slots=True)
class Welcomed:
    """Of the peer nothing will come that its layer above numbered up to `mark`."""

    peer: int
    mark: int


@dataclass(frozen=True, slots=True)
class Silent:
    """The peer has not answered `attempts` times."""

    peer: int
    waiting: int


Result = Send | Arrived | Restarted | Welcomed | Silent


@dataclass(slots=True)
class _Pending:
    """A copy, or a HELLO, that waits for its answer."""

    pdu: Copy | CmdHello
    sent_ns: list[int]  # when it was sent, each time
    wait_ns: int
    repeated: int = 0  # since its link was last silent

    @property
    def due_ns(self) -> int:
        """When it is repeated, unless it has been answered."""
        return self.sent_ns[-1] + self.wait_ns


@dataclass(slots=True)
class _Link:
    """This node and one incarnation of a peer, both directions."""

    incarnation: int  # the peer's
    mark: int = 0  # where what I send on it begins
    number: int = 0  # of the last copy sent
    pending: dict[int, _Pending] = field(default_factory=dict)
    upto: int = 0  # every copy up to this one came
    beyond: set[int] = field(default_factory=set)  # and these
    held: list[Callable[[Frame], Copy]] = field(default_factory=list)  # copies that wait for a WELCOME
    silent: bool = False
    round_trip_ns: int = 0  # smoothed; 0 is unknown
    deviation_ns: int = 0

    @property
    def state(self) -> str:
        """In a word."""
        if self.silent:
            return "silent"
        if self.held:
            return "held"
        if HELLO in self.pending:
            return "hello"
        return "again" if any(pending.repeated for pending in self.pending.values()) else "clear"


REPEATED_MAX = 255  # what a copy can say

HELLO = 0  # the place of a HELLO among a link's pending copies


class Reliable:
    """All links of one node."""

    def __init__(
        self,
        me: int,
        peers: tuple[int, ...],
        incarnation: int,
        *,
        retry_ns: int,
        retry_max_ns: int,
        attempts: int,
        window: int,
    ) -> None:
        self._me, self._incarnation = me, incarnation
        self._retry_ns, self._retry_max_ns = retry_ns, retry_max_ns
        self._attempts, self._window = attempts, window
        self._links = {peer: _Link(1) for peer in peers}
        self._due: list[tuple[int, int, int]] = []  # local time, peer, number; some are out of date
        self.repetitions = 0
        self.duplicates = 0
        self.stale = 0
        if incarnation > 1:  # at the first opportunity
            for peer, link in self._links.items():
                self._expect(peer, HELLO, _Pending(CmdHello(src=me, incarnation=incarnation), [0], 0), link)

    # sending

    def room(self, peer: int) -> bool:
        """May another copy be sent to the peer?"""
        link = self._links[peer]
        oldest = next((number for number in link.pending if number != HELLO), link.number + 1)  # they stand in order
        return link.number + len(link.held) + 1 - oldest < self._window

    def send(self, peer: int, build: Callable[[Frame], Copy], now_ns: int) -> list[Send]:
        """Number a copy, remember it, send it; there must be room."""
        link = self._links[peer]
        if HELLO in link.pending:
            link.held.append(build)
            return []
        link.number += 1
        copy = build(Frame(self._incarnation, link.incarnation, link.number))
        self._expect(peer, link.number, _Pending(copy, [now_ns], self._patience(link)), link)
        return [Send(copy, (peer,))]

    def _expect(self, peer: int, number: int, pending: _Pending, link: _Link) -> None:
        link.pending[number] = pending
        heapq.heappush(self._due, (pending.due_ns, peer, number))

    def _patience(self, link: _Link) -> int:
        """How long an answer may take: mean and four deviations of the round trip, within bounds."""
        known = link.round_trip_ns + 4 * link.deviation_ns
        return min(max(known, self._retry_ns), self._retry_max_ns)

    # repeating

    @property
    def deadline(self) -> int | None:
        while self._due:
            due_ns, peer, number = self._due[0]
            if self._is_due(due_ns, self._links[peer], number):
                return due_ns
            heapq.heappop(self._due)
        return None

    def _is_due(self, due_ns: int, link: _Link, number: int) -> bool:
        """Since then it may have been answered, been repeated for another reason, or have ended with its link."""
        pending = link.pending.get(number)
        return pending is not None and pending.due_ns == due_ns and not link.silent

    def due(self, now_ns: int) -> list[Result]:
        """Repeat what has not been answered in time."""
        results: list[Result] = []
        while (deadline := self.deadline) is not None and deadline <= now_ns:
            _, peer, number = heapq.heappop(self._due)
            link = self._links[peer]
            pending = link.pending[number]
            if pending.repeated >= self._attempts:
                link.silent = True
                results.append(Silent(peer, len(link.pending)))
                continue
            results.append(self._repeat(peer, number, pending, link, now_ns))
        return results

    def _repeat(self, peer: int, number: int, pending: _Pending, link: _Link, now_ns: int) -> Send:
        self.repetitions += pending.wait_ns > 0
        pending.repeated += 1
        pending.sent_ns[REPEATED_MAX:] = []  # the last of them stands for all further sendings
        pending.sent_ns.append(now_ns)
        if not isinstance(pending.pdu, CmdHello):
            pending.pdu = replace(pending.pdu, repeated=len(pending.sent_ns) - 1)
        pending.wait_ns = min(max(2 * pending.wait_ns, self._patience(link)), self._retry_max_ns)
        self._expect(peer, number, pending, link)
        return Send(pending.pdu, (peer,))

    def ask_again(self, peer: int, now_ns: int) -> list[Send]:
        """A silent peer may be there: repeat everything, from the beginning of its patience."""
        link = self._links[peer]
        if not link.silent:
            return []
        link.silent = False
        again: list[Send] = []
        for number, pending in link.pending.items():
            pending.repeated, pending.wait_ns = 0, self._patience(link) // 2
            again.append(self._repeat(peer, number, pending, link, now_ns))
        return again

    # receiving

    def received(self, pdu: Pdu, now_ns: int, mark: int) -> list[Result] | None:
        """What follows from a PDU; `mark` is the layer above's last number so far. None: not of this sub-layer."""
        link = self._links.get(pdu.src)
        if link is None or not isinstance(pdu, CmdData | CmdMatrix | CmdAck | CmdHello | CmdWelcome):
            return None
        if pdu.incarnation < link.incarnation:
            self.stale += 1
            return []
        results: list[Result] = []
        if pdu.incarnation > link.incarnation:
            results.append(self._begin_again(pdu.src, pdu.incarnation, mark))
            link = self._links[pdu.src]
        results += self.ask_again(pdu.src, now_ns)
        if isinstance(pdu, CmdHello):
            welcome = CmdWelcome(
                src=self._me, incarnation=self._incarnation, to_incarnation=pdu.incarnation, mark=link.mark
            )
            results.append(Send(welcome, (pdu.src,)))
        elif pdu.to_incarnation != self._incarnation:
            self.stale += 1
            if not isinstance(pdu, CmdAck):  # an acknowledgement for my past needs no answer
                results.append(Send(CmdHello(src=self._me, incarnation=self._incarnation), (pdu.src,)))
        elif isinstance(pdu, CmdWelcome):
            if link.pending.pop(HELLO, None) is not None:
                results.append(Welcomed(pdu.src, pdu.mark))
                held, link.held = link.held, []
                for build in held:
                    results += self.send(pdu.src, build, now_ns)
        elif isinstance(pdu, CmdAck):
            self._acknowledged(link, pdu, now_ns)
        else:
            results += self._copy(link, pdu)
        return results

    def _begin_again(self, peer: int, incarnation: int, mark: int) -> Restarted:
        old = self._links[peer]
        lost = tuple([each.pdu for each in old.pending.values() if not isinstance(each.pdu, CmdHello)])
        link = self._links[peer] = _Link(incarnation, mark)
        if (hello := old.pending.get(HELLO)) is not None:  # we were both restarted, and this one has not answered me
            self._expect(peer, HELLO, hello, link)
            link.held, link.mark = old.held, old.mark  # whatever this life has for the peer is still to come
        return Restarted(peer, incarnation, lost)

    def _acknowledged(self, link: _Link, ack: CmdAck, now_ns: int) -> None:
        answered = link.pending.get(ack.link)
        if answered is not None and ack.repeated < min(len(answered.sent_ns), REPEATED_MAX):
            self._measure(link, now_ns - answered.sent_ns[ack.repeated])
        for number in [number for number in link.pending if HELLO < number <= ack.upto or HELLO < number == ack.link]:
            del link.pending[number]

    def _measure(self, link: _Link, round_trip_ns: int) -> None:
        if not link.round_trip_ns:
            link.round_trip_ns, link.deviation_ns = round_trip_ns, round_trip_ns // 2
            return
        error = round_trip_ns - link.round_trip_ns
        link.round_trip_ns += error // 8
        link.deviation_ns += (abs(error) - link.deviation_ns) // 4

    def _copy(self, link: _Link, copy: Copy) -> list[Result]:
        number = copy.link
        fresh = number > link.upto and number not in link.beyond
        if number < 1 or number > link.upto + self._window:  # no sender of ours is that far ahead
            self.stale += 1
            return []
        if fresh:
            link.beyond.add(number)
            while link.upto + 1 in link.beyond:
                link.upto += 1
                link.beyond.remove(link.upto)
        else:
            self.duplicates += 1
        ack = CmdAck(
            src=self._me,
            incarnation=self._incarnation,
            to_incarnation=link.incarnation,
            upto=link.upto,
            link=number,
            repeated=copy.repeated,
        )
        answer = Send(ack, (copy.src,))
        return [Arrived(copy), answer] if fresh else [answer]

    # state

    def idle(self) -> bool:
        """Everything is acknowledged."""
        return not any(link.pending or link.held for link in self._links.values())

    def phase(self) -> str:
        """The states of the links, each once."""
        return " ".join(sorted({"" if word == "clear" else word for word in self.states().values()}))

    def states(self) -> dict[int, str]:
        """Of the link to each peer: silent, holding copies back, not welcomed yet, repeating, or none of that."""
        return {peer: link.state for peer, link in self._links.items()}

    def waiting(self) -> int:
        """Copies that are not acknowledged."""
        return sum(len(link.pending) + len(link.held) for link in self._links.values())
