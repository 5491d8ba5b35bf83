"""What the rules of him that are not the paper's promise.

H1  who says that he holds a message has delivered it
H2  what is refused as too old was held before
H3  nobody is removed but who was asked about one message by its originator, as often as the options say, in vain
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from captures.evidence import Event
from harness.explore.invariants.watch import Life, Watch
from harness.scenario.model import Scenario
from harness.world import World
from nodes.him.machine import Him
from nodes.him.options import HimOptions
from nodes.him.window import WINDOW
from nodes.machine import Machine, Send
from nodes.wire import Pdu
from nodes.wire.him import HAVE, HimAnswer, HimData, HimQuery
from nodes.wire.note import NoteKind

Message = tuple[int, int]  # originator, number


class Group(Watch):
    """H1 to H3."""

    NAMES = ("H1", "H2", "H3")

    @staticmethod
    def is_for(case: Scenario) -> bool:
        options = case.options
        assert isinstance(options, HimOptions)
        return options.rules == "repaired" and not (options.printed_disjoin or options.printed_count)

    def __init__(self, world: World, options: HimOptions) -> None:
        super().__init__(world, options)
        self._held: dict[Life, set[Message]] = defaultdict(set)
        self._came: dict[int, Pdu] = {}  # to a node, last
        self._members: dict[Life, frozenset[int]] = {}
        self._in_vain: dict[Life, set[tuple[int, int]]] = defaultdict(set)  # who was asked to the end, about what
        self._times = 2 * options.q

    def sent(self, number: int, send: Send) -> None:
        pdu, me = send.pdu, (number, self.world.life(number))
        if isinstance(pdu, HimQuery) and pdu.origin == number and pdu.attempt == self._times:
            self._in_vain[me].update((node, pdu.seq) for node in send.to or ())
        if isinstance(pdu, HimQuery) or (isinstance(pdu, HimAnswer) and pdu.flags & HAVE):
            self._says_it_holds(me, (pdu.origin, pdu.seq))

    def _says_it_holds(self, me: Life, message: Message) -> None:
        if message not in self._held[me]:
            self.broken.append(f"H1: n{me[0]} says it holds {message[0]}:{message[1]:x}, and has not delivered it")

    def noted(self, event: Event) -> None:
        super().noted(event)
        if event.kind is NoteKind.DELIVERED:
            self._held[event.node, event.incarnation].add((event.about, event.seq))

    def heard(self, number: int, pdu: Pdu, machine: Machine) -> None:
        self._came[number] = pdu
        assert isinstance(machine, Him)
        if isinstance(pdu, HimAnswer) and pdu.origin == number and pdu.flags & HAVE and pdu.view == machine._core.view:
            self._in_vain[number, self.world.life(number)].discard((pdu.src, pdu.seq))

    def look(self, number: int, machine: Machine, noted: Sequence[Event]) -> None:
        me = number, self.world.life(number)
        for event in noted:
            if event.kind is NoteKind.REFUSED and event.text == "old":
                self._refused(number, self._held[me])
            if event.kind is NoteKind.VIEW:
                self._changed(me, event)
            if event.kind is NoteKind.LEFT:
                self._members.pop(me, None)

    def _refused(self, number: int, held: set[Message]) -> None:
        pdu = self._came[number]
        if isinstance(pdu, HimData) and (pdu.origin, pdu.seq) not in held:
            newest = max((seq for origin, seq in held if origin == pdu.origin), default=0)
            if newest - pdu.seq < WINDOW:
                self.broken.append(f"H2: n{number} refuses {pdu.origin}:{pdu.seq:x} as too old, and never held it")

    def _changed(self, me: Life, event: Event) -> None:
        members = frozenset(event.peers)
        if event.text == "disjoin":
            in_vain = {node for node, _ in self._in_vain[me]}
            for node in sorted(self._members.get(me, members) - members - in_vain):
                self.broken.append(f"H3: n{me[0]} removes n{node}, which answered, or was not asked to the end")
        self._members[me] = members
        self._in_vain[me].clear()
