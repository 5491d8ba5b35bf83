"""PROMPT: what arrives in time is delivered, at the very moment the rule allows (papers 002 §3.3 and 004 §3.3).

The moment follows from what the captures show and not from what a node says of its waits: when the first copy of the
message entered the node; when all that comes before it, by the judge's own happened-before, was delivered there or (Δ)
had expired; R0 and the rule of full sets by the time stamps on the wire. A delivery before that moment is as wrong as
one after it.

In virtual time computing takes none, so the moment is exact but for what reading a clock takes: about a microsecond per
turn of a process, and processes that wake in the same instant take their turns one after the other. So a delivery may
be late by one microsecond (a node sleeps in whole ones, rounded up), one for its own turn, and one for each node that
may be awake, five where faults choose among PDUs (what these pass through looks at a clock, too), and two for each
frame and each note that is seen meanwhile, of whomever: somebody looks at a clock before and after it. The harness
takes longer over a fault, and from the last submission on it looks now and then whether all is quiet. On a real machine
nothing of the kind holds: the property is for virtual time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, Undecided, judge_of, when_quiet
from harness.judges.causality import Before, NotCausal, Past, before, causal_past
from harness.judges.facts import Facts, Life
from nodes.cmd.notes import RESTARTED
from nodes.facet import Moment
from nodes.protocols import protocol
from nodes.wire.note import NoteKind

ROUNDING_NS = 1_000
TURN_NS = 1_000
CHOSEN_NS = 5_000  # by faults
LOOK_NS = 100_000  # of the harness, at all interfaces, or over a fault
EARLY_NS = 10  # the moments of a drifting clock are rounded
_NEVER = np.iinfo(np.int64).max

_Key = tuple[int, int]  # a message: its origin and its number there


class Clock:
    """A node's local clock, as its notes show it; between two of them it runs evenly."""

    def __init__(self, local_ns: Ints, true_ns: Ints) -> None:
        """What the clock showed, and the true times of it. Who says nothing gives no reason to doubt it."""
        self._base_local, self._base_true = (int(times[0]) if len(times) else 0 for times in (local_ns, true_ns))
        self._local = np.array([*(local_ns - self._base_local), *[0] * (not len(local_ns))], np.float64)
        self._true = np.array([*(true_ns - self._base_true), *[0] * (not len(true_ns))], np.float64)

    def true(self, local_ns: Ints) -> Ints:
        """When it showed this."""
        since = local_ns - self._base_local
        # Before the first note and after the last: as far off as there.
        ahead = np.maximum(since - int(self._local[-1]), 0) + np.minimum(since, 0)
        found = np.rint(np.interp(since, self._local, self._true)).astype(np.int64)
        moments: Ints = self._base_true + found + ahead
        return moments


@dataclass(frozen=True, slots=True)
class _Copy:
    """The first copy of a message that came to a node."""

    at: int  # its frame
    time_ns: int
    told: tuple[Any, ...]  # the fields of its PDU that the rule asks for


@dataclass(frozen=True, slots=True)
class _Node:
    """One node, its clock, and what came to it."""

    facts: Facts
    rule: Moment
    life: Life
    clock: Clock
    came: dict[_Key, _Copy]
    stamps: Ints  # message -> its time stamp; 0 if its sending was not seen
    watched_ns: int  # from when on the harness looks whether all is quiet

    def late_ns(self, time_ns: int) -> int:
        """How late a delivery may be that takes place at some time."""
        faults = self.facts.of(NoteKind.FAULT)
        exact = ROUNDING_NS + (1 + len(self.facts.evidence.nodes)) * TURN_NS + CHOSEN_NS * bool(faults)
        strikes = any(0 <= time_ns - event.time_ns < LOOK_NS for event in faults)
        return exact + LOOK_NS if strikes or time_ns >= self.watched_ns else exact

    def is_late(self, moment_ns: int, time_ns: int) -> bool:
        """Is it more than that, and than all that is seen meanwhile takes?"""
        if time_ns - moment_ns <= ROUNDING_NS:  # as nearly always
            return False
        over_ns = time_ns - moment_ns - self.late_ns(time_ns)
        if over_ns <= 0:
            return False
        seen = (self.facts.evidence.frames.time_ns, self.facts.notes.time_ns)
        return over_ns > 2 * TURN_NS * sum(int(((times > moment_ns) & (times < time_ns)).sum()) for times in seen)

    def expires_ns(self, messages: Ints) -> Ints | None:
        """The local times from which on messages are waited for no longer; None: there are none."""
        age = self.rule.expires_ns
        return None if age is None else self.stamps[messages] + age(self.facts.evidence.options)

    def released_ns(self, messages: Ints, delivered_ns: Ints) -> Ints:
        """From when on each message holds nobody up: it was delivered, or it had expired."""
        expires_ns = self.expires_ns(messages)
        return delivered_ns if expires_ns is None else np.minimum(delivered_ns, self.clock.true(expires_ns))

    def not_before_ns(self, messages: Ints, copies: Sequence[_Copy | None]) -> Ints:
        """What else the rule asks for, of each message that came."""
        rule, options = self.rule.not_before_ns, self.facts.evidence.options
        if rule is None:
            return np.zeros(len(messages), np.int64)
        pairs = zip(self.stamps[messages].tolist(), copies, strict=True)
        local_ns = [rule(options, self.life.node, stamp, *copy.told) if copy else 0 for stamp, copy in pairs]
        return self.clock.true(np.array(local_ns, np.int64))


@judge_of("PROMPT", "in virtual time: what arrives in time is delivered, at the very moment the rule allows")
def prompt(facts: Facts) -> Finding:
    name = facts.evidence.protocol
    rule = protocol(name).moment if name else None
    if rule is None:
        return Undecided("the protocol has no rule about the moment of a delivery")
    return when_quiet(facts, lambda facts: _all_prompt(facts, rule))


def _all_prompt(facts: Facts, rule: Moment) -> Finding:
    try:
        past, those_before = causal_past(facts), before(facts)
    except NotCausal as error:
        return Undecided(str(error))
    # Whose clock was changed is measured by none; who gave an alarm had no room for all that came, or nobody to answer.
    alarms = [event for event in facts.of(NoteKind.ALARM) if event.text != RESTARTED]
    excused = {event.node for event in (*facts.of(NoteKind.CLOCK), *alarms)}
    came = _first_copies(facts, rule)
    stamps = np.array([rule.stamp(sending.values) if sending else 0 for sending in facts.sendings], np.int64)
    watched_ns = max((event.time_ns for event in facts.of(NoteKind.SUBMITTED)), default=0)
    judged = worst = 0
    for life in facts.lives:
        if not life.up or not life.first or life.node in excused:
            continue
        mine = facts.notes.node == life.node
        clock = Clock(facts.notes.local_ns[mine], facts.notes.time_ns[mine])
        node = _Node(facts, rule, life, clock, came.get(life.node, {}), stamps, watched_ns)
        lost = _after_losses(facts, past, node)
        finding = _missing(facts, past, node, lost)
        if finding is None:
            finding, late_ns = _moments(facts, past, those_before[life.index], node, lost)
            worst = max(worst, late_ns)
        if finding is not None:
            return finding
        judged += len(facts.log(life.index))
    return Holds(f"{judged} deliveries took place when the rule allowed it, or at most {worst} ns later")


def _first_copies(facts: Facts, rule: Moment) -> dict[int, dict[_Key, _Copy]]:
    """Node -> message -> the first copy that came there."""
    frames = facts.evidence.frames
    came: dict[int, dict[_Key, int]] = {}
    carriers = [facet.pdu for facet in protocol(facts.evidence.protocol).pdus if facet.carries]
    arrivals = frames.of_type(*carriers, among=frames.came)
    columns = (frames.node, frames.about, frames.seq)
    for at, node, *key in zip(arrivals.tolist(), *(column[arrivals].tolist() for column in columns), strict=True):
        came.setdefault(node, {}).setdefault((key[0], key[1]), at)
    first = np.array(sorted(at for mine in came.values() for at in mine.values()), np.int64)
    told: dict[int, tuple[Any, ...]] = {}
    for kind in np.unique(frames.type[first]):
        rows = first[frames.type[first] == kind]
        fields = [frames.said(rows, name) for name in rule.told]
        told |= dict(zip(rows.tolist(), zip(*fields, strict=True) if fields else [()] * len(rows), strict=True))
    time_ns = frames.time_ns
    return {
        node: {key: _Copy(at, int(time_ns[at]), told[at]) for key, at in mine.items()} for node, mine in came.items()
    }


def _missing(facts: Facts, past: Past, node: _Node, lost: npt.NDArray[np.bool_]) -> Finding | None:
    """Did something that came in time lead to nothing?"""
    delivered = _delivered(facts, node)
    ids = {key: message for message, key in enumerate(facts.keys)}
    in_vain = lost.copy()
    if node.rule.expires_ns is None:
        for message in facts.destined(node.life.node).tolist():
            if facts.keys[message] not in node.came and facts.keys[message] not in delivered:
                in_vain |= past.following(message)  # whether that was promised to come, others judge
    for key, copy in node.came.items():
        if key in delivered or key not in ids or in_vain[ids[key]]:
            continue
        sending, expires_ns = facts.sending(ids[key]), node.expires_ns(np.array([ids[key]]))
        if sending and expires_ns is not None:
            (last_ns,) = node.clock.true(expires_ns - 1).tolist()
            if copy.time_ns + node.late_ns(last_ns) > last_ns:
                continue
        frame = facts.evidence.frames[copy.at]
        return Broken(
            f"{facts.name(ids[key])} came to n{node.life.node} in time ({frame.capture} #{frame.frame}) and was not "
            "delivered",
            context=sending,
            by_absence=True,
        )
    return None


def _delivered(facts: Facts, node: _Node) -> set[_Key]:
    return {facts.keys[message] for message in facts.log(node.life.index).tolist()}


def _after_losses(facts: Facts, past: Past, node: _Node) -> npt.NDArray[np.bool_]:
    """Which messages follow one that may be lost, since the life that sent it has ended: nobody knows until when. What
    follows a later life's may wait for it as well, as long as it is held back itself (D-CM-9)."""
    after = np.zeros(len(facts.keys), np.bool_)
    if node.rule.expires_ns is not None:
        return after
    mine, delivered = facts.destined(node.life.node).tolist(), _delivered(facts, node)
    for message in mine:
        if facts.keys[message] in delivered or facts.lives[past.process[message]].up:
            continue
        for one in mine:
            if one == message or (
                facts.source[one] == facts.source[message] and past.process[one] > past.process[message]
            ):
                after |= past.following(one)
    return after


def _moments(
    facts: Facts, past: Past, earlier: Before, node: _Node, lost: npt.NDArray[np.bool_]
) -> tuple[Finding | None, int]:
    """The first delivery that is not on time, if any; and by how much the latest one was late."""
    life = node.life
    rows = facts.logs[life.index]
    messages = earlier.messages
    times_ns = facts.notes.time_ns[facts.d_event[rows]]
    delivered_ns = np.full(len(facts.keys), _NEVER, np.int64)
    delivered_ns[facts.d_message[rows]] = times_ns
    released_ns = node.released_ns(messages, delivered_ns[messages])
    greatest, which = earlier.latest(released_ns)
    ended_ns = times_ns[[not facts.lives[process].up for process in past.process[facts.d_message[rows]].tolist()]]
    worst = 0
    copies = [node.came.get(facts.keys[message]) for message in facts.d_message[rows].tolist()]
    least_ns = node.not_before_ns(facts.d_message[rows], copies)
    told = (column.tolist() for column in (rows, facts.d_message[rows], times_ns, greatest, which, least_ns))
    for copy, row, message, time_ns, before_ns, last, rule_ns in zip(copies, *told, strict=True):
        if facts.source[message] == life.node or lost[message]:
            continue
        if copy is None:
            return Undecided(f"the arrival of {facts.name(message)} at n{life.node} was not captured"), 0
        moment_ns = max(copy.time_ns, before_ns, rule_ns)
        if node.rule.expires_ns is None and ((moment_ns < ended_ns) & (ended_ns <= time_ns)).any():
            continue  # what is left of an ended life may be waited for by what follows a later one (D-CM-9)
        late_ns = time_ns - moment_ns
        worst = max(worst, late_ns)
        if node.is_late(moment_ns, time_ns) or late_ns < -EARLY_NS:
            if before_ns == _NEVER:
                how = f"although {facts.name(last)}, which comes before it, never was"
            else:
                how = f"{abs(late_ns)} ns {'after' if late_ns > 0 else 'before'} the moment the rule allows"
            return Broken(
                f"n{life.node} delivered {facts.name(message)} {how}",
                (facts.delivery(row),),
                facts.sending(message) + (facts.sending(last) if last >= 0 else ()),
                by_absence=True,  # of a sending that was not seen it might have waited for
            ), worst
    return None, worst
