"""The words of FAULT NOTEs, written and read here alone: which fault begins or ends, whom it concerns.

A fault that begins is told by its kind, its end by "KIND ends"; some have words of their own. What it is about follows
(links, places, PDUs). Whoever is concerned stands in the NOTE's peers, or by name in the text; nobody named: everybody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Words of their own: which kind of fault they tell of, and the kinds that end with it (none: it begins).
_WORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "link down": ("link", ()),
    "link up": ("link", ("link",)),
    "heal partition": ("partition", ("partition",)),
    "heal": ("heal", ("partition", "link")),
    "restart": ("restart", ("crash", "leave")),
    "resume": ("resume", ("pause",)),
    "reader": ("slow_reader", ("slow_reader",)),
}
_WRITTEN = {meaning: words for words, meaning in _WORDS.items()}
_NODE = re.compile(r"\bn(\d+)\b")
_PAIR = re.compile(r"\bn(\d+)>n(\d+)\b")
_TOWARDS = "towards "


@dataclass(frozen=True, slots=True)
class FaultNote:
    """What one FAULT NOTE says."""

    kind: str  # of the fault, as scenarios call it
    peers: tuple[int, ...] = ()  # of the NOTE: nodes
    about: str = ""
    ends: tuple[str, ...] = ()  # the kinds of faults that end with it; none: it begins

    @property
    def text(self) -> str:
        """The NOTE's text."""
        regular = f"{self.kind} ends" if self.ends == (self.kind,) else self.kind
        words = _WRITTEN.get((self.kind, self.ends), regular)
        return f"{words} {self.about}" if self.about else words

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that are named; none: it concerns everybody."""
        return self.peers or tuple(sorted({int(number) for number in _NODE.findall(self.about)}))

    @property
    def severed(self) -> frozenset[tuple[int, int]]:
        """The (sender, receiver) pairs that a partition keeps apart."""
        return frozenset((int(sender), int(receiver)) for sender, receiver in _PAIR.findall(self.about))

    @property
    def killed(self) -> tuple[int, ...]:
        """The nodes whose process was killed, and could not say so."""
        return self.peers if self.kind == "crash" else ()

    @property
    def stopped(self) -> tuple[int, ...]:
        """The nodes whose process ends with it."""
        return self.peers if self.kind in ("crash", "leave") else ()

    @property
    def of_one_pdu(self) -> bool:
        """Something was done to a single PDU."""
        return _TOWARDS in self.about


def read_fault(text: str, peers: tuple[int, ...] = ()) -> FaultNote:
    """What a FAULT NOTE with this text and these peers says."""
    for words, (kind, ends) in _WORDS.items():
        if text == words or text.startswith(f"{words} "):
            return FaultNote(kind, peers, text[len(words) + 1 :], ends)
    kind, _, about = text.partition(" ")
    if about == "ends" or about.startswith("ends "):
        return FaultNote(kind, peers, about[len("ends ") :], (kind,))
    return FaultNote(kind, peers, about)
