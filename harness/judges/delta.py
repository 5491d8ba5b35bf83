"""DC-1..DC-4: Δ-causal order with a deadline (paper 002 §2, §3), with bounds on the clocks.

A message's deadline is its time stamp plus Δ' = Δ + ε, on the receiver's clock. The judge knows true time as well:
what nodes noted says by how far their clocks really differed, and where that was more than ε, nothing is promised
about messages near the deadline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from captures.evidence import Event, Evidence
from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, Undecided, all_of, judge_of
from harness.judges.causality import NotCausal, before
from harness.judges.cmd import causal_among_delivered
from harness.judges.facts import Facts, Life
from nodes.delta.notes import Delivered, Sent
from nodes.delta.options import DeltaOptions
from nodes.wire.delta import DeltaData
from nodes.wire.note import NoteKind

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
    saying, told = facts.told(Delivered)
    if len(saying) < len(facts.d_event):
        return _NO_TIMES
    return all_of(
        facts,
        lambda facts: _delivered_in_time(facts, limits, told),
        lambda facts: _dropped_only_late(facts, limits),
        lambda facts: _nothing_vanished(facts, limits),
    )


def _delivered_in_time(facts: Facts, limits: _Limits, told: Delivered) -> Finding:
    notes, options = facts.notes, limits.options
    since = notes.local_ns[facts.d_event] - told.ts - options.limit_ns
    late = since - told.waited_ns
    sent_at = facts.sent_at[facts.d_message]
    real = notes.time_ns[facts.d_event] - told.waited_ns - notes.time_ns[sent_at]  # where the sending was seen
    slow = (sent_at >= 0) & (real > options.delta_ns + 2 * options.epsilon_ns + limits.tick_ns) & limits.clocks_kept
    told_time = ~np.isin(facts.d_node, _stepped(facts))  # by one clock all the while that the message waited
    wrong = np.flatnonzero(told_time & ((late > 0) | (since > limits.tick_ns)) | slow)
    if not len(wrong):
        return Holds("every delivery was in time")
    row = int(wrong[0])
    node, name = facts.d_node[row], facts.name(int(facts.d_message[row]))
    if told_time[row] and late[row] > 0:
        return _late(facts, row, f"n{node} delivered {name}, which arrived {late[row]} ns after its deadline")
    if told_time[row] and since[row] > limits.tick_ns:
        return _late(facts, row, f"n{node} held {name} until {since[row] - limits.tick_ns} ns after its deadline")
    return _late(facts, row, f"n{node} delivered {name}, {real[row]} ns under way, more than Δ + 2ε")


def _stepped(facts: Facts) -> list[int]:
    """Nodes whose clock was changed while they ran."""
    return sorted({event.node for event in facts.of(NoteKind.CLOCK)})


def _late(facts: Facts, row: int, sentence: str) -> Broken:
    return Broken(sentence, (facts.delivery(row),), facts.sending(int(facts.d_message[row])))


def _refusals(facts: Facts) -> list[tuple[Event, Event | None]]:
    """Messages (not submissions) refused on arrival, and their sendings."""
    sent = dict(zip(facts.keys, facts.sendings, strict=True))
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


def _nothing_vanished(facts: Facts, limits: _Limits) -> Finding:
    """Every frame that entered a node led to a delivery or a refusal, once the run is quiet."""
    if not limits.clocks_kept:
        return Holds("clocks differed by more than ε: what has a time stamp far ahead may still wait for its time")
    if facts.end != "quiet":
        return Holds("the run did not end quietly: a message may still wait")
    known = {(event.node, event.about, event.seq) for event in (*facts.of(NoteKind.REFUSED), *facts.of(NoteKind.ALARM))}
    known.update((node, *facts.keys[message]) for node, message in zip(*_delivered(facts), strict=True))
    down = {node for node in facts.evidence.nodes if any(not life.up for life in facts.lives if life.node == node)}
    frames = facts.evidence.frames
    came = frames.of_type(DeltaData, among=frames.came)
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


def _delivered(facts: Facts) -> tuple[list[int], list[int]]:
    return facts.d_node.tolist(), facts.d_message.tolist()


@judge_of("DC-3", "tag size: at most MAX_CB entries for each of N processes")
def tag_bound(facts: Facts) -> Finding:
    options = facts.evidence.options
    if not isinstance(options, DeltaOptions):
        return Undecided("the scenario does not say what MAX_CB is")
    if options.scheme != "bounded":
        return Holds(f"the scheme {options.scheme!r} has no such bound")
    most = options.max_cb
    bound = most * len(facts.evidence.nodes)
    saying, sent = facts.evidence.columns(Sent, facts.s_event)
    for at in np.flatnonzero(sent.entries > bound)[:1].tolist():
        event = facts.notes[int(facts.s_event[saying[at]])]
        return Broken(f"n{event.node} sent a tag of {sent.entries[at]} entries, more than {bound}", (event,))
    receiving, delivered = facts.told(Delivered)
    for at in np.flatnonzero(delivered.mine > most)[:1].tolist():
        event = facts.delivery(int(receiving[at]))
        return Broken(f"n{event.node} got {delivered.mine[at]} entries for itself, more than {most}", (event,))
    if not len(saying) and len(facts.s_event):
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
        those_before = before(facts)
    except NotCausal as error:
        return Undecided(str(error))
    stepped = _stepped(facts)
    stamps = np.zeros(len(facts.keys), np.int64)  # TS of each message; 0 if its sending was not seen
    seen = np.flatnonzero(facts.sent_at >= 0)
    saying, sent = facts.evidence.columns(Sent, facts.sent_at[seen])
    stamps[seen[saying]] = sent.ts
    full = limits.options.max_cb
    telling, told = facts.told(Delivered)
    if len(telling) < len(facts.d_event):
        return _NO_TIMES
    for life, earlier in zip(facts.lives, those_before, strict=True):
        log, rows = facts.log(life.index), facts.logs[life.index]
        if life.node in stepped or not len(log):
            continue
        expired = stamps[earlier.messages] + limits.options.limit_ns + 1
        greatest, _ = earlier.latest(_released(facts, life, earlier.messages, expired))
        events = facts.d_event[rows]
        local_ns = facts.notes.local_ns[events]
        free = np.maximum(np.maximum(local_ns - told.waited_ns[rows], greatest), told.ts[rows])
        held = (told.mine[rows] < full) & (facts.source[log] != life.node) & (local_ns > free + limits.tick_ns)
        for at in np.flatnonzero(held)[:1].tolist():
            message = int(log[at])
            return Broken(
                f"n{life.node} held {facts.name(message)} for {local_ns[at] - free[at]} ns after everything "
                "before it was delivered or expired",
                (facts.notes[int(events[at])],),
                facts.sending(message),
                by_absence=True,  # of a sending that was not seen it might have waited for
            )
    return Holds("no message waited longer than it had to")


def _released(facts: Facts, life: Life, messages: Ints, expired: Ints) -> Ints:
    """When (local time) each message stopped being waited for: delivered, or expired; a node's own never is."""
    at = np.where(facts.source == life.node, 0, np.iinfo(np.int64).max)
    rows = facts.logs[life.index]
    at[facts.d_message[rows]] = facts.notes.local_ns[facts.d_event[rows]]
    released: Ints = np.minimum(at[messages], expired)
    return released
