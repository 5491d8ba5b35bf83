"""What the parts of a HIM node share: who it is, its view, its time-outs, and its way out to the network.

T_dec is made here (D-HI-12). The specification takes one RTO for the whole group; but a node measures only those it
tests, and an originator whose own neighbour is near would decide long before a tester across a slow line has asked
three times. So in the ring every QUERY carries the largest time-out from the originator up to its sender, one node
further with every message, and arrives where it began after n messages. Until then, and until everything was
measured, the initial time-out counts.
"""

from __future__ import annotations

import random
from collections import Counter

from nodes.him.adjacency import adjacency
from nodes.him.options import HimOptions
from nodes.him.rules import rules_of
from nodes.him.seal import Open, Sealed
from nodes.him.timing import RoundTrips, Timers, decision_time_ns, stamp
from nodes.machine import Log, Output, Send, Setting
from nodes.wire.him import HimPdu
from nodes.wire.note import NoteKind

MAX_PAYLOAD = 1184  # 1280 - 40 (IPv6) - 8 (UDP) - 48 (DATA's header)


class Core:
    """One per node."""

    def __init__(self, setting: Setting, options: HimOptions) -> None:
        self.setting, self.options = setting, options
        self.rules = rules_of(options)
        self.me = setting.me
        self.chance = random.Random(setting.seed)
        self.timers = Timers()
        self.round_trips = RoundTrips(options.rto_initial_ns, options.rto_min_ns, options.rto_max_ns)
        self.seal = Sealed(setting.key, setting.incarnation) if options.auth == "hmac" else Open()
        self.max_payload = MAX_PAYLOAD - self.seal.overhead
        self.now_ns = 0
        self.out: list[Output] = []
        self.counters: Counter[str] = Counter()
        self.view = 0
        self.members: tuple[int, ...] = ()
        self._choose = adjacency(options.adj, options.far_share)
        self._heard: dict[int, tuple[int, int]] = {}  # originator -> nodes covered, their largest time-out

    # the way out

    def head(self, origin: int, seq: int = 0, round_: int = 0, flags: int = 0) -> dict[str, int]:
        """The fields every packet begins with."""
        return {
            "src": self.me,
            "flags": flags,
            "round": round_,
            "origin": origin,
            "view": self.view,
            "seq": seq,
            "tsval": stamp(self.now_ns),
        }

    def multicast(self, pdu: HimPdu) -> None:
        self.out.append(Send(self.seal.close(pdu)))

    def unicast(self, pdu: HimPdu, to: int) -> None:
        self.out.append(Send(self.seal.close(pdu), (to,)))

    def log(
        self,
        kind: NoteKind,
        about: int = 0,
        seq: int = 0,
        *,
        peers: tuple[int, ...] = (),
        values: tuple[int, ...] = (),
        text: str = "",
    ) -> None:
        self.out.append(Log(kind, about, seq, peers, values, text))

    def alarm(self, text: str, peers: tuple[int, ...], origin: int = 0, seq: int = 0) -> None:
        self.counters["alarms"] += 1
        self.log(NoteKind.ALARM, origin, seq, peers=peers, text=text)

    def refuse(self, why: str, pdu: HimPdu) -> None:
        self.counters["refused_" + why.replace(" ", "_")] += 1
        self.log(NoteKind.REFUSED, pdu.src, pdu.seq, text=why)

    # neighbours

    def neighbours(self) -> tuple[int, ...]:
        """B_i = adj(i), drawn anew where it is drawn."""
        if self.me not in self.members:
            return ()
        return self._choose(self.me, self.members, self.options.neighbours, self.chance, self.setting.hops)

    def after(self, timer: tuple[object, ...], wait_ns: int) -> None:
        self.timers.set(timer, self.now_ns + wait_ns)

    # pace

    def own_rto_ns(self) -> int:
        """The largest time-out of this node's tests: of its neighbours in the ring, of anybody it may draw else."""
        if self.options.adj == "ring":
            return self.round_trips.slowest_ns(self.neighbours())
        return self.round_trips.slowest_ns(tuple([m for m in self.members if m != self.me]))

    def told(self, origin: int) -> tuple[int, int]:
        """What this node's QUERY says about the time-outs from the originator up to itself: how many, the largest."""
        if origin == self.me:
            return 1, self.own_rto_ns()
        covered, slowest_ns = self._heard.get(origin, (0, 0))
        return (covered + 1 if covered else 0), max(self.own_rto_ns(), slowest_ns)

    def heard(self, origin: int, src: int, covered: int, slowest_ns: int) -> None:
        """A QUERY of `src` said so; only the one before us in the ring continues the chain."""
        here = self.members.index(self.me)
        if self.options.adj == "ring" and src == self.members[here - 1]:
            self._heard[origin] = covered, slowest_ns

    def forget_paces(self) -> None:
        self._heard.clear()

    def group_rto_ns(self) -> int:
        """A time-out that no node of the group exceeds, as far as is known."""
        own_ns = self.own_rto_ns()
        if self.options.pace == "own":
            return own_ns
        if self.options.adj != "ring":
            return min(2 * own_ns, self.options.rto_max_ns)  # via me nobody is further from anybody
        covered, slowest_ns = self._heard.get(self.me, (0, 0))
        if covered == len(self.members):
            return max(own_ns, slowest_ns)
        return max(own_ns, slowest_ns, self.options.rto_initial_ns)

    def probe_timeout_ns(self, node: int) -> int:
        """Of a node that this one may never have tested."""
        if self.round_trips.knows(node):
            return self.round_trips.timeout_ns(node)
        return self.group_rto_ns()

    def decision_ns(self) -> int:
        """T_dec."""
        if self.options.decide_ns:
            return self.options.decide_ns
        return decision_time_ns(self.group_rto_ns(), self.options.q, self.options.rtry)
