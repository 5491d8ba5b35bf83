"""The facts of a run in the form judges need: messages numbered, deliveries as columns, lives, the end.

Everything works on columns, so that 10^6 deliveries are judged in seconds; only the few NOTEs at which lives begin and
end are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from captures.evidence import Event, Evidence
from captures.tables import Ints, codes
from nodes.wire.note import Meaning, NoteKind, Over, said

_ABOUT_MESSAGES = (NoteKind.SENT, NoteKind.ACCEPTED, NoteKind.PREACKED, NoteKind.DELIVERED)


@dataclass(slots=True)
class Life:
    """One node from a start to the next stop: its process died, or it left the group to come back as somebody new."""

    index: int
    node: int
    first: bool  # the node's first life: it needed not join
    incarnation: int = 0  # 0 until its first event
    stopped: Event | None = None  # what ended it: FAULT crash or leave, its LEFT, or the first event of the next life
    views: list[Event] = field(default_factory=list)

    @property
    def up(self) -> bool:
        """Alive at the end of the run."""
        return self.stopped is None

    @property
    def member(self) -> bool:
        """In the group: from the start, or let in."""
        return self.first or bool(self.views)

    def __str__(self) -> str:
        return f"n{self.node}" if self.first else f"n{self.node} (life {self.incarnation})"


def name_of(about: int, seq: int) -> str:
    """A message as people read it: 2:17; 2:1/17 where the incarnation stands above the number.

    An incarnation from 65536 on has two parts, the start of the process and its coming back by itself: 2:1.0/17.
    """
    incarnation, number = seq >> 32, seq & 0xFFFFFFFF
    if 0 < incarnation < 1 << 16:
        return f"{about}:{incarnation}/{number}"
    if 1 << 16 <= incarnation < 1 << 31:
        return f"{about}:{incarnation >> 16}.{incarnation & 0xFFFF}/{number}"
    return f"{about}:{seq}"


def describe(event: Event) -> str:
    """One event in one line; the capture and the frame first, so that it is found in Wireshark."""
    who = f"n{event.node}" if event.node else "harness"
    parts = [f"{event.capture or '-'} #{event.frame}", f"{event.time_ns / 1e9:.9f}s", who, event.kind.name]
    if event.about:
        parts.append(name_of(event.about, event.seq))
    elif event.seq:
        parts.append(f"number {event.seq}")
    if event.peers:
        parts.append("peers " + ",".join(map(str, event.peers)))
    if event.values:
        parts.append("values " + ",".join(map(str, event.values)))
    if event.text:
        parts.append(repr(event.text))
    return "  ".join(parts)


class Facts:
    """The evidence of a run, indexed. A message is a number, from 0 in the order in which messages are first noted."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.notes = notes = evidence.notes
        self.end = ""  # "quiet", "limit", "livelock", or "" when nothing was said
        self.heal: Event | None = None  # the last MARK heal
        self.lives: list[Life] = []
        life = self._live()
        self.life_node = np.array([life.node for life in self.lives], np.int64)
        rows = notes.of_kind(*_ABOUT_MESSAGES)
        rows = rows[notes.node[rows] > 0]
        about, seq = notes.about[rows], notes.seq[rows]
        message = codes(about, seq)
        first = np.flatnonzero(np.diff(np.maximum.accumulate(message), prepend=-1))  # they count up as they appear
        self.keys: list[tuple[int, int]] = list(zip(about[first].tolist(), seq[first].tolist(), strict=True))
        self.source: Ints = about[first]  # message -> origin
        self._about = (life[rows], message, rows)
        self.d_life, self.d_message, self.d_event = self._about_messages(NoteKind.DELIVERED)
        self.s_life, self.s_message, self.s_event = self._about_messages(NoteKind.SENT)
        targets = notes.peers_of(self.s_event)
        self.t_message = np.repeat(self.s_message, targets.counts)  # (message, node) of every destination
        self.t_node = targets.flat
        self._told: dict[type[Any], tuple[Ints, Any]] = {}

    def _about_messages(self, kind: NoteKind) -> tuple[Ints, Ints, Ints]:
        """Life, message and row of the NOTEs of a kind."""
        life, message, rows = self._about
        chosen = np.flatnonzero(self.notes.kind[rows] == kind)
        return life[chosen], message[chosen], rows[chosen]

    def _live(self) -> Ints:
        """Tell the lives of all nodes apart; the life to which each NOTE belongs."""
        notes = self.notes
        current = {node: self._begin(node, True) for node in self.evidence.nodes}
        order = np.argsort(notes.node, kind="stable")
        node, incarnation, left = notes.node[order], notes.incarnation[order], notes.kind[order] == NoteKind.LEFT
        # Where a life may begin: at a node's first NOTE, in a new incarnation, after it left.
        begins = np.ones(len(order), bool)
        begins[1:] = (node[1:] != node[:-1]) | (incarnation[1:] != incarnation[:-1]) | left[:-1]
        turns = np.zeros(len(order), bool)
        turns[order[begins]] = True
        turns[notes.of_kind(NoteKind.VIEW, NoteKind.LEFT)] = True
        turns |= notes.node == 0
        life_at: dict[int, int] = {}
        rows = np.flatnonzero(turns)
        for row, event in zip(rows.tolist(), notes.rows(rows), strict=True):
            if event.node:
                life_at[row] = self._turn(event, current).index
            else:
                self._harness(event, current)
        # From one beginning to the next a node lives one life.
        lives = np.array([life_at.get(row, -1) for row in order[begins].tolist()], np.int64)
        found = np.empty(len(order), np.int64)
        found[order] = lives[np.cumsum(begins) - 1] if len(order) else lives
        return found

    def _begin(self, node: int, first: bool) -> Life:
        life = Life(len(self.lives), node, first)
        self.lives.append(life)
        return life

    def _turn(self, event: Event, current: dict[int, Life]) -> Life:
        node = event.node
        life = current.get(node)
        if life is None:
            life = current[node] = self._begin(node, True)
        if life.incarnation != event.incarnation or (life.stopped is not None and life.stopped.node == node):
            if life.incarnation or life.stopped is not None:
                life.stopped = life.stopped or event
                life = current[node] = self._begin(node, False)
            life.incarnation = event.incarnation
        if event.kind is NoteKind.VIEW:
            life.views.append(event)
        elif event.kind is NoteKind.LEFT:
            life.stopped = event
        return life

    def _harness(self, event: Event, current: dict[int, Life]) -> None:
        word, _, rest = event.text.partition(" ")
        if event.kind is NoteKind.MARK:
            if word == "heal":
                self.heal = event
            elif word == "end":
                self.end = rest or ("quiet" if said(Over, event.values) == Over(quiet=1) else "limit")
        elif event.kind is NoteKind.FAULT:
            for node in event.fault.stopped:
                if node in current:
                    current[node].stopped = current[node].stopped or event

    def of(self, kind: NoteKind) -> list[Event]:
        """What nodes (or, of a FAULT, the harness) noted of a kind."""
        return [event for event in self.notes.events(kind) if (not event.node) == (kind is NoteKind.FAULT)]

    # Columns.

    @cached_property
    def d_node(self) -> Ints:
        """The node of every delivery."""
        return self.life_node[self.d_life]

    @cached_property
    def accepted(self) -> tuple[Ints, Ints, Ints]:
        """Life, message and row of every ACCEPTED."""
        return self._about_messages(NoteKind.ACCEPTED)

    @cached_property
    def preacked(self) -> tuple[Ints, Ints, Ints]:
        """Life, message and row of every PREACKED."""
        return self._about_messages(NoteKind.PREACKED)

    @cached_property
    def sent_at(self) -> Ints:
        """Message -> the index of its (first) SENT event, or -1. Comparable as order of sending at one origin."""
        at = np.full(len(self.keys), -1, np.int64)
        at[self.s_message[::-1]] = self.s_event[::-1]
        return at

    @cached_property
    def first_copies(self) -> Ints:
        """The rows of deliveries that repeat none before them in the same life."""
        _, first = np.unique(self.d_message * len(self.lives) + self.d_life, return_index=True)
        return np.sort(first)

    @cached_property
    def logs(self) -> list[Ints]:
        """Life -> the rows of its deliveries, in its order."""
        order = np.argsort(self.d_life, kind="stable")
        return np.split(order, np.searchsorted(self.d_life[order], np.arange(1, len(self.lives))))

    def log(self, life: int) -> Ints:
        """Life -> the messages it delivered, in its order."""
        return self.d_message[self.logs[life]]

    @cached_property
    def deliveries(self) -> list[Event]:
        """Every DELIVERED, for judges that look at one after the other."""
        return self.notes.rows(self.d_event)

    @cached_property
    def sendings(self) -> list[Event | None]:
        """Message -> its (first) SENT, if it was seen."""
        seen = iter(self.notes.rows(self.sent_at[self.sent_at >= 0]))
        return [next(seen) if at >= 0 else None for at in self.sent_at.tolist()]

    def delivery(self, row: int) -> Event:
        """The DELIVERED event of a row: for excerpts."""
        return self.notes[int(self.d_event[row])]

    def sending(self, message: int) -> tuple[Event, ...]:
        """The SENT event of a message, if it was seen: for excerpts."""
        at = int(self.sent_at[message])
        return (self.notes[at],) if at >= 0 else ()

    def beginning(self, life: Life) -> Event | None:
        """The first that the node noted in this life; None: nothing."""
        notes = self.notes
        rows = np.flatnonzero((notes.node == life.node) & (notes.incarnation == life.incarnation))
        return notes[int(rows[0])] if len(rows) else None

    def destined(self, node: int) -> Ints:
        """The messages that were sent to a node, each once."""
        return self._destined.get(node, self.t_message[:0])

    @cached_property
    def _destined(self) -> dict[int, Ints]:
        count = max(1, len(self.keys))
        nodes, messages = np.divmod(np.unique(self.t_node * count + self.t_message), count)
        begins = np.flatnonzero(np.diff(nodes, prepend=-1)).tolist()
        return {int(nodes[a]): messages[a:b] for a, b in pairwise((*begins, len(nodes)))}

    def told(self, meaning: type[Meaning]) -> tuple[Ints, Any]:
        """What deliveries say: which rows do, and a column for each name."""
        if meaning not in self._told:
            self._told[meaning] = self.evidence.columns(meaning, self.d_event)
        return self._told[meaning]

    def name(self, message: int) -> str:
        return name_of(*self.keys[message])

    def down(self, node: int) -> bool:
        """Is the node's last life over at the end of the run?"""
        return not any(life.up for life in self.lives if life.node == node)

    @cached_property
    def _nodes(self) -> int:
        return 1 + max((*self.life_node.tolist(), *self.evidence.nodes, *self.t_node.tolist()), default=0)

    def pair(self, messages: Ints, nodes: Ints) -> Ints:
        """One number per (message, node)."""
        pairs: Ints = messages * self._nodes + nodes
        return pairs

    @cached_property
    def target_pairs(self) -> Ints:
        """The pair of every (message, destination)."""
        return self.pair(self.t_message, self.t_node)

    @cached_property
    def delivery_pairs(self) -> Ints:
        """The pair of every delivery."""
        return self.pair(self.d_message, self.d_node)
