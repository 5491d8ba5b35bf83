"""CD-1..CD-5: causal delivery (paper 004 §2, §3), as far as it is visible from outside.

CD-4 is an invariant of two state variables and is tested in memory, with the machine; no judge can see it.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from captures.evidence import OUT, Event
from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, Undecided, all_of, judge_of, when_quiet
from harness.judges.causality import NOT_COUNTED, NotCausal, Past, before, causal_past
from harness.judges.common import undelivered
from harness.judges.facts import Facts, name_of
from nodes.cmd.notes import RESTARTED, SILENT, Sent, vector
from nodes.cmd.options import CmdOptions
from nodes.wire.cmd import CmdData, CmdMatrix
from nodes.wire.note import NoteKind

_NEVER = np.iinfo(np.int64).max


@judge_of("CD-1", "causal order: what was sent causally before is delivered before, at every common destination")
def causal_order(facts: Facts) -> Finding:
    return _causal(facts, missing_counts=True)


def causal_among_delivered(facts: Facts) -> Finding:
    """Causal order of what was delivered; what never came may be skipped (Δ-causal order, paper 002)."""
    return _causal(facts, missing_counts=False)


def _causal(facts: Facts, missing_counts: bool) -> Finding:
    try:
        past, those_before = causal_past(facts), before(facts)
    except NotCausal as error:
        return Undecided(str(error))
    gone = np.array([not life.up for life in facts.lives])
    late: Broken | None = None
    for life, earlier in zip(facts.lives, those_before, strict=True):
        log = facts.log(life.index)
        if not len(log):
            continue
        messages = earlier.messages
        positions = _positions(facts, log, messages)
        # What a stopped process sent, or was sent to a node before it lost its memory, may be lost for ever.
        owed = (positions != _NEVER) | (missing_counts and life.first and ~gone[past.process[messages]])
        greatest, which = earlier.latest(np.where(owed, positions, NOT_COUNTED))
        early = np.flatnonzero(greatest > np.arange(len(log)))
        present = early[greatest[early] != _NEVER]
        if len(present):
            return _broken(facts, life.index, present, which, greatest)
        if len(early) and late is None:
            late = _broken(facts, life.index, early, which, greatest)
    return late or Holds(f"all {len(facts.d_message)} deliveries respect the causal order of their sendings")


def _positions(facts: Facts, log: Ints, messages: Ints) -> Ints:
    """Where each message stands in a log; _NEVER where it does not."""
    at = np.full(len(facts.keys), _NEVER, np.int64)
    at[log[::-1]] = np.arange(len(log))[::-1]
    positions: Ints = at[messages]
    return positions


def _broken(facts: Facts, life: int, early: Ints, which: Ints, greatest: Ints) -> Broken:
    """The violation that lies closest together; then the first."""
    spans = np.where(greatest[early] == _NEVER, len(which), greatest[early] - early)
    at = int(early[np.argmin(spans)])
    rows = facts.logs[life]
    later, earlier = int(facts.log(life)[at]), int(which[at])
    missing = greatest[at] == _NEVER
    events: tuple[Event, ...] = (facts.delivery(int(rows[at])),)
    if not missing:
        events += (facts.delivery(int(rows[greatest[at]])),)
    return Broken(
        f"{facts.lives[life]} delivered {facts.name(later)} {'without' if missing else 'before'} "
        f"{facts.name(earlier)}, whose sending is in its causal past",
        events,
        facts.sending(earlier) + facts.sending(later),
        by_absence=bool(missing),
    )


@judge_of(
    "CD-2",
    "liveness: once all is quiet, every copy is delivered, or its sender was told that the destination is silent, or "
    "was restarted",
)
def all_delivered(facts: Facts) -> Finding:
    return when_quiet(facts, lambda facts: all_of(facts, _all_copies, _losses_are_told))


def _all_copies(facts: Facts) -> Finding:
    stopped = [life.node for life in facts.lives if not life.up]
    sender = np.full(len(facts.keys), -1, np.int64)
    sender[facts.s_message] = facts.s_life
    gone = np.array([not life.up for life in facts.lives])
    owed = ~gone[sender[facts.t_message]] & ~np.isin(facts.t_node, stopped) & ~_given_up(facts)
    return undelivered(facts, facts.target_pairs[owed], facts.t_message[owed], facts.t_node[owed], "sent to it")


def _losses_are_told(facts: Facts) -> Finding:
    """A destination that stopped owes nothing, but whoever sends it what does not even come to it is told."""
    stopped = [life.node for life in facts.lives if not life.up]
    running = {life.index for life in facts.lives if life.up}
    told = defaultdict(list)  # sender and destination -> when the sender said that it is silent, or was restarted
    for event in facts.of(NoteKind.ALARM):
        for peer in event.peers if event.text in (SILENT, RESTARTED) else ():
            told[event.node, peer].append(event.time_ns)
    frames = facts.evidence.frames
    copies = frames.of_type(CmdData, CmdMatrix, among=frames.came)
    columns = (frames.about[copies], frames.seq[copies], frames.node[copies], frames.time_ns[copies])
    times = _lifetimes(facts)
    came = {
        (about, seq, node)
        for about, seq, node, time_ns in zip(*(column.tolist() for column in columns), strict=True)
        if any(began_ns <= time_ns <= ended_ns for began_ns, ended_ns in times[node])
    }
    lost = np.flatnonzero(np.isin(facts.t_node, stopped) & ~np.isin(facts.target_pairs, facts.delivery_pairs))
    sender = dict(zip(facts.s_message.tolist(), facts.s_life.tolist(), strict=True))
    for message, node in zip(facts.t_message[lost].tolist(), facts.t_node[lost].tolist(), strict=True):
        source, sent_ns = int(facts.source[message]), facts.notes.time_ns[facts.sent_at[message]]
        if sender[message] not in running or (*facts.keys[message], node) in came:
            continue
        if not any(time_ns >= sent_ns for time_ns in told[source, node]):
            return Broken(
                f"n{source} was not told that {facts.name(message)} did not come to n{node}, which had stopped",
                facts.sending(message),
                by_absence=True,
            )
    return Holds(f"all copies were delivered, or their senders were told ({len(lost)} to those who stopped)")


def _lifetimes(facts: Facts) -> dict[int, list[tuple[int, int]]]:
    """When each node ran: from, to."""
    found = defaultdict[int, list[tuple[int, int]]](list)
    for life in facts.lives:
        began = None if life.first else facts.beginning(life)
        found[life.node].append((began.time_ns if began else 0, life.stopped.time_ns if life.stopped else _NEVER))
    return found


def _given_up(facts: Facts) -> npt.NDArray[np.bool_]:
    """Which copies nobody repeats any more, and those that must wait for one of them, for ever.

    Their sender is down for good (one that comes back says what it has lost, and then nobody waits), or it was told,
    after it had sent them, that the destination is silent. For what came of an earlier life of a process and waits in
    the Queue, waits what follows a message of a later one (D-CM-9).
    """
    missing = ~np.isin(facts.target_pairs, facts.delivery_pairs)
    dead = np.isin(facts.source[facts.t_message], [node for node in facts.evidence.nodes if facts.down(node)])
    silent = facts.of(NoteKind.ALARM)
    last_ns = {(event.node, peer): event.time_ns for event in silent if event.text == SILENT for peer in event.peers}
    pairs = zip(facts.source[facts.t_message].tolist(), facts.t_node.tolist(), strict=True)
    told = (
        np.array([last_ns.get(pair, -1) for pair in pairs], np.int64)
        >= facts.notes.time_ns[facts.sent_at[facts.t_message]]
    )
    waits: npt.NDArray[np.bool_] = missing & (dead | told)
    lost = np.flatnonzero(waits)
    if not len(lost):
        return waits
    try:
        past = causal_past(facts)
    except NotCausal:
        return waits
    lives = np.bincount(facts.life_node, minlength=int(facts.source.max()) + 1)
    behind = list(zip(facts.t_message[lost].tolist(), facts.t_node[lost].tolist(), strict=True))
    while behind:
        message, node = behind.pop()
        here = facts.t_node == node
        following = past.following(message)
        if lives[facts.source[message]] > 1:
            for later in facts.t_message[here & (facts.source[facts.t_message] == facts.source[message])].tolist():
                if past.process[later] > past.process[message]:
                    following |= past.following(later) & (np.arange(len(following)) != later)
        more = here & following[facts.t_message] & ~waits
        waits |= more
        behind += [(one, node) for one in facts.t_message[more].tolist() if lives[facts.source[one]] > 1]
    return waits


@judge_of("CD-3", "tag size: at most one s-record per (sender, destination), N(N-1) in all; copies add |D|-1")
def tag_bound(facts: Facts) -> Finding:
    options = facts.evidence.options
    if isinstance(options, CmdOptions) and options.scheme != "s_records":
        return Holds(f"the scheme {options.scheme!r} has no such bound")
    bound = len(facts.evidence.nodes) * (len(facts.evidence.nodes) - 1)
    saying, sent = facts.evidence.columns(Sent, facts.s_event)
    for at in np.flatnonzero(sent.records > bound)[:1].tolist():
        event = facts.notes[int(facts.s_event[saying[at]])]
        return Broken(f"n{event.node} sent {sent.records[at]} s-records, more than {bound}", (event,))
    frames = facts.evidence.frames
    copies = frames.of_type(CmdData)
    targets = {key: len(one.peers) for key, one in zip(facts.keys, facts.sendings, strict=True) if one}
    columns = (frames.about[copies], frames.seq[copies], frames.entries[copies])
    for at, about, seq, entries in zip(copies.tolist(), *(column.tolist() for column in columns), strict=True):
        if entries > bound + max(0, targets.get((about, seq), 1) - 1):
            frame = frames[at]
            where = f"{frame.capture} #{frame.frame}"
            return Broken(f"a copy of {name_of(frame.about, frame.seq)} has {frame.entries} s-records ({where})")
    if not len(saying) and not len(copies) and len(facts.s_event):
        return Undecided("no sending says how many s-records its tag had")
    return Holds(f"no tag had more than {bound} s-records")


@judge_of("CD-5", "vector time: V counts the events of each process in the causal past, as Lemma 2 says")
def vector_time_counts(facts: Facts) -> Finding:
    if any(not life.first for life in facts.lives):
        return Undecided("a process was restarted: its vector time does not begin at 0")
    said: dict[tuple[int, int], tuple[int, ...]] = {}
    for key, sending in zip(facts.keys, facts.sendings, strict=True):
        if sending:
            said[key] = vector(sending.values) if facts.evidence.said(Sent, sending) else ()
    frames = facts.evidence.frames
    copies = frames.of_type(CmdData)
    copies = copies[frames.direction[copies] == OUT]
    names = zip(frames.about[copies].tolist(), frames.seq[copies].tolist(), strict=True)
    said |= dict(zip(names, frames.said(copies, "v"), strict=True))
    if not any(said.values()):
        return Undecided("no message says its vector time") if said else Holds("nothing was sent")
    try:
        past = causal_past(facts)
    except NotCausal as error:
        return Undecided(str(error))
    true = vector_times(facts, past)
    for message, key in enumerate(facts.keys):
        counted = tuple(true[message].tolist())
        if said.get(key) and counted != tuple(said[key]):
            return Broken(
                f"{name_of(*key)} carries the vector time {said[key]}; its causal past counts {counted}",
                facts.sending(message),
                by_absence=True,
            )
    return Holds(f"the vector times of {len(said)} messages are right")


def vector_times(facts: Facts, past: Past) -> Ints:
    """Message -> for each process the number of its events (sendings, deliveries) in the causal past of the sending.

    Lemma 2 of paper 004 says that this is V. Deliveries count from a process's first to its last sending in that past.
    """
    # How many events each process had noted when it sent its k-th message.
    clock = np.zeros(len(facts.keys), np.int64)
    life = np.concatenate((facts.s_life, facts.d_life))
    message = np.concatenate((facts.s_message, facts.d_message))
    event = np.concatenate((facts.s_event, facts.d_event))
    remote = np.concatenate((np.ones(len(facts.s_life), bool), facts.d_node != facts.source[facts.d_message]))
    sending = np.concatenate((np.ones(len(facts.s_life), bool), np.zeros(len(facts.d_life), bool)))
    vectors = np.zeros(past.vectors.shape, np.int64)
    for process in range(past.vectors.shape[1]):
        rows = np.flatnonzero((life == process) & remote)
        rows = rows[np.argsort(event[rows], kind="stable")]
        counted = np.arange(1, len(rows) + 1)
        mine = sending[rows]
        clock[message[rows[mine]]] = counted[mine]
        at_sending = np.concatenate(([0], counted[mine]))
        vectors[:, process] = at_sending[past.vectors[:, process]]
    return vectors
