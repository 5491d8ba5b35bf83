"""HIM in memory: a group on a mesh, with loss, and what a test wants to know about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from captures.history import Event
from nodes.him.machine import Him
from nodes.him.options import HimOptions
from nodes.machine import Setting
from nodes.wire import Pdu
from nodes.wire.him import HimPdu
from nodes.wire.note import NoteKind
from tests.world import Delay, World

MS = 1_000_000
SLOW = HimOptions(rto_initial_ns=200 * MS, rto_min_ns=20 * MS)  # the values of the specification


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
    ) -> None:
        self.n, self.options, self.seed, self.key = n, options, seed, key
        self.world = World(seed)
        self.members = tuple(range(1, n + 1))
        self.hops = hops
        self.dropped: Callable[[HimPdu, int, int], bool] = lambda pdu, receiver, now: False
        self.received: Counter[tuple[int, str]] = Counter()  # (receiver, type) of packets that arrived
        chance = self.world.random
        draw = chance.random

        def delay(pdu: Pdu, receiver: int, now: int) -> int | None:
            assert isinstance(pdu, HimPdu)
            if draw() < loss or self.dropped(pdu, receiver, now):
                return None
            self.received[receiver, pdu.TYPE.title] += 1
            base = one_way_ns if isinstance(one_way_ns, int) else one_way_ns(pdu.src, receiver)
            wait = base + (int(draw() * jitter_ns) if jitter_ns else 0)
            if duplicate and draw() < duplicate:
                again = wait + int(draw() * base)
                self.world.at(now + again, lambda: self.world.receive(receiver, pdu))
            return wait

        self.delay: Delay = delay
        self.world.mesh(delay)
        for number in self.members:
            self.world.add(number, self.made(number))
        for number in dead:
            self.world.kill(number)

    def made(self, number: int, incarnation: int = 1) -> Him:
        hops = {} if self.hops is None else {other: self.hops(number, other) for other in self.members}
        setting = Setting(
            me=number, members=self.members, seed=self.seed * 1009 + number, incarnation=incarnation,
            key=self.key, hops=hops,
        )  # fmt: skip
        return Him(setting, self.options)

    def submit(self, number: int = 1, data: bytes = b"m") -> None:
        self.world.submit(number, self.members, data)

    def notes(self, kind: NoteKind, node: int | None = None) -> list[Event]:
        return [e for e in self.world.history().events if e.kind == kind and (node is None or e.node == node)]

    def results(self, node: int | None = None) -> list[str]:
        return [event.text for event in self.notes(NoteKind.RESULT, node)]

    def alarms(self, node: int | None = None) -> list[tuple[str, tuple[int, ...]]]:
        return [(event.text, event.peers) for event in self.notes(NoteKind.ALARM, node)]

    def view(self, node: int) -> tuple[int, ...]:
        """The members of the node's last view."""
        return self.notes(NoteKind.VIEW, node)[-1].peers

    def sent(self) -> Counter[str]:
        return Counter(pdu.TYPE.title for _, pdu in self.world.sent)

    def holders(self, origin: int, seq: int) -> set[int]:
        return {e.node for e in self.notes(NoteKind.DELIVERED) if (e.about, e.seq) == (origin, seq)}

    def confirmation_ns(self) -> list[int]:
        """From SUBMITTED to RESULT, per message, where it was a success."""
        submitted = {(e.node, e.seq): e.time_ns for e in self.notes(NoteKind.SUBMITTED)}
        number = {(e.node, e.seq): e.values[0] for e in self.notes(NoteKind.SENT)}
        return [
            event.time_ns - submitted[event.node, number[event.node, event.seq]]
            for event in self.notes(NoteKind.RESULT)
            if event.text == "SUCCESS"
        ]


def options(base: HimOptions = SLOW, **changes: object) -> HimOptions:
    return replace(base, **changes)  # type: ignore[arg-type]
