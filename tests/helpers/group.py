"""HIM in memory: a group on a mesh, with loss, and what a test wants to know about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from captures.evidence import Event, Evidence, Frame, Frames, Notes
from harness.judges import Outcome, judge
from harness.world import World
from nodes.him.machine import Him
from nodes.him.options import HimOptions
from nodes.machine import Send, Setting
from nodes.wire import Pdu
from nodes.wire.fault import FaultNote
from nodes.wire.him import HimAnswer, HimData, HimPdu, HimQuery
from nodes.wire.note import NoteKind, Sent

MS = 1_000_000
HI = tuple(f"HI-{number}" for number in range(1, 8))
SLOW = HimOptions(rto_initial_ns=200 * MS, rto_min_ns=20 * MS)  # the values of the specification
OVERHEAD = ("END", "VIEW", "VIEW_REQUEST", "JOIN", "ALIVE")  # what §3.4 of the paper does not count


def options(base: HimOptions = SLOW, **changes: Any) -> HimOptions:
    return replace(base, **changes)


class Group:
    """n nodes; some of them dead from the start, which the others do not know."""

    def __init__(
        self,
        n: int,
        options: HimOptions = SLOW,
        *,
        one_way_ns: int | Callable[[int, int], int] = 10 * MS,
        jitter_ns: int = 0,
        loss: float = 0.0,
        duplicate: float = 0.0,
        dead: Collection[int] = (),
        seed: int = 0,
        key: bytes = b"",
        hops: Callable[[int, int], int] | None = None,
        frames: bool = False,
    ) -> None:
        self.options, self.seed, self.key, self.hops = options, seed, key, hops
        self.world = World(seed)
        self.members = tuple(range(1, n + 1))
        self.dropped: Callable[[HimPdu, int, int], bool] = lambda pdu, receiver, now: False
        self.received: Counter[tuple[int, str]] = Counter()  # (receiver, type) of packets that arrived
        self._frames: list[Frame] = []
        draw = self.world.random.random

        def delay(pdu: Pdu, receiver: int, now: int) -> int | None:
            assert isinstance(pdu, HimPdu)
            if draw() < loss or self.dropped(pdu, receiver, now):
                return None
            base = one_way_ns if isinstance(one_way_ns, int) else one_way_ns(pdu.src, receiver)
            wait = base + (int(draw() * jitter_ns) if jitter_ns else 0)
            self.received[receiver, pdu.TYPE.title] += 1
            if frames:
                self._frame(now + wait, receiver, "in", pdu)
            if duplicate and draw() < duplicate:
                self.world.at(now + wait + int(draw() * base), lambda: self.world.receive(receiver, pdu))
            return wait

        self.world.mesh(delay)
        if frames:
            self._watch_sends()
        for number in self.members:
            self.world.add(number, self.made(number))
        for number in dead:
            self.world.kill(number)

    def made(self, number: int, incarnation: int = 1) -> Him:
        hops = {} if self.hops is None else {other: self.hops(number, other) for other in self.members}
        setting = Setting(
            me=number,
            members=self.members,
            seed=self.seed * 1009 + number,
            incarnation=incarnation,
            key=self.key,
            hops=hops,
        )
        return Him(setting, self.options)

    # what happens

    def submit(self, number: int = 1, data: bytes = b"m") -> None:
        self.world.submit(number, self.members, data)

    def cut_off(self, number: int) -> None:
        self.world.fault(FaultNote("link", (number,)))
        self.world.link(number, False)

    def pause(self, number: int) -> None:
        self.world.fault(FaultNote("pause", (number,)))
        self.world.pause(number)

    # what is seen

    def notes(self, kind: NoteKind, node: int | None = None) -> list[Event]:
        return [e for e in self.world.history().notes if e.kind == kind and (node is None or e.node == node)]

    def results(self, node: int | None = None) -> list[str]:
        return [event.text for event in self.notes(NoteKind.RESULT, node)]

    def alarms(self, node: int | None = None) -> list[tuple[str, tuple[int, ...]]]:
        return [(event.text, event.peers) for event in self.notes(NoteKind.ALARM, node)]

    def view(self, node: int) -> tuple[int, ...]:
        """The members of the node's last view."""
        return self.notes(NoteKind.VIEW, node)[-1].peers

    def refused(self, node: int) -> list[str]:
        return [event.text for event in self.notes(NoteKind.REFUSED, node)]

    def sent(self) -> Counter[str]:
        return Counter(pdu.TYPE.title for _, pdu in self.world.sent)

    def packets(self) -> int:
        """As §3.4 counts them."""
        return sum(count for title, count in self.sent().items() if title not in OVERHEAD)

    def holders(self, origin: int, seq: int) -> set[int]:
        return {e.node for e in self.notes(NoteKind.DELIVERED) if (e.about, e.seq) == (origin, seq)}

    def false_successes(self) -> int:
        """SUCCESSes of messages that a node of the original group has not got."""
        return sum(
            event.text == "SUCCESS" and self.holders(event.about, event.seq) != set(self.members)
            for event in self.notes(NoteKind.RESULT)
        )

    def confirmation_ns(self) -> list[int]:
        """From SUBMITTED to RESULT, per message, where it was a success."""
        submitted = {(e.node, e.seq): e.time_ns for e in self.notes(NoteKind.SUBMITTED)}
        number = {(e.node, e.seq): Sent._make(e.values).submission for e in self.notes(NoteKind.SENT)}
        return [
            event.time_ns - submitted[event.node, number[event.node, event.seq]]
            for event in self.notes(NoteKind.RESULT)
            if event.text == "SUCCESS"
        ]

    # judging

    def history(self) -> Evidence:
        """As the captures of a run that ended quietly would tell it."""
        plain = self.world.history()
        end = Event(self.world.now, 0, NoteKind.MARK, text="end quiet")
        notes = Notes((*plain.notes, end))
        frames = Frames(sorted(self._frames, key=lambda one: one.time_ns))
        return replace(plain, notes=notes, frames=frames, options=self.options)

    def violations(self, *properties: str) -> dict[str, str]:
        """What the judges object to."""
        verdicts = judge(self.history(), properties or HI)
        return {one.property: one.sentence for one in verdicts if one.outcome is not Outcome.PASS}

    def _watch_sends(self) -> None:
        world, network = self.world, self.world._network

        def put(src: int, send: Send) -> None:
            assert isinstance(send.pdu, HimPdu)
            for _ in send.to or (0,):
                self._frame(world.now, src, "out", send.pdu)
            network(src, send)

        world._network = put

    def _frame(self, time_ns: int, node: int, direction: str, pdu: HimPdu) -> None:
        said = {"hash": pdu.hash, "flags": pdu.flags} if isinstance(pdu, HimData | HimQuery | HimAnswer) else {}
        self._frames.append(
            Frame(
                time_ns,
                f"n{node}",
                direction,
                pdu.src,
                pdu.TYPE.name,
                0,
                "memory",
                len(self._frames) + 1,
                pdu.origin,
                pdu.seq,
                fields=said,
            )
        )
