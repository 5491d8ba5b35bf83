"""What the parts of an entity share: who it is, its rules and durations, its chance, its clock, and its way out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nodes.machine import Log, Output, Send, Setting, Submit
from nodes.st.options import StOptions, Timing
from nodes.st.round import Phase
from nodes.st.rules import chosen
from nodes.wire import Pdu
from nodes.wire.note import NoteKind


@dataclass(frozen=True, slots=True)
class Rows:
    """The PDU classes of a protocol that is built from these parts."""

    data: type[Any]
    rst: type[Any]
    pak: type[Any]
    ack: type[Any]


class Core:
    """One per entity. It stays when an entity forgets what it knew of the others."""

    def __init__(self, setting: Setting, options: StOptions, rows: Rows, slot: tuple[int, ...]) -> None:
        n = len(setting.members)
        if setting.members != tuple(range(1, n + 1)):
            raise ValueError(f"entities are 1..n, not {setting.members}")
        self.setting, self.options, self.rows = setting, options, rows
        self.me, self.n, self.index = setting.me, n, setting.me - 1
        self.head = {"src": self.me, "cluster": options.cluster, "n": n}  # what every PDU begins with
        self.slot = slot  # per entity, which counter numbers the PDUs for it
        self.rules = chosen(options.switches())
        self.timing = Timing.of(options, n, setting.slot_ns)
        self.window = options.window or 3 * n
        self.chance = random.Random(setting.seed)
        self.phase = Phase()  # recovery.py alone writes it
        self.counters: Counter[str] = Counter()
        self.now_ns = 0
        self.spoke_ns = 0  # when I last sent something
        self._outputs: list[Output] = []
        self._answered: dict[str, int] = {}  # when an answer of this kind was last sent

    def take_outputs(self) -> list[Output]:
        """What the step that ends here has brought about."""
        outputs, self._outputs = self._outputs, []
        return outputs

    def emit(self, pdu: Pdu) -> None:
        self.spoke_ns = self.now_ns
        self._outputs.append(Send(pdu))

    def answer(self, kind: str, *pdus: Callable[[], Pdu]) -> None:
        """At most one answer of a kind in T_r: more of them, from many entities, fill the channel and come late."""
        last = self._answered.get(kind)
        if last is None or self.now_ns - last >= self.timing.answer:
            self._answered[kind] = self.now_ns
            self.counters["answers"] += 1
            for pdu in pdus:
                self.emit(pdu())

    def next_repetition(self) -> int:
        """T_r from now, with some chance, so that not all repeat at once."""
        return self.now_ns + self.timing.round + int(self.chance.random() * self.timing.period)

    def note(self, log: Log) -> None:
        self._outputs.append(log)

    def refuse_request(self, request: Submit, why: str) -> None:
        self.counters["refused_submissions"] += 1
        self.note(Log(NoteKind.REFUSED, self.me, request.number, peers=request.to, text=why))


def earliest(*times: int | None) -> int | None:
    """The next of these timers; None is one that is not armed."""
    first = None
    for at in times:
        if at is not None and (first is None or at < first):
            first = at
    return first
