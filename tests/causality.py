"""Happened-before, from nothing but what nodes sent and delivered: independent of every tag and clock."""

from __future__ import annotations

from captures.history import Event, History
from nodes.wire.note import NoteKind

Message = tuple[int, int]


def causal_violations(history: History) -> list[tuple[Event, Event]]:
    """Pairs of deliveries at one node: the second message happened before the first."""
    bit: dict[Message, int] = {}
    past: dict[Message, int] = {}  # messages sent causally before this one, as bits
    known: dict[int, int] = {}  # node -> messages in its causal past
    delivered: dict[int, list[tuple[int, Event]]] = {}
    found = []
    for event in history.events:
        message = (event.about, event.seq)
        if event.kind is NoteKind.SENT:
            bit[message] = 1 << len(bit)
            past[message] = known.get(event.node, 0)
            known[event.node] = past[message] | bit[message]
        elif event.kind is NoteKind.DELIVERED:
            log = delivered.setdefault(event.node, [])
            found += [(earlier, event) for before, earlier in log if before & bit[message]]
            log.append((past[message], event))
            known[event.node] = known.get(event.node, 0) | past[message] | bit[message]
    return found
