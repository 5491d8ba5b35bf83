"""Every node's part: take a message, test the neighbours, report who does not confirm (paper 003 §3.3 steps 2 to 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from nodes.him.core import Core
from nodes.him.majority import Verdict, majority
from nodes.him.notes import Delivered
from nodes.him.seal import hash_of
from nodes.him.timing import decision_time_ns, patience_ns, round_trip_ns
from nodes.him.tree import Tree
from nodes.him.window import Window
from nodes.wire.him import (
    HASH_BYTES,
    HAVE,
    SUCCESS,
    HimAnswer,
    HimConfirm,
    HimData,
    HimEnd,
    HimQuery,
    HimReport,
    Reason,
)
from nodes.wire.note import NoteKind, digest_of

Key = tuple[int, int]  # originator, seq
_LIST_MAX = 380  # "as many as fit" into 1,280 bytes


@dataclass(slots=True)
class Held:
    """One message at one node: m of the specification."""

    origin: int
    seq: int
    payload: bytes
    hash: bytes
    have: bool = True  # False: the majority holds another, ours was dropped (D-HI-11)
    ended: bool = False
    lastround: int = -1
    tested_ns: int = 0  # when the last test began
    tries: dict[int, int] = field(default_factory=dict)  # neighbour -> number of the question that is out
    hashes: dict[int, bytes] = field(default_factory=dict)  # neighbour -> what it holds
    bad: dict[int, Reason] = field(default_factory=dict)
    pend: frozenset[int] = frozenset()
    success: bool = False  # the originator said so while our test was running
    objected: bool = False  # and we told him that it is not true
    calls: int = 0  # how often we asked him how it ended
    there: bool = False  # and he answered, but no END came
    reported: int = 0
    retests: int = 0

    @property
    def key(self) -> Key:
        return self.origin, self.seq


class Tester:
    """The messages this node holds, and what it knows about its neighbours' copies."""

    def __init__(
        self, core: Core, own_result: Callable[[Held, dict[int, Reason]], None], evidence: Callable[[Held, int], None]
    ) -> None:
        self._core = core
        self._own_result = own_result  # a test of a message of our own came to its end: bad neighbours
        self._evidence = evidence  # this member holds our own message
        self.store: dict[Key, Held] = {}
        # Originator -> what was forgotten: not just the highest, since another that was sent before may still come.
        self._forgotten: defaultdict[int, Window] = defaultdict(Window)
        self._missed: set[Key] = set()
        self._waiting: dict[Key, dict[int, HimQuery]] = {}  # asked about before it came: who asked
        self._tree = Tree(core, evidence)

    # taking messages

    def hold(self, origin: int, seq: int, payload: bytes, round_: int) -> Held:
        """Store, and deliver to the application."""
        held = Held(origin, seq, payload, hash_of(payload))
        self.store[held.key] = held
        self._core.log(NoteKind.DELIVERED, origin, seq, values=Delivered(digest_of(payload), round_))
        for query in self._waiting.pop(held.key, {}).values():  # not before: who says that he holds it may die then
            self._core.timers.cancel(("hold", *held.key, query.src))
            self._answer(query, held)
        self.keep(held.key)
        return held

    def on_data(self, pdu: HimData) -> None:
        core, key = self._core, (pdu.origin, pdu.seq)
        if pdu.src != pdu.origin or pdu.origin == core.me:
            return core.refuse("not its originator", pdu)
        if len(pdu.payload) > core.max_payload:
            return core.refuse("oversized", pdu)
        if hash_of(pdu.payload) != pdu.hash:
            return core.refuse("hash", pdu)
        held = self.store.get(key)
        if held is None:
            if pdu.seq in self._forgotten[pdu.origin]:
                return core.refuse("old", pdu)
            held = self.hold(pdu.origin, pdu.seq, pdu.payload, pdu.round)
        elif not held.have or held.hash != pdu.hash:
            self._correct(held, pdu)
        if pdu.round > held.lastround and not held.ended:
            self.test(held, pdu.round)
        return None

    def _correct(self, held: Held, pdu: HimData) -> None:
        """The originator repeats something else than we hold: his word counts, but nothing is delivered twice."""
        if held.have:
            self._core.alarm("mismatch", (self._core.me,), *held.key)
        held.payload, held.hash, held.have = pdu.payload, pdu.hash, True

    def _keep_ns(self, rto_ns: int) -> int:
        """N4: 2(maxfail + 1) T_dec, but of the slowest originator or tester there can be, not of this node."""
        options = self._core.options
        decide_ns = max(options.decide_ns, decision_time_ns(rto_ns, options.q, options.rtry))
        return 2 * (options.maxfail + 1) * decide_ns

    def busy(self, key: Key) -> bool:
        return key in self.store and self._busy(self.store[key])

    def keep(self, key: Key) -> None:
        """For another while: as long as it may be undecided, and after the END for late reports, and for those who have
        missed it and ask (D-HI-20): to them, who has forgotten it is gone."""
        ended = key in self.store and self.store[key].ended
        options = self._core.options
        rto_ns = max(self._core.group_rto_ns(), options.rto_initial_ns) if ended else options.rto_max_ns
        asked_ns = patience_ns(options) + ((1 << options.q) - 1) * options.rto_max_ns if ended else 0
        self._core.after(("forget", *key), self._keep_ns(rto_ns) + asked_ns)

    def forget(self, key: Key) -> None:
        if self.store.pop(key, None) is not None:
            origin, seq = key
            self._forgotten[origin].take(seq)
        self._tree.forget(key)
        self._missed.discard(key)

    # testing

    def test(self, held: Held, round_: int) -> None:
        core = self._core
        self._stop(held)
        held.lastround, held.tested_ns = round_, core.now_ns
        targets = dict.fromkeys(core.neighbours())
        targets.update(dict.fromkeys(sorted(held.pend.intersection(core.members))))
        held.pend, held.bad, held.hashes, held.reported = frozenset(), {}, {}, 0
        held.tries = dict.fromkeys(targets, 1)
        for peer in targets:
            self._ask(held, peer)
        self._tree.begin(held.key, round_, held.hash)
        self._await_end(held)
        if not targets:
            self._resolved(held)

    def _ask(self, held: Held, peer: int) -> None:
        attempt = held.tries[peer]
        self.send_query(held, peer, attempt)
        self._core.after(("try", *held.key, peer), self._core.round_trips.timeout_ns(peer) << (attempt - 1))

    def send_query(self, held: Held, peer: int, attempt: int) -> None:
        core = self._core
        covered, slowest_ns = core.told(held.origin)
        query = HimQuery(
            **core.head(held.origin, held.seq, max(held.lastround, 0)),
            hash=held.hash,
            attempt=attempt,
            heard=covered,
            slowest=slowest_ns // 1000,
            seal=b"",
        )
        core.unicast(query, peer)

    # D-HI-20: the originator himself may be gone

    def _await_end(self, held: Held) -> None:
        held.calls, held.there = 0, False
        if held.origin != self._core.me and self._core.rules.awaits_end:
            self._core.after(("end", *held.key), patience_ns(self._core.options))

    def no_end(self, key: Key) -> None:
        """Ask the originator, who answers with the END if there is one; as often as anybody is asked, since that may
        be lost. If he only says that he has the message, he has not decided; if he says nothing, we give the alarm."""
        core, held = self._core, self.store[key]
        held.calls += 1
        if held.calls <= core.options.q:
            self.send_query(held, held.origin, held.calls + 1)
            core.after(("end", *key), core.round_trips.timeout_ns(held.origin) << (held.calls - 1))
        elif held.there:
            self._await_end(held)
        else:
            self._orphaned(held)

    def _orphaned(self, held: Held) -> None:
        """Whether all have it, nobody will say any more: those who hold it are those who can tell a person."""
        if self._core.rules.awaits_end:
            self._core.alarm("orphaned", (held.origin, *sorted(held.bad)), *held.key)
        self.finish(held)

    def try_expired(self, key: Key, peer: int) -> None:
        held = self.store[key]
        if held.tries[peer] < self._core.options.q:
            held.tries[peer] += 1
            self._ask(held, peer)
        else:
            self._failed(held, peer, Reason.NOANSWER)

    def on_query(self, pdu: HimQuery) -> None:
        core = self._core
        core.heard(pdu.origin, pdu.src, pdu.heard, pdu.slowest * 1000)
        held = self.store.get((pdu.origin, pdu.seq))
        if held is None:
            return self._not_yet(pdu)
        self._answer(pdu, held)
        if not held.have:
            return None
        if pdu.hash == held.hash:
            self._holds(held, pdu.src)
        if not held.ended and core.rules.query_starts_test(pdu.round, held.lastround):
            self.test(held, pdu.round)
        return None

    def _not_yet(self, pdu: HimQuery) -> None:
        """The question may have overtaken the DATA: wait as long as that is likely before saying no. But if it is asked
        again meanwhile, say so: the other's time-out may be shorter than ours, and he takes silence for death."""
        key, wait_ns = (pdu.origin, pdu.seq), self._core.round_trips.variation_ns()
        waiting = self._waiting.setdefault(key, {})
        again = pdu.src in waiting and pdu.attempt > waiting[pdu.src].attempt
        if again or pdu.src not in waiting:
            self._core.after(("hold", *key, pdu.src), 0 if again else min(wait_ns, self._core.own_rto_ns() // 4))
        waiting[pdu.src] = pdu

    def answer_no(self, key: Key, peer: int) -> None:
        waiting = self._waiting[key]
        self._answer(waiting.pop(peer), None)
        if not waiting:
            del self._waiting[key]

    def _answer(self, pdu: HimQuery, held: Held | None) -> None:
        if pdu.src not in self._core.members:
            return
        hash_ = held.hash if held is not None and held.have else None
        head = self._core.head(pdu.origin, pdu.seq, pdu.round, 0 if hash_ is None else HAVE)
        self._core.unicast(HimAnswer(**head, hash=hash_ or bytes(HASH_BYTES), tsecr=pdu.tsval, seal=b""), pdu.src)

    def on_answer(self, pdu: HimAnswer) -> None:
        sample_ns = round_trip_ns(self._core.now_ns, pdu.tsecr)
        if sample_ns is not None and pdu.flags & HAVE:  # a no may have waited
            self._core.round_trips.measured(pdu.src, sample_ns)
        held = self.store.get((pdu.origin, pdu.seq))
        if held is None or held.ended or not held.have:
            return
        if pdu.src == held.origin and held.calls and pdu.flags & HAVE:
            held.there = True
        if pdu.flags & HAVE:
            held.hashes[pdu.src] = pdu.hash
            if pdu.hash == held.hash:
                self._holds(held, pdu.src)
            else:
                self._answered(held, pdu.src)
        elif pdu.round == held.lastround and pdu.src in held.tries:
            self._failed(held, pdu.src, Reason.NOTHAVE)

    def _holds(self, held: Held, peer: int) -> None:
        """First-hand evidence that `peer` holds m: its answer or its own question with the right hash."""
        if held.origin == self._core.me:
            self._evidence(held, peer)
        if held.ended:
            return
        if peer in held.bad:
            del held.bad[peer]
            held.pend -= {peer}
            if not held.bad and not held.tries:
                self._stop(held)
        self._answered(held, peer)

    def _answered(self, held: Held, peer: int) -> None:
        if held.tries.pop(peer, None) is not None:
            self._core.timers.cancel(("try", *held.key, peer))
            if not held.tries:
                self._resolved(held)

    def _failed(self, held: Held, peer: int, reason: Reason) -> None:
        held.bad[peer] = reason
        self._answered(held, peer)

    def _resolved(self, held: Held) -> None:
        """All neighbours are settled: vote, and report (step 5)."""
        core = self._core
        differ = [peer for peer, hash_ in held.hashes.items() if hash_ != held.hash]
        if majority(held.hash, held.hashes) is Verdict.WRONG and held.origin != core.me:
            held.have = False
            held.bad[core.me] = Reason.MISMATCH
            core.alarm("mismatch", (core.me,), *held.key)
        else:
            held.bad.update(dict.fromkeys(differ, Reason.MISMATCH))
        held.pend = core.rules.pending(peer for peer in held.bad if peer != core.me)
        if held.origin == core.me:
            self._own_result(held, dict(held.bad))
        elif held.success:
            self._conclude(held, True)
        elif held.bad:
            wait_ns = core.chance.random() * core.options.spread * core.own_rto_ns()
            core.after(("report", *held.key), int(wait_ns))

    # reporting

    def report(self, key: Key) -> None:
        """Send the REPORT, and arrange for its repetition (D-HI-4) or for another test (D-HI-5a)."""
        core, held = self._core, self.store[key]
        self._send_report(held.key, held.lastround, held.bad)
        held.reported += 1
        t_rep_ns = core.own_rto_ns()
        if held.reported < core.rules.report_times(core.options):
            core.after(("report", *key), t_rep_ns)
        elif held.pend and held.retests < core.rules.retests(core.options.maxfail, held.lastround):
            core.after(("again", *key), max(t_rep_ns, self._patience_ns(held)))

    def _patience_ns(self, held: Held) -> int:
        """Until when the next round may still be on its way."""
        if self._core.options.hasten:
            return 0  # it would have come at once
        wait_ns = held.tested_ns + self._core.decision_ns() - self._core.now_ns
        return wait_ns + self._core.own_rto_ns()

    def _send_report(self, key: Key, round_: int, bad: dict[int, Reason]) -> None:
        suspects = tuple(sorted((node, int(reason)) for node, reason in bad.items()))[:_LIST_MAX]
        head = self._core.head(*key, round_)
        self._core.unicast(HimReport(**head, nlist=len(suspects), suspects=suspects, seal=b""), key[0])

    def again(self, key: Key) -> None:
        held = self.store[key]
        held.retests += 1
        self.test(held, held.lastround)

    # the end

    def on_end(self, pdu: HimEnd) -> None:
        core, key = self._core, (pdu.origin, pdu.seq)
        if pdu.src != pdu.origin or pdu.origin == core.me:
            return core.refuse("not its originator", pdu)
        held = self.store.get(key)
        if held is not None:
            self._conclude(held, bool(pdu.flags & SUCCESS))
        if pdu.flags & SUCCESS and (held is None or not held.have) and pdu.seq not in self._forgotten[pdu.origin]:
            self._missed_it(key, pdu.round)
        return None

    def _conclude(self, held: Held, success: bool) -> None:
        """The originator calls it a success: a test that still runs goes on, and bad news is told once more."""
        self._tree.end(held.key)
        if success and held.tries:
            self._core.timers.cancel(("end", *held.key))
            held.success = True
            return
        if success and held.bad and not held.objected:
            held.objected = True
            self._send_report(held.key, held.lastround, held.bad)
        self.finish(held)

    def _missed_it(self, key: Key, round_: int) -> None:
        """They call it a success and we have not got it: integrity is broken, and this node alone can know."""
        if key not in self._missed:
            self._missed.add(key)
            self.keep(key)
            self._core.alarm("missed", (self._core.me,), *key)
            self._send_report(key, round_, {self._core.me: Reason.NOTHAVE})

    def finish(self, held: Held) -> None:
        """Nobody waits for this message any more."""
        self._stop(held)
        self._core.timers.cancel(("end", *held.key))
        self._tree.end(held.key)
        held.ended, held.tries, held.bad, held.pend, held.payload = True, {}, {}, frozenset(), b""
        self.keep(held.key)

    def _stop(self, held: Held) -> None:
        timers = self._core.timers
        for peer in held.tries:
            timers.cancel(("try", *held.key, peer))
        timers.cancel(("report", *held.key))
        timers.cancel(("again", *held.key))

    # the tree

    def on_confirm(self, pdu: HimConfirm) -> None:
        key = pdu.origin, pdu.seq
        self._tree.on_confirm(pdu, self.store.get(key))
        if key not in self.store and self._tree.knows(key):
            self.keep(key)  # not for ever: the message may never come

    def confirm(self, key: Key) -> None:
        self._tree.send(key)

    # the view

    def view_changed(self, changed: frozenset[int]) -> None:
        """Do not ask those who have gone; what a message's originator tests in the new view he multicasts anew."""
        core = self._core
        self._tree.view_changed()
        for held in list(self.store.values()):
            if held.ended:
                continue
            if held.origin not in core.members or (held.origin in changed and held.origin != core.me):
                self._orphaned(held) if held.origin != core.me else self.finish(held)  # in whatever view, or in none
                continue
            held.pend = held.pend.intersection(core.members)
            held.bad = {node: reason for node, reason in held.bad.items() if node in core.members}
            for peer in [peer for peer in held.tries if peer not in core.members]:
                self._answered(held, peer)
            if not held.bad and not held.tries:
                self._stop(held)

    def _busy(self, held: Held) -> bool:
        running = self._core.timers.running
        return bool(held.tries) or any(running((name, *held.key)) for name in ("report", "again", "end"))

    def settled(self) -> bool:
        return not any(self._busy(held) for held in self.store.values() if not held.ended)
