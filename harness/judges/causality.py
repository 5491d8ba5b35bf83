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
from harness.judges.facts import Facts


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


def latest_before(past: Past, facts: Facts, life: int, messages: Ints, values: Ints) -> tuple[Ints, Ints]:
    """For each message of a life's log: the greatest of `values` over those of `messages` in its causal past.

    `values` belong to `messages`, all destined to that life. Returns, per delivery of the log, that greatest value and
    the message it belongs to (-1 where the past has none of them).
    """
    log = facts.log(life)
    greatest = np.full(len(log), np.iinfo(np.int64).min, np.int64)
    which = np.full(len(log), -1, np.int64)
    wanted = past.vectors[log].astype(np.int64)
    wanted[np.arange(len(log)), past.process[log]] -= 1  # a message is not in its own past
    senders = past.process[messages]
    order = np.lexsort((past.index[messages], senders))
    bounds = np.searchsorted(senders[order], np.arange(wanted.shape[1] + 1))
    for sender in range(wanted.shape[1]):
        rows = order[bounds[sender] : bounds[sender + 1]]
        if not len(rows):
            continue
        # Prefix maxima in the order of sending: how late the latest of the first k came.
        running = np.maximum.accumulate(values[rows])
        leader = np.maximum.accumulate(np.where(values[rows] == running, np.arange(len(rows)), 0))
        count = np.searchsorted(past.index[messages][rows], wanted[:, sender], side="right")
        has = np.flatnonzero(count)
        value = running[count[has] - 1]
        better = has[value > greatest[has]]
        greatest[better] = running[count[better] - 1]
        which[better] = messages[rows[leader[count[better] - 1]]]
    return greatest, which
