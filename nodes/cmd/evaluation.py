"""How large the tags of paper 004 are: what is expected, and the runs that show it without a network.

The paper claims "considerably smaller than N²" and measures nothing. The table is our simulation: unicast to a random
other process under arbitrary reordering. Any message under way may be the next to arrive; of all events 45 % are
sendings while something is under way, so that the network stays busy without filling up.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from nodes.cmd.options import CmdOptions
from nodes.cmd.orders import Build, Order, order_for
from nodes.cmd.reliable import Copy, Frame

SENDING_SHARE = 0.45


@dataclass(frozen=True, slots=True)
class TagSize:
    """s-records per message."""

    mean: float
    greatest: int


# N -> what is expected; the bound is N (N - 1)
TAG_SIZES: dict[int, TagSize] = {
    3: TagSize(2.5, 4),
    5: TagSize(5.6, 14),
    10: TagSize(12.0, 38),
    20: TagSize(21.9, 45),
    40: TagSize(41.3, 73),
}


def bound(processes: int) -> int:
    """CD-3: one record per ordered pair."""
    return processes * (processes - 1)


HEAD_BYTES = 8  # source, time, and how many records there are


def tag_bytes(processes: int, records: float) -> float:
    """Vector time, records, and what stands before them."""
    return 4 * processes + 8 * records + HEAD_BYTES


def matrix_bytes(processes: int) -> int:
    """N x N counters."""
    return 4 * processes * processes


def arbitrary_reordering(
    processes: int, messages: int, seed: int, options: CmdOptions | None = None
) -> Iterator[tuple[Copy, int]]:
    """Each message as it is sent, and how many are under way by then; all are delivered in the end."""
    draw = random.Random(seed)
    members = tuple(range(1, processes + 1))
    orders = {me: order_for(me, members, 1, options or CmdOptions()) for me in members}
    queues: dict[int, list[Copy]] = {me: [] for me in members}
    under_way: list[tuple[int, Copy]] = []
    sent = 0
    while sent < messages or under_way:
        if sent < messages and (not under_way or draw.random() < SENDING_SHARE):
            source, to = draw.sample(members, 2)
            copy = _only(orders[source].send((to,), b""))
            sent += 1
            yield copy, len(under_way)
            under_way.append((to, copy))
        else:
            to, copy = under_way.pop(draw.randrange(len(under_way)))
            queues[to].append(copy)
            _drain(orders[to], queues[to])
    if any(queues.values()):
        raise AssertionError("messages are left in a Queue")


def _only(copies: dict[int, Build] | None) -> Copy:
    if copies is None:
        raise ValueError("the tag does not fit into a datagram: fewer messages, please")
    (build,) = copies.values()
    return build(Frame(1, 1, 1))


def _drain(order: Order, queue: list[Copy]) -> None:
    while True:
        copy = next((each for each in queue if order.deliverable(each, {})), None)
        if copy is None:
            return
        queue.remove(copy)
        order.deliver(copy)
