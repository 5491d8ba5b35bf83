"""confirm = "tree": positive confirmation for groups too large for the originator to see everybody.

Paper 003 concludes success from silence, which takes as long as the slowest bad news could take (T_dec). Its own
objection to acknowledgements is that all of them reach the originator at once, and to trees of acknowledgements that
the routers must take part. Here the *nodes* are the tree: by position behind the originator, node p is the parent of
fanout p + 1 .. fanout p + fanout, and confirms to its parent once it holds the message and all its children have
confirmed. It costs n - 1 packets a message, of which the originator receives `fanout`; nothing rests on it: when a
CONFIRM is lost for good, silence decides as before.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass, field

from nodes.him.core import Core
from nodes.wire.him import HimConfirm

if typing.TYPE_CHECKING:
    from nodes.him.tester import Held

Key = tuple[int, int]


def parent_of(me: int, origin: int, members: tuple[int, ...], fanout: int) -> int:
    """Whom `me` confirms to."""
    start, n = members.index(origin), len(members)
    position = (members.index(me) - start) % n
    return members[(start + (position - 1) // fanout) % n]


def children_of(me: int, origin: int, members: tuple[int, ...], fanout: int) -> tuple[int, ...]:
    """Who confirms to `me`."""
    start, n = members.index(origin), len(members)
    first = fanout * ((members.index(me) - start) % n) + 1
    return tuple([members[(start + position) % n] for position in range(first, min(first + fanout, n))])


def subtree_of(node: int, origin: int, members: tuple[int, ...], fanout: int) -> tuple[int, ...]:
    """`node` and all behind it."""
    found = [node]
    for member in found:
        found.extend(children_of(member, origin, members, fanout))
    return tuple(found)


@dataclass(slots=True)
class _Confirming:
    """What this node knows of one message's tree."""

    hashes: dict[int, bytes] = field(default_factory=dict)  # child -> what its subtree holds
    hash: bytes | None = None  # what we hold
    round: int = 0
    sent: int = 0


class Tree:
    """The confirmations of one node."""

    def __init__(self, core: Core, evidence: Callable[[Held, int], None]) -> None:
        self._core = core
        self._evidence = evidence
        self._of: dict[Key, _Confirming] = {}

    def begin(self, key: Key, round_: int, hash_: bytes) -> None:
        """The message is here, for the first time or again in a later round."""
        if not self._core.rules.tree:
            return
        confirming = self._of.setdefault(key, _Confirming())
        confirming.hash, confirming.round, confirming.sent = hash_, round_, 0
        self._when_complete(key, confirming)

    def on_confirm(self, pdu: HimConfirm, held: Held | None) -> None:
        """A child confirms; perhaps before the message is here."""
        core, key = self._core, (pdu.origin, pdu.seq)
        if not core.rules.tree or pdu.src not in self._children(pdu.origin):
            return core.refuse("not a child", pdu)
        if pdu.origin == core.me:
            if held is not None and held.hash == pdu.hash:
                for node in subtree_of(pdu.src, pdu.origin, core.members, core.options.fanout):
                    self._evidence(held, node)
            return None
        if held is not None and held.ended:
            return None
        confirming = self._of.setdefault(key, _Confirming())
        confirming.hashes[pdu.src] = pdu.hash
        self._when_complete(key, confirming)
        return None

    def _children(self, origin: int) -> tuple[int, ...]:
        if origin not in self._core.members:
            return ()
        return children_of(self._core.me, origin, self._core.members, self._core.options.fanout)

    def _when_complete(self, key: Key, confirming: _Confirming) -> None:
        if key[0] == self._core.me or confirming.hash is None or confirming.sent:
            return
        if all(confirming.hashes.get(child) == confirming.hash for child in self._children(key[0])):
            self.send(key)

    def send(self, key: Key) -> None:
        """CONFIRM to the parent; again after T_rep as long as no END is seen, rtry times in all."""
        core, confirming = self._core, self._of[key]
        if confirming.hash is None or key[0] not in core.members:
            return
        head = core.head(*key, confirming.round)
        parent = parent_of(core.me, key[0], core.members, core.options.fanout)
        core.unicast(HimConfirm(**head, hash=confirming.hash, seal=b""), parent)
        confirming.sent += 1
        if confirming.sent < core.options.rtry:
            core.after(("confirm", *key), core.own_rto_ns())

    def end(self, key: Key) -> None:
        self._core.timers.cancel(("confirm", *key))

    def knows(self, key: Key) -> bool:
        return key in self._of

    def forget(self, key: Key) -> None:
        self.end(key)
        self._of.pop(key, None)

    def view_changed(self) -> None:
        """Positions have changed: whoever still waits begins anew with the next round."""
        for key in list(self._of):
            self.forget(key)
