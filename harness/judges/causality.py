"""Happened-before, computed from what was sent and delivered, never from the tags that a protocol attaches.

Each life of a node is one process. `past[m][p]` is the number of messages that p had sent when m was sent and that
are in m's causal past (m's own sending included). Between two sendings of a process its knowledge is not needed, so
it is brought up to date only then: one vector maximum over all that was delivered in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from captures.tables import Ints
from harness.judges.facts import Facts, Life


class NotCausal(Exception):
    """A delivery lies before the sending of its message, or that sending was not seen."""


@dataclass(frozen=True, slots=True)
class Past:
    """The causal past of every message that was sent."""

    vectors: npt.NDArray[np.int32]  # message x process -> messages of that process in the past
    index: Ints  # message -> its number among those of its process, from 1
    process: Ints  # message -> the process that sent it

    def following(self, message: int) -> npt.NDArray[np.bool_]:
        """Which messages have it in their past; it is one of them."""
        follow: npt.NDArray[np.bool_] = self.vectors[:, self.process[message]] >= self.index[message]
        return follow


@lru_cache(maxsize=1)  # several judges of one run ask for it, one after the other
def causal_past(facts: Facts) -> Past:
    """The past of all messages; NotCausal if some delivery has no sending before it."""
    processes = len(facts.lives)
    index = np.zeros(len(facts.keys), np.int64)
    process = np.full(len(facts.keys), -1, np.int64)
    vectors = np.zeros((len(facts.keys), processes), np.int32)
    now = np.zeros((processes, processes), np.int32)  # what each process knows
    pending: list[list[int]] = [[] for _ in range(processes)]  # delivered since its last sending
    sent: set[int] = set()
    # Sendings and deliveries in the order of the events; a node's own copy may be delivered within the sending.
    kinds = np.concatenate((np.zeros(len(facts.s_event), np.int64), np.ones(len(facts.d_event), np.int64)))
    events = np.concatenate((facts.s_event, facts.d_event))
    lives = np.concatenate((facts.s_life, facts.d_life)).tolist()
    messages = np.concatenate((facts.s_message, facts.d_message)).tolist()
    origin = facts.source
    own = facts.life_node
    order = np.argsort(events, kind="stable")
    for row, delivered in zip(order.tolist(), kinds[order].tolist(), strict=True):
        life, message = lives[row], messages[row]
        if delivered:
            if message in sent:
                pending[life].append(message)
            elif origin[message] != own[life]:
                raise NotCausal(f"the sending of {facts.name(message)} was not seen before its delivery")
            continue
        if message in sent:
            continue
        if pending[life]:
            news = vectors[pending[life]] if len(pending[life]) > 1 else vectors[pending[life][0]][None]
            np.maximum(now[life], news.max(axis=0), out=now[life])
            pending[life].clear()
        now[life, life] += 1
        vectors[message] = now[life]
        index[message] = now[life, life]
        process[message] = life
        sent.add(message)
    return Past(vectors, index, process)


class Before:
    """What a life delivers, and which of the messages for its node come causally before each delivery."""

    def __init__(self, past: Past, facts: Facts, life: Life) -> None:
        self._past, self._log = past, facts.log(life.index)
        messages = facts.destined(life.node)
        sender, self._stride = past.process[messages], len(past.index) + 1
        place = sender * self._stride + past.index[messages]
        order = np.argsort(place)
        self.messages = messages[order]  # by sender, each one's in the order of sending
        self._place, self._group = place[order], sender[order] * len(order)

    def latest(self, values: Ints) -> tuple[Ints, Ints]:
        """Of each delivery the greatest of `values`, one for each of `messages`, over those in its causal past; and the
        message to which it belongs. NOT_COUNTED and -1 where there is none."""
        # How late the latest of a sender's first k came, told by ranks: they can be set apart from those of the others.
        by_value = np.argsort(values, kind="stable")
        rank = np.empty(len(values), np.int64)
        rank[by_value] = np.arange(len(values))
        leader = by_value[np.maximum.accumulate(rank + self._group) - self._group]
        greatest = np.concatenate((values[leader], (NOT_COUNTED,)))
        which = np.concatenate((self.messages[leader], (-1,)))
        wanted = self._past.vectors[self._log].astype(np.int64)
        rows = np.arange(len(self._log))
        wanted[rows, self._past.process[self._log]] -= 1  # a message is not in its own past
        first = np.arange(wanted.shape[1]) * self._stride
        last = np.searchsorted(self._place, wanted + first, side="right") - 1
        last[last < np.searchsorted(self._place, first)] = len(values)  # none of that sender
        best = np.argmax(greatest[last], axis=1)
        last = last[rows, best]
        return greatest[last], np.where(greatest[last] == NOT_COUNTED, -1, which[last])


NOT_COUNTED = np.iinfo(np.int64).min


@lru_cache(maxsize=1)
def before(facts: Facts) -> list[Before]:
    """The same of all lives; NotCausal if some delivery has no sending before it."""
    past = causal_past(facts)
    return [Before(past, facts, life) for life in facts.lives]
