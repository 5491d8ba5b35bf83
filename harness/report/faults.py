"""Faults as bands: from when to when, on which nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from captures.history import Event
from nodes.wire.note import NoteKind

# What begins, and the word with which it ends.
_ENDS = {
    "crash": "restart",
    "leave": "restart",
    "pause": "resume",
    "partition": "heal",
    "link down": "link up",
    "impair": "impair ends",
    "slow_reader": "reader",
}
_HEALED = ("partition", "link down")  # by MARK heal, too


@dataclass(slots=True)
class Band:
    """One fault. `end_ns` None: it never ended; equal to the beginning: it took no time."""

    kind: str
    text: str
    nodes: tuple[int, ...]
    begin_ns: int
    end_ns: int | None
    event: Event

    @property
    def lasting(self) -> bool:
        return self.end_ns != self.begin_ns


def bands(events: Iterable[Event], nodes: tuple[int, ...]) -> list[Band]:
    """All faults of a run."""
    found: list[Band] = []
    for event in events:
        if event.kind is NoteKind.MARK and event.text.startswith("heal"):
            _close(found, event, list(_HEALED), None)
        if event.kind is not NoteKind.FAULT:
            continue
        ended = [kind for kind, word in _ENDS.items() if _begins(event.text, word)]
        if ended:
            whole = event.text.removeprefix(_ENDS[ended[0]]).strip()
            about = whole if ended[0] in ("link down", "impair") else None
            _close(found, event, [*ended, *(["link down"] if event.text == "heal" else [])], about)
            continue
        kind = next((kind for kind in _ENDS if _begins(event.text, kind)), "")
        on = event.peers or _named(event.text) or nodes
        found.append(
            Band(
                kind or event.text.partition(" ")[0],
                event.text,
                on,
                event.time_ns,
                None if kind else event.time_ns,
                event,
            )
        )
    return found


def _begins(text: str, words: str) -> bool:
    return text == words or text.startswith(words + " ")


def _close(found: list[Band], event: Event, kinds: list[str], about: str | None) -> None:
    for band in found:
        same_nodes = not event.peers or set(band.nodes) & set(event.peers)
        same_text = about is None or band.text.removeprefix(band.kind).strip() == about
        if band.end_ns is None and band.kind in kinds and same_nodes and same_text:
            band.end_ns = event.time_ns


def _named(text: str) -> tuple[int, ...]:
    """The nodes whose names stand in the text."""
    return tuple(sorted({int(number) for number in re.findall(r"\bn(\d+)\b", text)}))
