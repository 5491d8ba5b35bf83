"""The facts of a history in the form judges need: messages numbered, deliveries as columns, lives, the end.

Made in one pass over the events; everything after it works on numpy columns, so that 10^6 deliveries are judged
in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from captures.history import Event, History
from nodes.wire.note import NoteKind, Over, said

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


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
    """A history, indexed."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.events = history.events
        self.end = ""  # "quiet", "limit", or "" when nothing was said
        self.heal: Event | None = None  # the last MARK heal
        self.lives: list[Life] = []
        self.submitted: list[Event] = []
        self.refused: list[Event] = []
        self.results: list[Event] = []
        self.alarms: list[Event] = []
        self.faults: list[Event] = []
        self.accepted: dict[tuple[int, int], Event] = {}  # (message, node) -> its first ACCEPTED
        self.preacked: list[tuple[int, int, Event]] = []  # life, message, event
        self.keys: list[tuple[int, int]] = []  # message -> (origin, seq)
        self._read()

    def _read(self) -> None:
        current = {node: self._begin(node, True) for node in self.history.nodes}
        ids: dict[tuple[int, int], int] = {}
        delivered: list[tuple[int, int, int]] = []  # life, message, event
        sent: list[tuple[int, int, int]] = []
        targets: list[tuple[int, ...]] = []
        about_messages = {NoteKind.SENT, NoteKind.ACCEPTED, NoteKind.PREACKED, NoteKind.DELIVERED}
        lists = {
            NoteKind.SUBMITTED: self.submitted,
            NoteKind.REFUSED: self.refused,
            NoteKind.RESULT: self.results,
            NoteKind.ALARM: self.alarms,
        }
        for index, event in enumerate(self.events):
            node, kind = event.node, event.kind
            if not node:
                self._harness(event, current)
                continue
            life = current.get(node)
            if life is None:
                life = current[node] = self._begin(node, True)
            if life.incarnation != event.incarnation or (life.stopped is not None and life.stopped.node == node):
                if life.incarnation or life.stopped is not None:
                    life.stopped = life.stopped or event
                    life = current[node] = self._begin(node, False)
                life.incarnation = event.incarnation
            if kind in about_messages:
                key = (event.about, event.seq)
                message = ids.setdefault(key, len(ids))
                if kind is NoteKind.DELIVERED:
                    delivered.append((life.index, message, index))
                elif kind is NoteKind.SENT:
                    sent.append((life.index, message, index))
                    targets.append(event.peers)
                elif kind is NoteKind.ACCEPTED:
                    self.accepted.setdefault((message, node), event)
                else:
                    self.preacked.append((life.index, message, event))
            elif kind is NoteKind.VIEW:
                life.views.append(event)
            elif kind is NoteKind.LEFT:
                life.stopped = event
            elif kind in lists:
                lists[kind].append(event)
        self.keys = list(ids)
        self.d_life, self.d_message, self.d_event = _columns(delivered)
        self.s_life, self.s_message, self.s_event = _columns(sent)
        counts = np.fromiter(map(len, targets), np.int64, len(targets))
        self.t_message = np.repeat(self.s_message, counts)  # (message, node) of every destination
        self.t_node = np.fromiter(chain.from_iterable(targets), np.int64, int(counts.sum()))
        self.life_node = np.array([life.node for life in self.lives], np.int64)

    def _begin(self, node: int, first: bool) -> Life:
        life = Life(len(self.lives), node, first)
        self.lives.append(life)
        return life

    def _harness(self, event: Event, current: dict[int, Life]) -> None:
        word, _, rest = event.text.partition(" ")
        if event.kind is NoteKind.MARK:
            if word == "heal":
                self.heal = event
            elif word == "end":
                self.end = "quiet" if rest == "quiet" or said(Over, event.values) == Over(quiet=1) else "limit"
        elif event.kind is NoteKind.FAULT:
            self.faults.append(event)
            for node in event.fault.stopped:
                if node in current:
                    current[node].stopped = current[node].stopped or event

    # Columns. A message is its index in `keys`.

    @cached_property
    def d_node(self) -> Ints:
        """The node of every delivery."""
        return self.life_node[self.d_life]

    @cached_property
    def sent_at(self) -> Ints:
        """Message -> the index of its (first) SENT event, or -1. Comparable as order of sending at one origin."""
        at = np.full(len(self.keys), -1, np.int64)
        at[self.s_message[::-1]] = self.s_event[::-1]
        return at

    @cached_property
    def source(self) -> Ints:
        """Message -> origin."""
        return np.fromiter((about for about, _ in self.keys), np.int64, len(self.keys))

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

    def delivery(self, row: int) -> Event:
        """The DELIVERED event of a row."""
        return self.events[int(self.d_event[row])]

    def sending(self, message: int) -> tuple[Event, ...]:
        """The SENT event of a message, if it was seen: for excerpts."""
        at = int(self.sent_at[message])
        return (self.events[at],) if at >= 0 else ()

    def name(self, message: int) -> str:
        return name_of(*self.keys[message])

    def down(self, node: int) -> bool:
        """Is the node's last life over at the end of the run?"""
        return not any(life.up for life in self.lives if life.node == node)

    @cached_property
    def _nodes(self) -> int:
        return 1 + max((*self.life_node.tolist(), *self.history.nodes, *self.t_node.tolist()), default=0)

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


def _columns(rows: list[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
    table = np.array(rows, np.int64).reshape(len(rows), 3)
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()
