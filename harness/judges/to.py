"""TD-1..TD-6: total order in a cluster whose entities stop and come back (paper 001 §2, §3).

All logs are laid along one *line*: the longest log of a node that was there from the start, lengthened by those who
came later and saw more. A log that was there from the start must begin where the line begins; one that joined begins
anywhere, but from there on has no gap. So every comparison is one pass, not one per pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from captures.evidence import Event
from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, Undecided, all_of, judge_of, when_quiet
from harness.judges.facts import Facts, Life
from harness.judges.order import disagreement
from harness.judges.progress import never_sent
from nodes.st.notes import NO_QUORUM
from nodes.to.options import ToOptions
from nodes.wire.note import NoteKind


@dataclass(frozen=True, slots=True)
class _Laid:
    """One log on the line."""

    life: Life
    log: Ints
    start: int  # place of its first message on the line
    differs: int | None  # index in the log of the first message that is not the line's

    @property
    def end(self) -> int:
        return self.start + len(self.log)


@dataclass(frozen=True, slots=True)
class _Line:
    line: Ints
    laid: list[_Laid]

    def of(self, *, up: bool | None = None, first: bool | None = None) -> list[_Laid]:
        return [
            one for one in self.laid if (up is None or one.life.up is up) and (first is None or one.life.first is first)
        ]


def _lay(facts: Facts) -> _Line:
    lives = [life for life in facts.lives if life.member]
    logs = {life.index: facts.log(life.index) for life in lives}
    founders = [life for life in lives if life.first]
    if not founders:
        return _Line(np.zeros(0, np.int64), [])
    kept = _gone_on_with(facts, lives, logs)
    trusted = [life for life in founders if life.up] or [life for life in founders if life.index in kept] or founders
    line = max([logs[life.index][: kept.get(life.index)] for life in trusted], key=len)
    laid: list[_Laid] = []
    for life in sorted(lives, key=lambda life: (0 if life.first else life.views[0].time_ns, life.index)):
        log = logs[life.index]
        start = 0 if life.first else _join_point(line, log)
        if start is None:
            start = max((place for one in laid for place in _admissions(facts, one, life)), default=len(line))
        part = line[start : start + len(log)]
        rest = log[len(part) :]
        differing = np.flatnonzero(np.concatenate((part != log[: len(part)], np.isin(rest, line))))
        laid.append(_Laid(life, log, start, int(differing[0]) if len(differing) else None))
        if not len(differing):
            line = np.concatenate((line, log[: kept.get(life.index, 0)][len(part) :]))
    return _Line(line, laid)


def _gone_on_with(facts: Facts, lives: list[Life], logs: dict[int, Ints]) -> dict[int, int]:
    """Life -> how much of its log the group has gone on with: all, if it is up. If all who let somebody in have stopped
    since, what they had delivered then: nobody who was there at the start need be left."""
    kept = {life.index: len(logs[life.index]) for life in lives if life.up}
    for joiner in sorted([life for life in lives if not life.first], key=lambda life: -life.views[0].time_ns):
        had = {one.index: _admissions(facts, _Laid(one, logs[one.index], 0, None), joiner) for one in lives}
        hosts = [one for one in lives if had[one.index]]
        if joiner.index in kept and not any(one.up for one in hosts):
            kept.update((one.index, max(kept.get(one.index, 0), *had[one.index])) for one in hosts)
    return kept


def _join_point(line: Ints, log: Ints) -> int | None:
    """Where on the line a log begins that did not begin with it, if they share a message."""
    shared = np.flatnonzero(np.isin(log, line))
    if not len(shared):
        return None
    at = int(np.flatnonzero(line == log[shared[0]])[0])
    return max(0, at - int(shared[0]))


def _row(facts: Facts, one: _Laid, at: int) -> Event:
    return facts.delivery(int(facts.logs[one.life.index][at]))


def _differs(facts: Facts, lines: _Line, one: _Laid) -> Broken:
    """Why a log is no piece of the line: it has another message at some place."""
    assert one.differs is not None
    have, place = int(one.log[one.differs]), one.start + one.differs
    events = [_row(facts, one, one.differs)]
    if place >= len(lines.line):
        return Broken(f"{one.life} delivered {facts.name(have)} out of its place", tuple(events), facts.sending(have))
    want = int(lines.line[place])
    holder = next(
        (other for other in lines.laid if other is not one and other.differs is None and want in other.log), None
    )
    if holder is not None:
        events.append(_row(facts, holder, int(np.flatnonzero(holder.log == want)[0])))
    context = facts.sending(want) + facts.sending(have)
    if one.differs:
        context = (_row(facts, one, one.differs - 1), *context)
    return Broken(
        f"{one.life} delivered {facts.name(have)} where {holder.life if holder else 'the group'} "
        f"delivered {facts.name(want)}",
        tuple(events),
        context,
        by_absence=True,  # what was delivered in between may not have been seen; true disorder is found before
    )


def _agree(facts: Facts, lines: _Line, some: list[_Laid], what: str) -> Finding:
    # Two messages in different order convict even where evidence is missing, so they are looked for first.
    among = [one.life for one in some] + [one.life for one in lines.of(up=True)]
    broken = disagreement(facts, among) if any(one.differs is not None for one in some) else None
    if broken is not None:
        return broken
    for one in some:
        if one.differs is not None:
            return _differs(facts, lines, one)
    return Holds(f"{len(some)} {what} agree on {len(lines.line)} messages")


@judge_of("TD-1", "live entities' logs are prefixes of each other at all times, and equal when all is quiet")
def live_logs_agree(facts: Facts) -> Finding:
    lines = _lay(facts)
    return all_of(
        facts,
        lambda facts: _agree(facts, lines, lines.of(up=True), "live logs"),
        lambda facts: when_quiet(facts, partial(_equal_at_the_end, lines=lines)),
    )


def _equal_at_the_end(facts: Facts, lines: _Line) -> Finding:
    for one in lines.of(up=True):
        if one.end < len(lines.line):
            missing = int(lines.line[max(one.end, 0)])
            return Broken(
                f"{one.life} never delivered {facts.name(missing)}, which others did",
                facts.sending(missing),
                by_absence=True,
            )
    return Holds(f"all live logs are equal: {len(lines.line)} messages")


@judge_of("TD-2", "uniformity: what a stopped entity delivered, all live ones deliver, in the same order")
def uniform(facts: Facts) -> Finding:
    lines = _lay(facts)
    stopped = lines.of(up=False)
    return all_of(
        facts,
        lambda facts: _agree(facts, lines, stopped, "logs of stopped entities"),
        lambda facts: when_quiet(facts, partial(_nothing_extra, lines=lines)) if stopped else Holds("nobody stopped"),
    )


def _nothing_extra(facts: Facts, lines: _Line) -> Finding:
    stopped = _stopped_and_kept(facts)
    if stopped is None:
        return _NOT_KEPT
    for one in lines.laid:
        if one.life in stopped and one.end > len(lines.line):
            event = _row(facts, one, len(lines.line) - one.start)
            name = facts.name(int(one.log[len(lines.line) - one.start]))
            return Broken(
                f"{one.life} delivered {name} before it stopped, and nobody else did", (event,), by_absence=True
            )
    return Holds("stopped entities delivered nothing that the live ones did not")


@judge_of(
    "TD-3", "of a stopped entity's messages all live ones keep the same prefix, and nothing pre-acknowledged is lost"
)
def same_kept(facts: Facts) -> Finding:
    stopped = _stopped_and_kept(facts)
    if stopped is None:
        return _NOT_KEPT
    return when_quiet(facts, lambda facts: all_of(facts, partial(_same_prefix, stopped=stopped), _preacked_delivered))


def _same_prefix(facts: Facts, stopped: list[Life]) -> Finding:
    live = [life for life in facts.lives if life.up and life.member]
    for dead in stopped:
        sent = facts.s_message[facts.s_life == dead.index]
        sent_ns = facts.notes.time_ns[facts.sent_at[sent]]
        kept = [np.isin(sent, facts.log(life.index)) for life in live]
        for life, mine in zip(live, kept, strict=True):
            last = int(np.flatnonzero(mine)[-1]) if mine.any() else -1
            most = max((int(np.flatnonzero(other)[-1]) for other in kept if other.any()), default=-1)
            due = sent_ns > (0 if life.first else life.views[0].time_ns)
            gap = np.flatnonzero((~mine & due)[: most + 1])
            if len(gap):
                message = int(sent[gap[0]])
                reason = "but later ones of it" if gap[0] < last else "which others kept"
                return Broken(
                    f"{life} did not keep {facts.name(message)} of the stopped {dead}, {reason}",
                    facts.sending(message),
                    by_absence=True,
                )
    return Holds(f"of {len(stopped)} stopped entities all live ones kept the same")


def _preacked_delivered(facts: Facts) -> Finding:
    live = {life.index for life in facts.lives if life.up}
    delivered = set(zip(facts.d_life.tolist(), facts.d_message.tolist(), strict=True))
    for life, message, at in zip(*(column.tolist() for column in facts.preacked), strict=True):
        if life in live and (life, message) not in delivered:
            event = facts.notes[at]
            return Broken(
                f"n{event.node} pre-acknowledged {facts.name(message)} and never delivered it",
                (event,),
                by_absence=True,
            )
    return Holds("what was pre-acknowledged was delivered")


_NOT_KEPT = Holds("a majority is down at the end: then nothing is promised")


def _stopped_and_kept(facts: Facts) -> list[Life] | None:
    """Who has stopped and was in the group since a majority is up: logs are in memory, and what a majority has lost at
    once nobody need have any more.

    Down is who has crashed or left and is not let in again. None: a majority is down at the end.
    """
    changes: list[tuple[int, int, int, Event | None]] = []  # when, what first, node, view by which it is up
    for life in facts.lives:
        if life.stopped is not None:
            changes.append((life.stopped.time_ns, 1, life.node, None))
        if not life.first and life.views:
            changes.append((life.views[0].time_ns, 0, life.node, life.views[0]))
    down: set[int] = set()
    lost, lost_ns, founding = False, 0, None
    for time_ns, _, node, view in sorted(changes, key=lambda change: change[:3]):
        down = down | {node} if view is None else down - {node}
        if len(facts.evidence.nodes) - len(down) < _majority(facts):
            lost, lost_ns = True, time_ns
        elif lost:
            lost, founding = False, view
    if lost:
        return None
    group = facts.lives if founding is None else _group_of(facts, founding, lost_ns)
    return [life for life in group if life.stopped is not None]


def _group_of(facts: Facts, founding: Event, lost_ns: int) -> list[Life]:
    """Who has shared a view since then with those who founded the group anew. Not who was paused while the others fell
    apart: he may still install views of the old group, alone."""
    views = {(founding.seq, founding.peers)}
    later = {life.index: {(v.seq, v.peers) for v in life.views if v.time_ns > lost_ns} for life in facts.lives}
    while True:
        group = [life for life in facts.lives if later[life.index] & views]
        more = views.union(*[later[life.index] for life in group])
        if more == views:
            return group
        views = more


@judge_of("TD-4", "view agreement: live entities end with the same view")
def same_view(facts: Facts) -> Finding:
    return when_quiet(facts, _same_last_view)


def _same_last_view(facts: Facts) -> Finding:
    everybody = facts.evidence.nodes  # the view before any is installed
    live = [life for life in facts.lives if life.up and life.member]
    last = {life.index: (life.views[-1].peers if life.views else everybody) for life in live}
    for life in live:
        for other in live:
            if set(last[life.index]) != set(last[other.index]):
                views = tuple(one.views[-1] for one in (life, other) if one.views)
                return Broken(
                    f"{life} ends with the view {_members(last[life.index])}, "
                    f"{other} with {_members(last[other.index])}",
                    views,
                    by_absence=True,  # a later VIEW may not have been seen
                )
    shown = _members(last[live[0].index]) if live else "none"
    return Holds(f"{len(live)} live entities end with the view {shown}")


def _members(peers: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, sorted(peers))) + "}"


@judge_of(
    "TD-5",
    "liveness: since a majority is up and connected, live entities' messages are all sent and delivered, by everybody",
)
def goes_on(facts: Facts) -> Finding:
    since_ns, there = _majority_since(facts)
    if since_ns is None:
        return Holds("no majority is up and connected at the end: then nothing is promised")
    return when_quiet(facts, partial(_nothing_of_the_living_lost, since_ns=since_ns, there=there))


def _majority_since(facts: Facts) -> tuple[int | None, frozenset[int]]:
    """Since when a majority was up and connected (0: always, None: at the end it is not), and who is up at the end."""
    everybody = facts.evidence.nodes
    out: set[tuple[str, int]] = set()  # kinds of faults and whom they keep away
    severed: frozenset[tuple[int, int]] = frozenset()
    since_ns: int | None = 0
    for event in facts.of(NoteKind.FAULT):
        fault = event.fault
        concerned = fault.nodes or everybody
        if "partition" in (fault.kind, *fault.ends):
            severed = fault.severed
        if fault.ends:
            out -= {(kind, node) for kind in fault.ends for node in concerned}
        elif fault.kind in _AWAY:
            out |= {(fault.kind, node) for node in concerned}
        if not _are_connected(_there(everybody, out), severed, _majority(facts)):
            since_ns = None
        elif since_ns is None:
            since_ns = event.time_ns
    return since_ns, _there(everybody, out)


_AWAY = frozenset({"crash", "leave", "pause", "link"})


def _there(everybody: tuple[int, ...], out: set[tuple[str, int]]) -> frozenset[int]:
    return frozenset(everybody) - {node for _, node in out}


def _are_connected(there: frozenset[int], severed: frozenset[tuple[int, int]], many: int) -> bool:
    """Are there so many who hear, and are heard by, so many?"""
    connected = [node for node in there if sum(not {(node, one), (one, node)} & severed for one in there) >= many]
    return len(connected) >= many


def _majority(facts: Facts) -> int:
    """How many make one; more than half, if the scenario asks for a larger quorum."""
    return max(len(facts.evidence.nodes) // 2 + 1, _asked_for(facts))


def _asked_for(facts: Facts) -> int:
    options = facts.evidence.options
    return options.quorum if isinstance(options, ToOptions) else 0


def _nothing_of_the_living_lost(facts: Facts, since_ns: int, there: frozenset[int]) -> Finding:
    living = [life for life in facts.lives if life.up and life.node in there]
    for life in living:
        if not life.member:
            return Broken(f"{life} was never let in again", _beginning(facts, life), by_absence=True)
    for node in sorted(there):  # who has left and is on its way back may not have noted anything since
        last = next((life for life in reversed(facts.lives) if life.node == node), None)
        if last is not None and last.stopped is not None and last.stopped.kind is NoteKind.LEFT:
            return Broken(f"n{node} left, and was never let in again", (last.stopped,), by_absence=True)
    unsent = never_sent(facts, since_ns, there)
    if unsent is not None:
        return unsent
    mine = facts.s_message[np.isin(facts.s_life, [life.index for life in living])]
    sent_ns = facts.notes.time_ns[facts.sent_at[mine]]
    mine, sent_ns = mine[sent_ns >= since_ns], sent_ns[sent_ns >= since_ns]
    for life in living:
        due = mine if life.first else mine[sent_ns > life.views[0].time_ns]
        lost = due[~np.isin(due, facts.log(life.index))]
        if len(lost):
            message = int(lost[np.argmin(facts.sent_at[lost])])
            return Broken(
                f"{life} never delivered {facts.name(message)} of a live entity",
                facts.sending(message),
                by_absence=True,
            )
    since = "" if not since_ns else ", sent since a majority is up and connected,"
    return Holds(f"all {len(mine)} messages of live entities{since} were delivered by all of them")


def _beginning(facts: Facts, life: Life) -> tuple[Event, ...]:
    event = facts.beginning(life)
    return () if event is None else (event,)


@judge_of("TD-7", "alarm: who misses a quorum names so many other entities that none is left")
def missing_are_named(facts: Facts) -> Finding:
    nodes = len(facts.evidence.nodes)
    quorum = _asked_for(facts) or nodes // 2 + 1
    alarms = [event for event in facts.of(NoteKind.ALARM) if event.text == NO_QUORUM]
    for event in alarms:
        if event.node in event.peers:
            return Broken(f"n{event.node} misses a quorum, and names itself", (event,))
        if nodes - len(event.peers) >= quorum:
            return Broken(
                f"n{event.node} misses a quorum, but names {_members(event.peers)} alone: {quorum} of {nodes} are left",
                (event,),
            )
    return Holds(f"{len(alarms)} alarms about a quorum name who is missing")


@judge_of("TD-6", "a joiner's log is a contiguous piece of the others', from the join point on")
def joins_cleanly(facts: Facts) -> Finding:
    lines = _lay(facts)
    joined = lines.of(first=False)
    if not joined:
        return Holds("nobody joined")
    return all_of(
        facts,
        lambda facts: _agree(facts, lines, joined, "logs of joiners"),
        partial(_starts_at_the_join_point, lines=lines),
    )


def _starts_at_the_join_point(facts: Facts, lines: _Line) -> Finding:
    """The first message of a joiner is the first that a member delivers after it installed a view with the joiner."""
    members = [one for one in lines.of(up=True, first=True) if one.differs is None]
    for joiner in lines.of(first=False):
        points = {place for member in members for place in _admissions(facts, member, joiner.life)}
        if len(joiner.log) and points and joiner.start not in points:
            event = _row(facts, joiner, 0)
            at = min(points, key=lambda place: abs(place - joiner.start))
            context = facts.sending(int(lines.line[at])) if at < len(lines.line) else ()
            return Broken(
                f"{joiner.life} begins with {facts.name(int(joiner.log[0]))}, {abs(joiner.start - at)} messages "
                f"{'after' if joiner.start > at else 'before'} its join point",
                (event,),
                context,
                by_absence=True,
            )
        if len(joiner.log) and members and not points:
            return Undecided(f"no member noted a view with {joiner.life}")
    return Holds("every joiner begins at its join point")


def _admissions(facts: Facts, member: _Laid, joiner: Life) -> list[int]:
    """How many messages the member had delivered when it installed the view that brought the joiner in.

    It is the joiner's own first view: a node may come back often, and into a cluster that was founded anew.
    """
    node, first = joiner.node, joiner.views[0].seq
    times = facts.notes.number[facts.d_event[facts.logs[member.life.index]]]
    places, before = [], set(facts.evidence.nodes)
    for view in member.life.views:
        if node in view.peers and node not in before and view.seq == first:
            places.append(member.start + int(np.searchsorted(times, view.number)))
        before = set(view.peers)
    return places
