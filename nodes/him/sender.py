"""The originator's part: multicast, gather reports, repeat, decide (paper 003 §3.3 steps 1, 6 and 7).

A message ends in SUCCESS when a round brought no report for T_dec, or earlier when there is first-hand evidence that
every member holds it; in FAIL when the last round was reported too and the suspects, asked by the originator itself,
do not show that they hold it. cnt(k), the failures of node k, outlives the message (D-HI-8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nodes.him.core import Core
from nodes.him.notes import NO_MULTICAST, Result
from nodes.him.tester import Held, Tester
from nodes.him.timing import stamp
from nodes.lives import Numbering, refused
from nodes.machine import Submit
from nodes.wire.him import HAVE, SUCCESS, HimAnswer, HimData, HimEnd, HimQuery, HimReport, Reason
from nodes.wire.note import NoteKind, Refused, Sent

NUMBERING = Numbering(count_bits=24)  # seq
_LAST_ROUND = 250  # the field is a byte


@dataclass(slots=True)
class Sending:
    """One message of ours."""

    seq: int
    held: Held
    audience: frozenset[int]  # to whom it was sent
    limit: int  # the last round
    round: int = 0
    reports: dict[int, dict[int, set[int]]] = field(default_factory=dict)  # round -> suspect -> reporters
    evidence: set[int] = field(default_factory=set)  # members that hold it, first hand
    waiting: bool = False  # T_dec is over, our own test is not
    probing: dict[int, int] = field(default_factory=dict)  # suspect -> number of the question that is out
    stamps: dict[int, int] = field(default_factory=dict)  # suspect -> time stamp of that question
    asked: tuple[int, ...] = ()  # whom the last probes were for
    served: set[int] = field(default_factory=set)  # suspects that got a copy by unicast in this round
    fresh: bool = False  # one of them since T_dec was last waited for
    outcome: str = ""
    late: set[int] = field(default_factory=set)  # about whom a late alarm was given

    @property
    def phase(self) -> str:
        """Where it is in the procedure, in a word."""
        return self.outcome or ("asking" if self.probing else "waiting" if self.waiting else "round")


class Sender:
    """All messages of ours."""

    def __init__(self, core: Core, disjoin: Callable[[tuple[int, ...]], None], before_data: Callable[[], None]) -> None:
        self._core = core
        self._disjoin = disjoin
        self._before_data = before_data
        self._numbers = iter(NUMBERING.of(core.setting.incarnation))
        self._open: dict[int, Sending] = {}  # by seq; kept as long as the tester keeps the message
        self._failures: dict[int, list[tuple[int, int, Reason]]] = {}  # k -> (time, seq, reason), one per round
        self.tester: Tester

    # step 1

    def submit(self, event: Submit) -> None:
        core = self._core
        if len(event.data) > core.max_payload:
            core.counters["refused_submissions"] += 1
            text = f"payload of {len(event.data)} bytes; one packet of 1,280 holds {core.max_payload}"
            return core.log(NoteKind.REFUSED, core.me, values=Refused(event.number), text=text)
        if core.me not in core.members:
            core.counters["refused_submissions"] += 1
            return core.log(NoteKind.REFUSED, core.me, values=Refused(event.number), text="not a member of the group")
        seq = next(self._numbers, None)
        if seq is None:
            core.counters["refused_submissions"] += 1
            core.out += refused(core.me, event)
            return None
        audience = frozenset(core.members) - {core.me}
        core.log(NoteKind.SENT, core.me, seq, peers=core.members, values=Sent(event.number))
        sending = Sending(seq, self.tester.hold(core.me, seq, event.data, 0), audience, core.options.maxfail)
        self._open[seq] = sending
        return self._multicast(sending)

    def _multicast(self, sending: Sending) -> None:
        core = self._core
        if core.members == (core.me,):  # alone: whoever is in the group holds it
            if len(core.setting.members) > 1:
                core.multicast(self._data(sending))  # whoever hears it has another view, and tells of it
            return self._succeed(sending)
        self._before_data()
        sending.waiting = False
        core.multicast(self._data(sending))
        core.after(("decide", sending.seq), core.decision_ns())
        return self.tester.test(sending.held, sending.round)

    def _data(self, sending: Sending) -> HimData:
        head = self._core.head(self._core.me, sending.seq, sending.round)
        return HimData(**head, hash=sending.held.hash, payload=sending.held.payload)

    def _next_round(self, sending: Sending) -> None:
        self._stop_probing(sending)
        sending.served.clear()
        sending.round += 1
        self._core.counters["repeated_data"] += 1
        self._multicast(sending)

    # reports

    def on_report(self, pdu: HimReport) -> None:
        core = self._core
        if pdu.origin != core.me:
            return core.refuse("not for me", pdu)
        sending = self._open.get(pdu.seq)
        if sending is None:
            return core.refuse("old", pdu)
        listed = {node: Reason(reason) for node, reason in pdu.suspects if reason in set(Reason)}
        if sending.outcome:
            self._late(sending, listed)
            return self._send_end(sending, pdu.src)
        self._record(sending, pdu.round, pdu.src, listed)
        return self._hasten(sending, pdu.round)

    def own_result(self, held: Held, bad: dict[int, Reason]) -> None:
        """Node 0 tests too."""
        sending = self._open[held.seq]
        if sending.outcome:
            return
        self._record(sending, held.lastround, self._core.me, bad)
        if sending.waiting:
            self.decide(sending.seq)
        else:
            self._hasten(sending, held.lastround)

    def _record(self, sending: Sending, round_: int, reporter: int, listed: dict[int, Reason]) -> None:
        core = self._core
        if round_ > sending.round:
            return
        for named, reason in listed.items():
            node = core.rules.accused(named, reason, reporter, core.me)
            if node is None or node not in core.members:
                continue
            if reason is Reason.MISMATCH:
                sending.evidence.discard(node)
            elif node in sending.evidence:
                continue
            reporters = sending.reports.setdefault(round_, {}).setdefault(node, set())
            if not reporters:
                self._count(sending, node, reason)
            reporters.add(reporter)

    def _hasten(self, sending: Sending, round_: int) -> None:
        """Repeat as soon as one node asks for it (step 6), unless this was the last round: then hear everybody."""
        if self._core.options.hasten and round_ == sending.round < sending.limit and self._suspects(sending):
            self._next_round(sending)

    def _suspects(self, sending: Sending) -> set[int]:
        reported = sending.reports.get(sending.round, {})
        return {node for node in reported if node not in sending.evidence and node in self._core.members}

    def _late(self, sending: Sending, listed: dict[int, Reason]) -> None:
        """Bad news after SUCCESS: what was said cannot be unsaid, but a person must know."""
        known = sending.evidence | sending.late
        late = {node for node in listed if node in self._core.members and node not in known and node != self._core.me}
        if sending.outcome == "SUCCESS" and late:
            sending.late |= late
            self._core.alarm("late report", tuple(sorted(late)), self._core.me, sending.seq)

    # cnt(k)

    def _count(self, sending: Sending, node: int, reason: Reason) -> None:
        core = self._core
        already = self._counted(sending, node)
        self._failures.setdefault(node, []).append((core.now_ns, sending.seq, reason))
        if core.rules.heeds_failure(core.options.adj, reason, already):
            core.alarm("no answer", (node,), core.me, sending.seq)

    def _counted(self, sending: Sending, node: int) -> int:
        core, counts = self._core, self._core.rules.failure_counts
        kept = [
            (at_ns, seq, reason)
            for at_ns, seq, reason in self._failures.get(node, ())
            if seq == sending.seq or core.now_ns - at_ns <= core.options.count_window_ns
        ]
        self._failures[node] = kept
        window_ns = core.options.count_window_ns
        return sum(counts(seq == sending.seq, reason, core.now_ns - at_ns, window_ns) for at_ns, seq, reason in kept)

    # evidence

    def evidence(self, held: Held, node: int) -> None:
        """This member holds our message: it said so to us (N3)."""
        core = self._core
        sending = self._open[held.seq]
        if not core.rules.evidence_refutes:
            return
        sending.evidence.add(node)
        self._failures.pop(node, None)
        if node in sending.served:  # also if that was his answer to the last question, and others are still asked
            sending.served.discard(node)
            core.alarm(NO_MULTICAST, (node,), core.me, sending.seq)
        elif node in sending.probing:
            reporters = {who for suspects in sending.reports.values() for who in suspects.get(node, ())}
            if reporters:
                core.alarm("path", (*sorted(reporters), node), core.me, sending.seq)
        if node in sending.probing:
            self._probed(sending, node)
        everybody = all(member in sending.evidence for member in core.members if member != core.me)
        if core.rules.evidence_decides and everybody and not sending.outcome:
            self._succeed(sending)

    # step 7, and probes (D-HI-6)

    def decide(self, seq: int) -> None:
        """T_dec is over."""
        sending = self._open[seq]
        if sending.held.tries:
            sending.waiting = True
            return
        sending.waiting = False
        if not self._suspects(sending):
            self._conclude(sending)
        elif sending.round < sending.limit:
            self._next_round(sending)
        else:
            self._probe(sending, self._core.rules.to_probe(self._suspects(sending)))

    def _probe(self, sending: Sending, nodes: tuple[int, ...]) -> None:
        sending.probing, sending.asked = dict.fromkeys(nodes, 1), nodes
        for node in nodes:
            self._ask(sending, node)
        if not nodes:
            self._after_probes(sending)

    def _ask(self, sending: Sending, node: int) -> None:
        self.tester.send_query(sending.held, node, sending.probing[node])
        sending.stamps[node] = stamp(self._core.now_ns)
        # Not doubled: the time until FAIL is bounded, and it is one node that is asked, six times.
        self._core.after(("probe", sending.seq, node), self._core.probe_timeout_ns(node))

    def probe_expired(self, seq: int, node: int) -> None:
        """A healthy node must not go because its answers were lost: it is asked twice as often as by a tester."""
        sending = self._open[seq]
        if sending.probing[node] < 2 * self._core.options.q:
            sending.probing[node] += 1
            self._ask(sending, node)
        else:
            self._probed(sending, node)

    def on_answer(self, pdu: HimAnswer) -> None:
        """A suspect is there, but it does not HAVE what we sent: it gets a copy of its own, and is asked again."""
        core = self._core
        sending = self._open.get(pdu.seq) if pdu.origin == core.me else None
        if sending is None or pdu.src not in sending.probing:
            return
        if pdu.flags & HAVE and pdu.hash == sending.held.hash:
            self.evidence(sending.held, pdu.src)
        elif pdu.round == sending.round:
            sending.served.add(pdu.src)
            sending.fresh = True
            core.unicast(self._data(sending), pdu.src)
            if pdu.tsecr == sending.stamps[pdu.src]:  # else the newest question is on its way, behind an earlier copy
                self.probe_expired(sending.seq, pdu.src)

    def _probed(self, sending: Sending, node: int) -> None:
        del sending.probing[node]
        self._core.timers.cancel(("probe", sending.seq, node))
        if not sending.probing:
            self._after_probes(sending)

    def _after_probes(self, sending: Sending) -> None:
        if not sending.outcome:
            silent = dict.fromkeys((node for node in sending.asked if node not in sending.evidence), Reason.NOANSWER)
            self._record(sending, sending.round, self._core.me, silent)
        suspects = tuple(sorted(self._suspects(sending)))
        if sending.outcome == "SUCCESS":
            doubted = self._core.rules.doubted_after_success(self._counts(sending), self._maxfail())
            self._remove(sending, tuple(k for k in doubted if k in sending.asked))
        elif suspects and sending.round < sending.limit:
            self._next_round(sending)
        elif suspects:
            self._fail(sending, suspects)
        elif sending.fresh:
            # Who got his copy only now begins to test now, and those behind him may not have it either.
            sending.fresh = False
            self._core.after(("decide", sending.seq), self._core.decision_ns())
        else:
            self._conclude(sending)

    def _conclude(self, sending: Sending) -> None:
        """Nobody complains. Is that enough?"""
        unproven = self._core.rules.unproven(self._core.members, sending.evidence | {self._core.me})
        if unproven:
            self._probe(sending, unproven)
        else:
            self._succeed(sending)

    def _maxfail(self) -> int:
        return max(self._core.options.maxfail, 1)

    def _counts(self, sending: Sending) -> dict[int, int]:
        return {node: self._counted(sending, node) for node in self._core.members if node in self._failures}

    # the end

    def _succeed(self, sending: Sending) -> None:
        """All members confirm, or do not complain; but who has gone meanwhile without a word has not got it."""
        lost = tuple(sorted(sending.audience - set(self._core.members) - sending.evidence))
        if lost:
            return self._fail(sending, lost)
        self._finish(sending, "SUCCESS", ())
        doubted = self._core.rules.doubted_after_success(self._counts(sending), self._maxfail())
        if doubted:
            self._probe(sending, doubted)
        return None

    def _fail(self, sending: Sending, suspects: tuple[int, ...]) -> None:
        self._core.alarm("unreached", suspects, self._core.me, sending.seq)
        self._finish(sending, "FAIL", suspects)
        counts, me = self._counts(sending), self._core.me
        # Who was reported while others were asked was not asked himself: he stays, and the next message shows.
        unheard = set(self._core.rules.to_probe(suspects)) - set(sending.asked)
        there = [k for k in suspects if k != me and k in self._core.members and k not in unheard]
        self._remove(sending, tuple(k for k in there if counts.get(k, 0) >= self._maxfail()))

    def _remove(self, sending: Sending, nodes: tuple[int, ...]) -> None:
        if nodes:
            if sending.outcome == "SUCCESS":
                self._core.alarm("unreached", nodes, self._core.me, sending.seq)
            if not self._core.options.disjoin:
                return
            for node in nodes:
                self._failures.pop(node, None)
            self._disjoin(nodes)

    def _finish(self, sending: Sending, outcome: str, suspects: tuple[int, ...]) -> None:
        core = self._core
        sending.outcome, sending.waiting = outcome, False
        core.timers.cancel(("decide", sending.seq))
        self._stop_probing(sending)
        self.tester.finish(sending.held)
        if len(core.members) > 1:
            self._send_end(sending, None)
        core.log(NoteKind.RESULT, core.me, sending.seq, peers=suspects, values=Result(sending.round), text=outcome)

    def _send_end(self, sending: Sending, to: int | None) -> None:
        flags = SUCCESS if sending.outcome == "SUCCESS" else 0
        end = HimEnd(**self._core.head(self._core.me, sending.seq, sending.round, flags), seal=b"")
        if to is None:
            self._core.multicast(end)
        else:
            self._core.unicast(end, to)

    def on_query(self, pdu: HimQuery) -> None:
        """Somebody still tests a message that is finished: his END was lost."""
        sending = self._open.get(pdu.seq) if pdu.origin == self._core.me else None
        if sending is not None and sending.outcome and pdu.attempt > 1:
            self._send_end(sending, pdu.src)

    def busy(self, seq: int) -> bool:
        sending = self._open[seq]
        return not sending.outcome or bool(sending.probing)

    def forget(self, seq: int) -> None:
        self._open.pop(seq, None)

    # the view

    def view_changed(self, changed: frozenset[int]) -> None:
        """Members have gone or come: what is undecided is multicast in the new view, and gets a round more for it."""
        for sending in list(self._open.values()):
            self._stop_probing(sending)
            sending.evidence -= changed.intersection(self._core.members)  # who began anew has lost it
            if not sending.outcome and sending.round < _LAST_ROUND:
                sending.limit = max(sending.limit, sending.round) + 1
                self._next_round(sending)

    def excluded(self) -> None:
        """We are no member any more: nothing of ours can be confirmed."""
        for sending in list(self._open.values()):
            if not sending.outcome:
                self._stop_probing(sending)
                sending.outcome = "FAIL"
                self._core.timers.cancel(("decide", sending.seq))
                self.tester.finish(sending.held)
                self._core.log(NoteKind.RESULT, self._core.me, sending.seq, values=Result(sending.round), text="FAIL")

    def _stop_probing(self, sending: Sending) -> None:
        for node in sending.probing:
            self._core.timers.cancel(("probe", sending.seq, node))
        sending.probing = {}

    def phase(self) -> str:
        """What our messages wait for, each once."""
        return " ".join(sorted({one.phase for one in self._open.values()}))

    def states(self) -> dict[int, str]:
        """Where each of our messages is, by its number."""
        return {seq: one.phase for seq, one in self._open.items()}

    def settled(self) -> bool:
        return not any(self.busy(seq) for seq in self._open)
