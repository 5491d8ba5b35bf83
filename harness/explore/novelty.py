"""What happened in a run, in few words each, so that one can tell whether any of it is new.

A word is a machine's step: its phase before, what it took in, its phase after, and what had struck the run last; or two
kinds of NOTEs that a node made one after the other. Phases are what the protocol says of its machine
(`ProtocolSpec.phase`). Of these there are so many that a search always finds more. Words of a third kind are few, and a
search comes to a plateau of them: the changes of the machines' states (`ProtocolSpec.states`), from which to which and
by what.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from captures.evidence import Event
from harness.explore.milestones import step_of, step_of_fault
from harness.world import Witness
from nodes.facet import ProtocolSpec
from nodes.machine import Farewell, Input, Machine, Received, Send, Submit, Wake
from nodes.wire.fault import FaultNote
from nodes.wire.note import NoteKind

Word = tuple[str, ...]
Change = tuple[str, str, str]  # of a machine's state: from, to, by what
BEGIN = "[*]"


def changes_among(words: Iterable[Word]) -> set[Change]:
    """Those of the words that are changes of states."""
    return {(word[0], word[1], word[2]) for word in words if len(word) == 3}


_NOTHING: tuple[None, dict[Any, str]] = (None, {})


class Novelty(Witness):
    """Watches one world."""

    def __init__(self, spec: ProtocolSpec) -> None:
        self._phase, self._states_of = spec.phase, spec.states
        self._states: dict[int, tuple[Machine, Mapping[Any, str]]] = {}
        self._phases: dict[int, str] = {}
        self._noted: dict[int, str] = {}
        self._struck = ""
        self.words: dict[Word, int] = {}  # with the true time of the first
        self.changes: Counter[Change] = Counter()
        self.tracks: dict[int, list[str]] = defaultdict(list)  # of each node, for milestones (milestones.py)

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        """A machine took an input."""
        title = event.pdu.TYPE.title if isinstance(event, Received) else _TITLES[type(event)]
        before, after = self._phases.get(number, ""), self._phase(machine)
        self._phases[number] = after
        self.words.setdefault((before, title, after, self._struck), now_ns)
        if self._states_of is not None:
            self._compare(number, machine, self._states_of(machine), title, now_ns)

    def _compare(self, number: int, machine: Machine, states: Mapping[Any, str], title: str, now_ns: int) -> None:
        of, before = self._states.get(number, _NOTHING)
        if of is not machine:
            before = {}
        if states != before:
            self._states[number] = machine, states
            for key, state in states.items():
                if state != (was := before.get(key, BEGIN)):
                    self.changes[was, state, title] += 1
                    self.words.setdefault((was, state, title), now_ns)

    def took(self, number: int, title: str, now_ns: int) -> None:
        """A node, into which nobody can look, took in a PDU: what it noted last stands for its state."""
        state = self._noted.get(number, "")
        self.words.setdefault((state, title, "", self._struck), now_ns)
        self.words.setdefault((state, state, title), now_ns)

    def noted(self, event: Event) -> None:
        """A node noted something."""
        node, kind, text = event.node, event.kind, event.text
        self.tracks[node].append(step_of(kind, text))
        name = f"{kind.name} {text}" if kind in _WITH_TEXT else kind.name
        self.words.setdefault((self._noted.get(node, ""), name), event.time_ns)
        self._noted[node] = name

    def sent(self, number: int, send: Send) -> None:
        """A node put out a PDU."""
        self.tracks[number].append(send.pdu.TYPE.title)

    def struck(self, fault: FaultNote) -> None:
        """A fault began or ended."""
        self._struck = fault.kind
        for node in fault.nodes:
            self.tracks[node].append(step_of_fault(fault))


_TITLES = {kind: kind.__name__.lower() for kind in (Submit, Wake, Farewell)}
_WITH_TEXT = (NoteKind.ALARM, NoteKind.REFUSED, NoteKind.RESULT, NoteKind.LEFT)
