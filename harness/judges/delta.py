"""DC-1..DC-4: Δ-causal order with a deadline (paper 002 §2, §3), with bounds on the clocks.

A message's deadline is its time stamp plus Δ' = Δ + ε, on the receiver's clock. The judge knows true time as well:
what nodes noted says by how far their clocks really differed, and where that was more than ε, nothing is promised
about messages near the deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from captures.evidence import Event, Evidence
from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, Undecided, all_of, judge_of
from harness.judges.causality import NotCausal, causal_past, latest_before
from harness.judges.cmd import causal_among_delivered
from harness.judges.facts import Facts
from nodes.delta.notes import Delivered, Sent
from nodes.delta.options import DeltaOptions
from nodes.wire.note import NoteKind, said

# How late a timer may wake a node: the shell sleeps with a resolution of microseconds and does one thing at a time.
TICK_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Limits:
    options: DeltaOptions
    tick_ns: int
    skew_ns: int  # by how much clocks differed, at most, in what was noted

    @property
    def clocks_kept(self) -> bool:
        return self.skew_ns <= self.options.epsilon_ns


def skew_ns(evidence: Evidence) -> int:
    """The greatest difference between any two local clocks' errors, as far as notes show it."""
    notes = evidence.notes
    offsets = (notes.local_ns - notes.time_ns)[notes.node > 0]
    return int(offsets.max() - offsets.min()) if len(offsets) else 0


def _limits(facts: Facts, tick_ns: int) -> _Limits | None:
    options = facts.evidence.options
    if not isinstance(options, DeltaOptions):
        return None
    # A note is written some microseconds before it is captured, on every clock alike: that is no skew.
    return _Limits(options, tick_ns, max(0, skew_ns(facts.evidence) - tick_ns))


_NO_DELTA = Undecided("the scenario does not say what Δ is")
_NO_TIMES = Undecided("deliveries do not say when the message arrived")


@judge_of("DC-1", "safety: of two causally related messages delivered at one node, the earlier comes first")
def causal_where_delivered(facts: Facts) -> Finding:
    return causal_among_delivered(facts)


@judge_of("DC-2", "deadline: a message is delivered if and only if it arrives in time, and then before its deadline")
def deadline(facts: Facts, tick_ns: int = TICK_NS) -> Finding:
    limits = _limits(facts, tick_ns)
    if limits is None:
        return _NO_DELTA
    told = _told(facts, range(len(facts.d_message)))
    if told is None:
        return _NO_TIMES
    return all_of(
        facts,
        lambda facts: _delivered_in_time(facts, limits, told),
        lambda facts: _dropped_only_late(facts, limits),
        lambda facts: _nothing_vanished(facts),
    )


def _told(facts: Facts, rows: Iterable[int]) -> list[Delivered] | None:
    """What nodes noted of their deliveries; None if one does not say it."""
    told = [said(Delivered, facts.delivery(row).values) for row in rows]
    return [one for one in told if one is not None] if None not in told else None


def _delivered_in_time(facts: Facts, limits: _Limits, told: Sequence[Delivered]) -> Finding:
    for row, one in enumerate(told):
        event = facts.delivery(row)
        name = facts.name(int(facts.d_message[row]))
        over = event.local_ns - one.waited_ns - one.ts - limits.options.limit_ns
        if over > 0:
            return _late(facts, row, f"n{event.node} delivered {name}, which arrived {over} ns after its deadline")
        over = event.local_ns - one.ts - limits.options.limit_ns - limits.tick_ns
        if over > 0:
            return _late(facts, row, f"n{event.node} held {name} until {over} ns after its deadline")
        sending = facts.sending(int(facts.d_message[row]))
        if sending and limits.clocks_kept:
            real = event.time_ns - one.waited_ns - sending[0].time_ns
            most = limits.options.delta_ns + 2 * limits.options.epsilon_ns + limits.tick_ns
            if real > most:
                return _late(facts, row, f"n{event.node} delivered {name}, {real} ns under way, more than Δ + 2ε")
    return Holds("every delivery was in time")


def _late(facts: Facts, row: int, sentence: str) -> Broken:
    return Broken(sentence, (facts.delivery(row),), facts.sending(int(facts.d_message[row])))


def _refusals(facts: Facts) -> list[tuple[Event, Event | None]]:
    """Messages (not submissions) refused on arrival, and their sendings."""
    sent = {facts.keys[message]: facts.notes[at] for message, at in enumerate(facts.sent_at.tolist()) if at >= 0}
    return [
        (event, sent.get((event.about, event.seq))) for event in facts.of(NoteKind.REFUSED) if event.about and event.seq
    ]


def _dropped_only_late(facts: Facts, limits: _Limits) -> Finding:
    if not limits.clocks_kept:
        return Holds(f"clocks differed by {limits.skew_ns} ns, more than ε: nothing is promised about what was dropped")
    for event, sending in _refusals(facts):
        if sending is None:
            continue
        real = event.time_ns - sending.time_ns
        if real <= limits.options.delta_ns:
            return Broken(
                f"n{event.node} dropped a message of n{event.about} ({event.text}) after {real} ns under way, "
                f"within Δ = {limits.options.delta_ns} ns",
                (event,),
                (sending,),
            )
    return Holds("nothing that came within Δ was dropped")


def _nothing_vanished(facts: Facts) -> Finding:
    """Every frame that entered a node led to a delivery or a refusal, once the run is quiet."""
    if facts.end != "quiet":
        return Holds("the run did not end quietly: a message may still wait")
    known = {(event.node, event.about, event.seq) for event in (*facts.of(NoteKind.REFUSED), *facts.of(NoteKind.ALARM))}
    for row in range(len(facts.d_message)):
        event = facts.delivery(row)
        known.add((event.node, event.about, event.seq))
    down = {node for node in facts.evidence.nodes if any(not life.up for life in facts.lives if life.node == node)}
    frames = facts.evidence.frames
    came = np.intersect1d(frames.came, frames.of_type("delta.DATA"))
    told = (frames.node[came], frames.about[came], frames.seq[came])
    for at, node, about, seq in zip(came.tolist(), *(column.tolist() for column in told), strict=True):
        if seq and node not in down and (node, about, seq) not in known:
            frame = frames[at]
            return Broken(
                f"a message of n{frame.about} entered n{node} ({frame.capture} #{frame.frame}) and was neither "
                "delivered nor refused",
                by_absence=True,
            )
    return Holds("every message that arrived was delivered or refused")


@judge_of("DC-3", "tag size: at most MAX_CB entries for each of N processes")
def tag_bound(facts: Facts) -> Finding:
    options = facts.evidence.options
    if not isinstance(options, DeltaOptions):
        return Undecided("the scenario does not say what MAX_CB is")
    if options.scheme != "bounded":
        return Holds(f"the scheme {options.scheme!r} has no such bound")
    most = options.max_cb
    bound = most * len(facts.evidence.nodes)
    seen = False
    for event in (facts.notes[at] for at in facts.s_event.tolist()):
        sent = said(Sent, event.values)
        seen = seen or sent is not None
        if sent and sent.entries > bound:
            return Broken(f"n{event.node} sent a tag of {sent.entries} entries, more than {bound}", (event,))
    for row in range(len(facts.d_message)):
        event = facts.delivery(row)
        delivered = said(Delivered, event.values)
        if delivered and delivered.mine > most:
            return Broken(f"n{event.node} got {delivered.mine} entries for itself, more than {most}", (event,))
    if not seen and len(facts.s_event):
        return Undecided("no sending says how many entries its tag had")
    return Holds(f"no tag had more than {bound} entries")


@judge_of(
    "DC-4", "no unnecessary wait: with less than MAX_CB entries, delivery when all before it are there or expired"
)
def no_unnecessary_wait(facts: Facts, tick_ns: int = TICK_NS) -> Finding:
    limits = _limits(facts, tick_ns)
    if limits is None:
        return _NO_DELTA
    if limits.options.scheme == "hold":
        return Holds("the scheme 'hold' waits always")
    try:
        past = causal_past(facts)
    except NotCausal as error:
        return Undecided(str(error))
    stepped = {event.node for event in facts.of(NoteKind.CLOCK)}
    stamps = np.array([time_stamp(facts, message) for message in range(len(facts.keys))], np.int64)
    full = limits.options.max_cb
    for life in facts.lives:
        if life.node in stepped or not len(facts.log(life.index)):
            continue
        told = _told(facts, facts.logs[life.index].tolist())
        if told is None:
            return _NO_TIMES
        events = [facts.delivery(row) for row in facts.logs[life.index].tolist()]
        messages = np.unique(facts.t_message[facts.t_node == life.node])
        released = _released(facts, life.index, messages, stamps[messages] + limits.options.limit_ns + 1)
        greatest, _ = latest_before(past, facts, life.index, messages, released)
        log = facts.log(life.index).tolist()
        for event, one, last, message in zip(events, told, greatest.tolist(), log, strict=True):
            free = max(event.local_ns - one.waited_ns, last, one.ts)
            if one.mine < full and event.about != event.node and event.local_ns > free + limits.tick_ns:
                return Broken(
                    f"n{event.node} held {facts.name(message)} for {event.local_ns - free} ns after everything "
                    "before it was delivered or expired",
                    (event,),
                    facts.sending(message),
                    by_absence=True,  # of a sending that was not seen it might have waited for
                )
    return Holds("no message waited longer than it had to")


def time_stamp(facts: Facts, message: int) -> int:
    """TS of a message; 0 if its sending was not seen."""
    told = next((said(Sent, event.values) for event in facts.sending(message)), None)
    return told.ts if told else 0


def _released(facts: Facts, life: int, messages: Ints, expired: Ints) -> Ints:
    """When (local time) each message stopped being waited for: delivered, or expired."""
    at = np.full(len(facts.keys), np.iinfo(np.int64).max, np.int64)
    rows = facts.logs[life]
    at[facts.d_message[rows]] = [facts.delivery(row).local_ns for row in rows.tolist()]
    released: Ints = np.minimum(at[messages], expired)
    return released
