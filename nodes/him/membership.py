"""Numbered views: who is in the group, and who comes and goes (paper 003 §3.3 step 7 and §5; D-HI-13, D-HI-14).

The paper leaves renumbering open. Here a view is a number and an ascending list of (node, incarnation); positions in
the list are the paper's node numbers. A view's number is a count with its proposer and his life below it, so two views
proposed at once are never equal, and the larger wins everywhere: whose change was lost in it sees the reason again and
proposes it again. Every packet carries the number: one of an older view is answered with the VIEW, one of a newer
makes us ask for it and waits meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from nodes.him.core import Core
from nodes.him.notes import SILENT, SILENT_PERIODS
from nodes.wire.him import HimAlive, HimJoin, HimPdu, HimView, HimViewRequest, proposer_of, view_number
from nodes.wire.note import NoteKind
from nodes.wire.table import greatest

_REPEATS = 3  # VIEW goes out again before so many DATA of its proposer; who misses them all asks


class Membership:
    """One node's view."""

    def __init__(
        self,
        core: Core,
        changed: Callable[[frozenset[int]], None],
        excluded: Callable[[], None],
        again: Callable[[HimPdu], None],
    ) -> None:
        self._core = core
        self._changed = changed  # argument: members that came, went or began anew
        self._excluded = excluded
        self._again = again  # takes a packet that came before its view
        self._incarnations: dict[int, int] = {}
        self._seen = 0  # the highest number of a view we know of
        self._repeats = 0
        self._early: deque[HimPdu] = deque(maxlen=64)
        self._told_ns: dict[tuple[int, str], int] = {}
        self._asked = 0  # JOINs sent
        self._host = 0  # whom to ask first
        self._heard_ns: dict[int, int] = {}
        self._silent: set[int] = set()

    @property
    def joined(self) -> bool:
        return bool(self._core.members)

    def start(self) -> None:
        """A node's first process knows the group; a later one asks to be taken in again."""
        core = self._core
        if core.setting.incarnation == 1:
            self._install(1 << 16, dict.fromkeys(core.setting.members, 1), "start")
        else:
            self.join()
        if core.options.alive_ns:
            core.after(("alive",), core.options.alive_ns)

    # views

    def _install(self, number: int, incarnations: dict[int, int], why: str) -> None:
        core = self._core
        before = self._incarnations
        changed = frozenset(node for node in {*before, *incarnations} if before.get(node) != incarnations.get(node))
        self._incarnations = incarnations
        core.view, core.members = number, tuple(sorted(incarnations))
        self._seen = max(self._seen, number)
        core.timers.cancel(("join",))
        core.forget_paces()
        for node in changed:
            self._heard_ns[node] = core.now_ns
        core.log(NoteKind.VIEW, seq=number, peers=core.members, text=why)
        self._changed(changed)
        early, self._early = self._early, deque(maxlen=64)
        for pdu in early:
            self._again(pdu)

    def _propose(self, incarnations: dict[int, int], why: str) -> None:
        """Tell everybody first, then live in it: what is undecided goes out in the new view."""
        core = self._core
        number = view_number((self._seen >> 16) + 1, core.me, core.setting.incarnation)
        if number > greatest(HimView, "view"):
            core.alarm("no number is left for another view", tuple(sorted(incarnations)))
            return
        self._repeats = _REPEATS
        core.multicast(self._view_pdu(number, incarnations))
        self._install(number, incarnations, why)

    def _view_pdu(self, number: int, incarnations: dict[int, int]) -> HimView:
        members = tuple(sorted(incarnations.items()))
        head = self._core.head(proposer_of(number)) | {"view": number}
        return HimView(**head, nlist=len(members), members=members, seal=b"")

    def disjoin(self, nodes: tuple[int, ...]) -> None:
        """Step 7: they are out of the group."""
        left = {node: inc for node, inc in self._incarnations.items() if node not in nodes}
        self._propose(left, "disjoin")

    def before_data(self) -> None:
        if self._repeats:
            self._repeats -= 1
            if self._repeats < _REPEATS - 1:  # the first DATA follows the VIEW itself
                self._core.multicast(self._view_pdu(self._core.view, self._incarnations))

    def knows(self, pdu: HimPdu) -> bool:
        """Views are talked about with those that may belong to the group, and with nobody else."""
        if pdu.src in self._core.setting.members and pdu.src != self._core.me:
            return True
        self._core.refuse("outsider", pdu)
        return False

    def on_view(self, pdu: HimView) -> None:
        core, incarnations = self._core, dict(pdu.members)
        self._seen = max(self._seen, pdu.view)
        mine = incarnations.get(core.me) == core.setting.incarnation
        if self.joined and pdu.view < core.view:
            self._tell(pdu.src)
        elif self.joined and pdu.view == core.view:
            pass
        elif mine:
            self._install(pdu.view, incarnations, "joined" if not self.joined else "told")
        elif self.joined:
            self._leave(pdu.src)

    def on_view_request(self, pdu: HimViewRequest) -> None:
        self._tell(pdu.src)

    def _tell(self, node: int) -> None:
        if self.joined and self._may_tell(node, "view"):
            self._core.unicast(self._view_pdu(self._core.view, self._incarnations), node)

    def _may_tell(self, node: int, what: str) -> bool:
        """At most one such packet to the same node in the shortest time-out: packets in flight come in crowds."""
        now_ns, last_ns = self._core.now_ns, self._told_ns.get((node, what))
        if last_ns is not None and now_ns - last_ns < self._core.options.rto_min_ns:
            return False
        self._told_ns[node, what] = now_ns
        return True

    # coming and going

    def join(self) -> None:
        """Ask one member after the other; when all have been asked q times in vain, we are alone and say so."""
        core = self._core
        others = [node for node in core.setting.members if node != core.me]
        if self._asked >= core.options.q * len(others):
            if others:
                core.alarm("alone", tuple(others))
            self._asked = 0
            return self._propose({core.me: core.setting.incarnation}, "alone")
        first = others.index(self._host) if self._host in others else 0
        host = others[(first + self._asked) % len(others)]
        self._asked += 1
        core.unicast(HimJoin(**core.head(core.me), incarnation=core.setting.incarnation, seal=b""), host)
        return core.after(("join",), core.round_trips.timeout_ns(host))

    def on_join(self, pdu: HimJoin) -> None:
        if not self.joined:
            return None
        known = self._incarnations.get(pdu.src, 0)
        if pdu.incarnation < known:
            return self._core.refuse("old", pdu)
        if pdu.incarnation == known:
            return self._tell(pdu.src)
        return self._propose({**self._incarnations, pdu.src: pdu.incarnation}, "join")

    def _leave(self, told_by: int) -> None:
        """They have a newer view, and we are not in it."""
        core = self._core
        core.alarm("disjoined", (core.me,))
        core.log(NoteKind.LEFT, seq=core.view, text="disjoined")
        self._incarnations, core.members = {}, ()
        self._excluded()
        self._asked, self._host = 0, told_by
        if core.rules.rejoins:
            self.join()

    # the view of every packet

    def admits(self, pdu: HimPdu) -> bool:
        """Is this packet of our view, from a member? If not, see to it that the views become equal."""
        core = self._core
        if not self.joined:
            core.refuse("no view", pdu)
            return False
        if not self.knows(pdu):
            return False
        if pdu.view > core.view:
            self._early.append(pdu)
            core.counters["early"] += 1
            if self._may_tell(pdu.src, "request"):
                core.unicast(HimViewRequest(**core.head(core.me), seal=b""), pdu.src)
            return False
        if pdu.view < core.view:
            core.refuse("wrong view", pdu)
            self._tell(pdu.src)
            return False
        if pdu.src not in self._incarnations:
            core.refuse("outsider", pdu)
            return False
        self._heard_ns[pdu.src] = core.now_ns
        return True

    # silence (D-HI-14)

    def alive(self) -> None:
        """Say that we are here, and look who is not."""
        core = self._core
        core.after(("alive",), core.options.alive_ns)
        if not self.joined:
            return
        core.multicast(HimAlive(**core.head(core.me), seal=b""))
        overdue_ns = core.now_ns - SILENT_PERIODS * core.options.alive_ns
        silent = {node for node in core.members if node != core.me and self._heard_ns[node] < overdue_ns}
        if silent - self._silent:
            core.alarm(SILENT, tuple(sorted(silent)))
        self._silent = silent

    def settled(self) -> bool:
        return self.joined or not self._core.timers.running(("join",))
