"""What happened in a run, in few words each, so that one can tell whether any of it is new.

A word is a machine's step: its phase before, what it took in, its phase after, and what had struck the run last; or two
kinds of NOTEs that a node made one after the other. Phases are what the protocol says of its machine
(`ProtocolSpec.phase`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodes.machine import Input, Machine, Received
from nodes.wire.note import NoteKind

Word = tuple[str, ...]


class Novelty:
    """Watches one world."""

    def __init__(self, phase: Callable[[Any], str]) -> None:
        self._phase = phase
        self._phases: dict[int, str] = {}
        self._noted: dict[int, str] = {}
        self._struck = ""
        self.words: dict[Word, int] = {}  # with the true time of the first

    def stepped(self, number: int, event: Input, machine: Machine, now_ns: int) -> None:
        """A machine took an input."""
        title = event.pdu.TYPE.title if isinstance(event, Received) else type(event).__name__.lower()
        before, after = self._phases.get(number, ""), self._phase(machine)
        self._phases[number] = after
        self.words.setdefault((before, title, after, self._struck), now_ns)

    def noted(self, number: int, kind: NoteKind, text: str, now_ns: int) -> None:
        """A node noted something."""
        name = f"{kind.name} {text}" if kind in _WITH_TEXT else kind.name
        self.words.setdefault((self._noted.get(number, ""), name), now_ns)
        self._noted[number] = name

    def struck(self, kind: str) -> None:
        """A fault began or ended."""
        self._struck = kind


_WITH_TEXT = (NoteKind.ALARM, NoteKind.REFUSED, NoteKind.RESULT, NoteKind.LEFT)
