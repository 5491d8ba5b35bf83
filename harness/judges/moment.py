"""PROMPT: what arrives in time is delivered, at the very moment the rule allows (papers 002 §3.3 and 004 §3.3).

The moment follows from what the captures show and not from what a node says of its waits: when the first copy of the
message entered the node; when all that comes before it, by the judge's own happened-before, was delivered there or (Δ)
had expired; R0 and the rule of full sets by the time stamps on the wire. A delivery before that moment is as wrong as
one after it.

In virtual time computing takes none, so the moment is exact but for what reading a clock takes: about a microsecond per
turn of a process, and processes that wake in the same instant take their turns one after the other. So a delivery may
be late by one microsecond (a node sleeps in whole ones, rounded up), one for its own turn, and one for each node that
may be awake. From the last submission on the harness looks now and then whether all is quiet: that takes it longer.
On a real machine nothing of the kind holds: the property is for virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from captures.history import Transmission
from harness.judges.base import Broken, Finding, Holds, Undecided, judge_of, when_quiet
from harness.judges.causality import NotCausal, Past, causal_past, latest_before
from harness.judges.delta import time_stamp
from harness.judges.facts import Facts, Ints, Life
from nodes.cmd.options import CmdOptions
from nodes.delta.options import DeltaOptions
from nodes.wire.note import NoteKind

ROUNDING_NS = 1_000
TURN_NS = 1_000
LOOK_NS = 100_000  # of the harness, at all interfaces
EARLY_NS = 10  # the moments of a drifting clock are rounded
_NEVER = np.iinfo(np.int64).max
_CARRIERS = ("delta.DATA", "cmd.DATA", "cmd.MATRIX")


class Clock:
    """A node's local clock, as its notes show it; between two of them it runs evenly."""

    def __init__(self, noted: list[tuple[int, int]]) -> None:
        """`noted`: what the clock showed, and the true time of it. Who says nothing gives no reason to doubt it."""
        noted = noted or [(0, 0)]
        self._base_local, self._base_true = noted[0]
        self._local = np.array([local_ns - self._base_local for local_ns, _ in noted], np.float64)
        self._true = np.array([true_ns - self._base_true for _, true_ns in noted], np.float64)

    def true(self, local_ns: Ints) -> Ints:
        """When it showed this."""
        since = local_ns - self._base_local
        # Before the first note and after the last: as far off as there.
        ahead = np.maximum(since - int(self._local[-1]), 0) + np.minimum(since, 0)
        found = np.rint(np.interp(since, self._local, self._true)).astype(np.int64)
        moments: Ints = self._base_true + found + ahead
        return moments


@dataclass(frozen=True, slots=True)
class _Node:
    """One node, its clock, and what came to it."""

    facts: Facts
    life: Life
    clock: Clock
    came: dict[tuple[int, int], Transmission]  # message -> its first copy
    watched_ns: int  # from when on the harness looks whether all is quiet

    def late_ns(self, moment_ns: int) -> int:
        """How late a delivery may be that is allowed from some moment on."""
        exact = ROUNDING_NS + (1 + len(self.facts.history.nodes)) * TURN_NS
        return exact if moment_ns < self.watched_ns else exact + LOOK_NS


Released = Callable[[_Node, Ints, Ints], Ints]  # node, messages, when each was delivered -> when it held nobody up
NotBefore = Callable[[_Node, Transmission, int], int]  # node, the first copy, its message -> what else must be


@judge_of("PROMPT", "in virtual time: what arrives in time is delivered, at the very moment the rule allows")
def prompt(facts: Facts) -> Finding:
    options = facts.history.options
    if isinstance(options, DeltaOptions):
        return when_quiet(facts, lambda facts: _all_prompt(facts, _released_or_expired, _by_clock))
    if isinstance(options, CmdOptions):
        if any(not life.first or not life.up for life in facts.lives):
            return Undecided("a node stopped: what was sent to it, or by it, may be waited for in vain")
        return when_quiet(facts, lambda facts: _all_prompt(facts, _released, _at_once))
    return Undecided("the protocol has no rule about the moment of a delivery")


def _all_prompt(facts: Facts, released: Released, not_before: NotBefore) -> Finding:
    try:
        past = causal_past(facts)
    except NotCausal as error:
        return Undecided(str(error))
    stepped = {event.node for event in facts.events if event.kind is NoteKind.CLOCK}
    came = _first_copies(facts)
    judged = worst = 0
    for life in facts.lives:
        if not life.up or not life.first or life.node in stepped:
            continue
        node = _node(facts, life, came.get(life.node, {}))
        finding = _missing(facts, node)
        if finding is None:
            finding, late_ns = _moments(facts, past, node, released, not_before)
            worst = max(worst, late_ns)
        if finding is not None:
            return finding
        judged += len(facts.log(life.index))
    return Holds(f"{judged} deliveries took place when the rule allowed it, or at most {worst} ns later")


def _first_copies(facts: Facts) -> dict[int, dict[tuple[int, int], Transmission]]:
    came: dict[int, dict[tuple[int, int], Transmission]] = {}
    for frame in facts.history.transmissions:
        if frame.direction == "in" and frame.title in _CARRIERS and frame.at.startswith("n"):
            came.setdefault(int(frame.at[1:]), {}).setdefault((frame.about, frame.seq), frame)
    return came


def _node(facts: Facts, life: Life, came: dict[tuple[int, int], Transmission]) -> _Node:
    clock = Clock([(event.local_ns, event.time_ns) for event in facts.events if event.node == life.node])
    watched_ns = max((event.time_ns for event in facts.submitted), default=0)
    return _Node(facts, life, clock, came, watched_ns)


def _missing(facts: Facts, node: _Node) -> Finding | None:
    """Did something that came in time lead to nothing?"""
    delivered = {facts.keys[message] for message in facts.log(node.life.index).tolist()}
    limit_ns = _limit_ns(facts)
    ids = {key: message for message, key in enumerate(facts.keys)}
    for key, frame in node.came.items():
        if key in delivered or key not in ids:
            continue
        sending = facts.sending(ids[key])
        if sending and limit_ns is not None:
            expired = int(node.clock.true(np.array([time_stamp(facts, ids[key]) + limit_ns]))[0])
            if frame.time_ns + node.late_ns(expired) > expired:
                continue
        return Broken(
            f"{facts.name(ids[key])} came to n{node.life.node} in time ({frame.capture} #{frame.frame}) and was not "
            "delivered",
            context=sending,
            by_absence=True,
        )
    return None


def _moments(
    facts: Facts, past: Past, node: _Node, released: Released, not_before: NotBefore
) -> tuple[Finding | None, int]:
    """The first delivery that is not on time, if any; and by how much the latest one was late."""
    life = node.life
    rows = facts.logs[life.index]
    messages = np.unique(facts.t_message[facts.t_node == life.node])
    delivered_ns = np.full(len(facts.keys), _NEVER, np.int64)
    delivered_ns[facts.d_message[rows]] = [facts.delivery(row).time_ns for row in rows.tolist()]
    greatest, which = latest_before(past, facts, life.index, messages, released(node, messages, delivered_ns[messages]))
    worst = 0
    for row, before_ns, last in zip(rows.tolist(), greatest.tolist(), which.tolist(), strict=True):
        event, message = facts.delivery(row), int(facts.d_message[row])
        if event.about == life.node:
            continue
        frame = node.came.get(facts.keys[message])
        if frame is None:
            return Undecided(f"the arrival of {facts.name(message)} at n{life.node} was not captured"), 0
        moment_ns = max(frame.time_ns, before_ns, not_before(node, frame, message))
        late_ns = event.time_ns - moment_ns
        worst = max(worst, late_ns)
        if late_ns > node.late_ns(moment_ns) or late_ns < -EARLY_NS:
            if before_ns == _NEVER:
                how = f"although {facts.name(last)}, which comes before it, never was"
            else:
                how = f"{abs(late_ns)} ns {'after' if late_ns > 0 else 'before'} the moment the rule allows"
            return Broken(
                f"n{life.node} delivered {facts.name(message)} {how}",
                (event,),
                facts.sending(message) + (facts.sending(last) if last >= 0 else ()),
                by_absence=True,  # of a sending that was not seen it might have waited for
            ), worst
    return None, worst


# The rules: Δ-causal order, with entries that expire ...


def _limit_ns(facts: Facts) -> int | None:
    options = facts.history.options
    return options.limit_ns if isinstance(options, DeltaOptions) else None


def _released_or_expired(node: _Node, messages: Ints, delivered_ns: Ints) -> Ints:
    limit_ns = _limit_ns(node.facts)
    assert limit_ns is not None
    stamps = np.array([time_stamp(node.facts, message) for message in messages.tolist()], np.int64)
    either: Ints = np.minimum(delivered_ns, node.clock.true(stamps + limit_ns + 1))
    return either


def _by_clock(node: _Node, frame: Transmission, message: int) -> int:
    """R0, and R2's rule of full sets; or w of the scheme "hold"."""
    options = node.facts.history.options
    assert isinstance(options, DeltaOptions)
    local_ns = time_stamp(node.facts, message)
    if options.scheme == "hold":
        local_ns += options.held_ns
    elif options.scheme == "bounded" and len(frame.stamps) >= options.max_cb:
        local_ns = max(local_ns, min(frame.stamps) + options.limit_ns + 1)
    return int(node.clock.true(np.array([local_ns]))[0])


# ... and causal order without a deadline.


def _released(node: _Node, messages: Ints, delivered_ns: Ints) -> Ints:
    return delivered_ns


def _at_once(node: _Node, frame: Transmission, message: int) -> int:
    return 0
