"""HI-1..HI-9: high integrity multicast (paper 003 §2, §3): what the sender is told is true, and is told in time."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from captures.evidence import OUT, Event, Frame
from harness.judges.base import Broken, Finding, Holds, Undecided, judge_of, when_quiet
from harness.judges.common import no_duplication
from harness.judges.facts import Facts, name_of
from harness.judges.him_messages import PACKETS, HimMessage, failed, him_messages, succeeded
from nodes.him.notes import NO_MULTICAST, Result
from nodes.him.options import HimOptions
from nodes.wire.fault import FaultNote
from nodes.wire.him import (
    HAVE,
    HimAnswer,
    HimConfirm,
    HimData,
    HimJoin,
    HimPdu,
    HimQuery,
    HimView,
    proposer_of,
)
from nodes.wire.note import Delivered, NoteKind, said

_LAST = 1 << 62  # of all NOTEs of a node
_SLACK_NS = 50_000_000  # scheduling and the own packets' time on the network


def _hash(facts: Facts, delivery: Event) -> int:
    """What was delivered, 0 if it does not say."""
    told = said(Delivered, delivery.values)
    return told.digest if told else 0


@judge_of(
    "HI-1", "integrity: when the sender reports SUCCESS, every current member holds the message, with the same hash"
)
def success_is_true(facts: Facts) -> Finding:
    true = 0
    for one in him_messages(facts):
        if not succeeded(one) or one.result is None:
            continue
        true += 1
        members, again = one.members - _removed(facts, one), _let_in_again(facts, one)
        for member in sorted(members):
            delivery = one.deliveries.get(member)
            if delivery is not None and delivery.incarnation < again.get(member, 0):
                delivery = one.latest.get(member)
            if delivery is None or delivery.incarnation < again.get(member, 0):
                return Broken(
                    f"n{one.sending.node} was told SUCCESS of {one.name}, which n{member} never got",
                    (one.result,),
                    (one.sending,),
                    by_absence=True,
                )
            if delivery.time_ns > one.result.time_ns:
                return Broken(
                    f"n{one.sending.node} was told SUCCESS of {one.name} before n{member} had it",
                    (one.result, delivery),
                    (one.sending,),
                )
            own = one.deliveries.get(one.sending.node)
            if own is not None and _hash(facts, own) != _hash(facts, delivery):
                return Broken(
                    f"n{one.sending.node} was told SUCCESS of {one.name}, but n{member} holds other bytes",
                    (one.result, own, delivery),
                    (one.sending,),
                )
    return Holds(f"all {true} SUCCESSes were true")


def _removed(facts: Facts, one: HimMessage) -> frozenset[int]:
    """Who is no current member any more when the sender is told: the views it installed meanwhile."""
    assert one.result is not None
    removed: frozenset[int] = frozenset()
    for life in facts.lives:
        if life.node == one.sending.node:
            for view in life.views:
                if one.sending.time_ns < view.time_ns <= one.result.time_ns:
                    removed = one.members - frozenset(view.peers)
    return removed


def _let_in_again(facts: Facts, one: HimMessage) -> dict[int, int]:
    """Members that began anew, as the sender knew when it was told: in a view that it installed meanwhile. Each with
    the incarnation that it has since then."""
    assert one.result is not None
    known = {view.seq for view in _views_meanwhile(facts, one, one.result)}
    again = [life for life in facts.lives if not life.first and life.views and life.views[0].seq in known]
    return {life.node: life.incarnation for life in again if proposer_of(life.views[0].seq) != life.node}


def _views_meanwhile(facts: Facts, one: HimMessage, end: Event) -> list[Event]:
    """Those that its sender installed while it was under way, perhaps in the instant in which it was sent, or ended."""
    views = [view for life in facts.lives if life.node == one.sending.node for view in life.views]
    sent, own = (one.sending.time_ns, one.sending.number), end.node == one.sending.node
    ended = (end.time_ns, end.number if own else _LAST)
    return [view for view in views if sent < (view.time_ns, view.number) <= ended]


@judge_of(
    "HI-2",
    "alarm: the sender is told once how it ended, in time and after as many rounds as are allowed, and it is FAIL if a "
    "member could not be reached",
)
def failure_is_told(facts: Facts) -> Finding:
    decided = _decision_limit_ns(facts)
    waiting: Finding | None = None
    told = 0
    for one in him_messages(facts):
        if _forgotten(facts, one):
            continue
        unreached = sorted(one.members - one.deliveries.keys())
        result = one.result
        if result is None:
            if facts.end in ("quiet", "livelock"):
                return Broken(f"n{one.sending.node} was told nothing of {one.name}", (one.sending,), by_absence=True)
            waiting = Undecided(f"the run ended before n{one.sending.node} was told of {one.name}")
            continue
        if one.told > 1:
            return Broken(f"n{one.sending.node} was told {one.told} times how {one.name} ended", (result,))
        wrong = _rounds(facts, one, result)
        if wrong is not None:
            return wrong
        if unreached and not failed(one):
            return Broken(
                f"n{unreached[0]} never got {one.name}, and n{one.sending.node} was told {result.text}",
                (result,),
                (one.sending,),
                by_absence=True,
            )
        told += 1
        took = result.time_ns - one.sending.time_ns
        limit = None if decided is None else decided + _more_rounds_ns(facts, one, result)
        if limit is not None:
            limit += _waits_ns(facts, one, result) + _paused_ns(facts, one.sending, result)
        if limit is not None and took > limit:
            return Broken(
                f"n{one.sending.node} was told {result.text} of {one.name} after {took} ns; {limit} ns were allowed",
                (one.sending, result),
            )
    if decided is None and told:
        return Undecided("the scenario does not say maxfail and the time-outs")
    return waiting or Holds(f"{told} messages that did not reach everybody were reported, in time")


@judge_of(
    "HI-8",
    "integrity: of a message that some survivor holds and another does not, somebody gives the alarm, in time, "
    "though its sender be dead",
)
def somebody_gives_the_alarm(facts: Facts) -> Finding:
    return when_quiet(facts, _held_by_all_or_told)


def _held_by_all_or_told(facts: Facts) -> Finding:
    told: dict[tuple[int, int], Event] = {}
    events = (*facts.of(NoteKind.ALARM), *(one for one in facts.of(NoteKind.RESULT) if one.text.startswith("FAIL")))
    for event in sorted(events, key=lambda one: one.time_ns):
        told.setdefault((event.about, event.seq), event)
    since_ns, decided = _up_since_ns(facts), _alarm_limit_ns(facts)
    torn = 0
    for one in him_messages(facts):
        alive = {node for node in one.members if since_ns.get(node, one.sending.time_ns) < one.sending.time_ns}
        holders = {node for node in alive if node in one.deliveries}
        if not holders or holders == alive:
            continue
        torn += 1
        alarm = told.get((one.sending.about, one.sending.seq))
        if alarm is None:
            without = min(alive - holders)
            return Broken(
                f"n{min(holders)} holds {one.name}, n{without} does not, and nobody gave the alarm",
                (one.deliveries[min(holders)],),
                (one.sending,),
                by_absence=True,
            )
        if decided is None:
            return Undecided("the scenario does not say maxfail and the time-outs")
        limit = decided + _more_rounds_ns(facts, one, alarm) + _paused_ns(facts, one.sending, alarm)
        took = alarm.time_ns - one.sending.time_ns
        if took > limit:
            return Broken(
                f"n{alarm.node} gave the alarm about {one.name} after {took} ns; {limit} ns were allowed",
                (one.sending, alarm),
            )
    return Holds(f"of {torn} messages that some survivors hold and others do not, somebody gave the alarm in time")


def _up_since_ns(facts: Facts) -> dict[int, int]:
    """Nodes that run at the end -> when that process of theirs began; 0: with the run."""
    since_ns = {}
    for life in facts.lives:
        if life.up:
            began = facts.beginning(life) if life.incarnation > 1 else None
            since_ns[life.node] = began.time_ns if began else 0
    return since_ns


def _forgotten(facts: Facts, one: HimMessage) -> bool:
    """The process that sent it has ended, and with it whoever was to be told; a later one knows nothing of it."""
    who = (one.sending.node, one.sending.incarnation)
    return facts.down(who[0]) or any((life.node, life.incarnation) == who and not life.up for life in facts.lives)


def _decision_limit_ns(facts: Facts) -> int | None:
    """(maxfail + 1) T_dec with the largest time-outs allowed, then the probes (D-HI-6), from D-HI-12 by hand."""
    options = facts.evidence.options
    if not isinstance(options, HimOptions):
        return None
    return (options.maxfail + 1) * _round_ns(options) + _probes_ns(options) + _SLACK_NS


def _probes_ns(options: HimOptions) -> int:
    """Of an originator, who asks twice as often as others do, but after the same time (D-HI-6)."""
    return 2 * options.q * options.rto_max_ns


def _questions_ns(options: HimOptions, rto_ns: int) -> int:
    """Of a tester to one who does not answer, each with twice the time-out of the one before."""
    return ((1 << options.q) - 1) * rto_ns


def _round_ns(options: HimOptions) -> int:
    """T_dec with the largest time-outs allowed."""
    rto = options.rto_max_ns
    return options.decide_ns or 2 * rto + 2 * _questions_ns(options, rto) + options.rtry * rto


def _more_rounds_ns(facts: Facts, one: HimMessage, end: Event) -> int:
    """In every view that its sender installs meanwhile a message is multicast anew, and gets a round more for it."""
    options = facts.evidence.options
    between = len(_views_meanwhile(facts, one, end))
    return between * _round_ns(options) if isinstance(options, HimOptions) else 0


def _rounds(facts: Facts, one: HimMessage, result: Event) -> Broken | None:
    """A message is repeated maxfail times, and once more for each view; before that it fails only if the group that it
    was sent to is no longer there."""
    options, told = facts.evidence.options, said(Result, result.values)
    if not isinstance(options, HimOptions) or told is None:
        return None
    views = len(_views_meanwhile(facts, one, result))
    most = options.maxfail + views
    left = any(life.stopped and life.node == one.sending.node for life in facts.lives)
    if told.round > most:
        return Broken(f"{one.name} was repeated {told.round} times, more than {most}", (one.sending, result))
    if failed(one) and told.round < most and not views and not left:
        return Broken(f"{one.name} failed after {told.round} repetitions, not {most}", (one.sending, result))
    return None


def _waits_ns(facts: Facts, one: HimMessage, result: Event) -> int:
    """Each round may end with questions to those who gave no evidence, where silence is none; before a SUCCESS it is a
    round more, for those who test only since they were served. So it is for each member that its sender had to serve by
    a copy of his own, of which there is an alarm."""
    options = facts.evidence.options
    if not isinstance(options, HimOptions):
        return 0
    mine = [event for event in facts.of(NoteKind.ALARM) if (event.about, event.seq) == (result.about, result.seq)]
    served = sum(event.node == event.about and event.text == NO_MULTICAST for event in mine)
    rounds = options.maxfail + 1 + len(_views_meanwhile(facts, one, result))
    if not failed(one):
        return (served + rounds) * (_round_ns(options) + _probes_ns(options))
    asked = 0 if options.confirmation == "silence" else rounds
    return served * _round_ns(options) + (served + asked) * _probes_ns(options)


def _paused_ns(facts: Facts, sending: Event, end: Event) -> int:
    """For how long who says how it ended stood still meanwhile."""
    paused_ns, since_ns = 0, None
    for event in facts.of(NoteKind.FAULT):
        if end.node not in (event.fault.nodes or (end.node,)):
            continue
        if event.fault.kind == "pause" and not event.fault.ends and since_ns is None:
            since_ns = max(event.time_ns, sending.time_ns)
        elif "pause" in event.fault.ends and since_ns is not None:
            paused_ns += max(0, min(event.time_ns, end.time_ns) - since_ns)
            since_ns = None
    return paused_ns if since_ns is None else paused_ns + max(0, end.time_ns - since_ns)


def _alarm_limit_ns(facts: Facts) -> int | None:
    """Until the sender should have decided; then twice T_dec of who waits for his word, and q questions (D-HI-20)."""
    decided, options = _decision_limit_ns(facts), facts.evidence.options
    if decided is None or not isinstance(options, HimOptions):
        return None
    rto = max(options.rto_max_ns, 2 * options.rto_initial_ns)
    asking = _questions_ns(options, rto)
    return decided + 2 * max(options.decide_ns, 2 * rto + 2 * asking + options.rtry * rto) + asking


@judge_of("HI-3", "at most once: a node delivers a message at most once")
def at_most_once(facts: Facts) -> Finding:
    return no_duplication(facts)


@judge_of("HI-4", "agreement: all nodes that deliver a message deliver the same bytes")
def same_bytes(facts: Facts) -> Finding:
    first: dict[int, Event] = {}
    hashed = False
    for message, event in zip(facts.d_message.tolist(), facts.deliveries, strict=True):
        hashed = hashed or _hash(facts, event) != 0
        other = first.setdefault(message, event)
        if _hash(facts, other) != _hash(facts, event):
            return Broken(
                f"n{other.node} and n{event.node} delivered different bytes as {facts.name(message)}",
                (other, event),
                facts.sending(message),
            )
    frames, hashes = facts.evidence.frames, _hashes(facts)
    held: dict[tuple[int, int], int] = {}  # message -> a frame whose sender says what it holds
    for at in sorted(hashes):
        one = held.setdefault((int(frames.about[at]), int(frames.seq[at])), at)
        if hashes[one] != hashes[at]:
            return _different(facts, frames[one], frames[at])
    if not hashed and not held and len(facts.d_message):
        return Undecided("neither deliveries nor packets carry a hash")
    return Holds(f"{len(first)} messages were delivered with the same hash everywhere")


def _hashes(facts: Facts) -> dict[int, bytes]:
    """Frames in which a node says which message it holds -> the hash of it. An ANSWER may say: none."""
    frames = facts.evidence.frames
    own = (frames.direction == OUT) & (frames.node == frames.src) & np.isin(frames.src, facts.evidence.nodes)
    found: dict[int, bytes] = {}
    for pdu in (HimData, HimQuery, HimAnswer, HimConfirm):
        rows = frames.of_type(pdu)
        rows = rows[own[rows]]
        told = zip(rows.tolist(), frames.said(rows, "hash"), frames.said(rows, "flags"), strict=True)
        found |= {at: said for at, said, flags in told if said and (pdu is not HimAnswer or flags & HAVE)}
    return found


def _different(facts: Facts, one: Frame, other: Frame) -> Broken:
    key = (one.about, one.seq)
    events = [event for event in facts.deliveries if (event.about, event.seq) == key]
    return Broken(
        f"n{one.src} and n{other.src} hold different bytes as {name_of(*key)} "
        f"({one.capture} #{one.frame}, {other.capture} #{other.frame})",
        tuple(event for event in events if event.node in (one.src, other.src)),
    )


@judge_of("HI-5", "accuracy: a node that is up and reachable is never disjoined")
def accurate(facts: Facts) -> Finding:
    everybody = facts.evidence.nodes
    first: dict[int, Event] = {}  # a view's number -> who had it first
    for view in sorted((view for life in facts.lives for view in life.views), key=lambda view: view.time_ns):
        first.setdefault(view.seq, view)
    after = _proposed_after(facts)
    for life in facts.lives:
        before = set(everybody) if life.first else set()
        for view in life.views:
            if view is life.views[0] and proposer_of(view.seq) == life.node:
                before = set(everybody)  # it says that it is alone
            for absent in sorted(before - set(view.peers)):
                left_out = view  # by this view, or by an earlier one upon which it follows
                while (earlier := after.get(left_out.seq)) is not None and absent not in earlier.peers:
                    left_out = earlier
                if not _befell(facts, first[left_out.seq], absent, view.time_ns):
                    return Broken(
                        f"n{life.node} installed a view without n{absent}, "
                        f"between which and n{proposer_of(left_out.seq)} nothing was wrong",
                        (view,),
                        by_absence=True,
                    )
            before = set(view.peers)
    return Holds("only nodes that something had befallen were disjoined")


def _proposed_after(facts: Facts) -> dict[int, Event]:
    """The number of a view -> the one that its proposer had before, and changed."""
    return {
        view.seq: before
        for life in facts.lives
        for before, view in pairwise(life.views)
        if proposer_of(view.seq) == life.node
    }


def _befell(facts: Facts, proposed: Event, absent: int, time_ns: int) -> bool:
    """Had something befallen who is not in a view, or who proposed it, or what they sent each other?"""
    proposer, since_ns = proposer_of(proposed.seq), proposed.time_ns - _asking_ns(facts)
    if not _in_the_group(facts, absent, since_ns, time_ns):
        return True
    for event in facts.of(NoteKind.FAULT):
        # Who is cut off reaches nobody, and proposes a view alone.
        parts = _parts(event.fault, {absent, proposer}, facts.evidence.nodes)
        if event.time_ns <= time_ns and parts and not _over(facts, event, since_ns):
            return True
    asking = since_ns, proposed.time_ns
    if _is_alone(facts, proposed):
        return _lost_between(facts, (HimJoin, HimView), (0, 0), None, (proposer, absent), asking)
    ended = [one for one in him_messages(facts) if one.sending.node == proposer]
    ended = [one for one in ended if one.result and one.result.time_ns <= time_ns]
    if not ended:
        return False
    last = max(ended, key=lambda one: one.result.time_ns if one.result else 0)
    told = said(Result, last.result.values) if last.result else None
    message = last.sending.about, last.sending.seq
    return _lost_between(facts, PACKETS, message, told.round if told else None, (proposer, absent), asking)


def _is_alone(facts: Facts, view: Event) -> bool:
    """Does one who came back begin with it, since nobody has let it in?"""
    return any(
        life.views and life.views[0] is view
        for life in facts.lives
        if life.node == proposer_of(view.seq) and not life.first
    )


def _lost_between(
    facts: Facts,
    kinds: tuple[type[HimPdu], ...],
    message: tuple[int, int],
    round_: int | None,
    between: tuple[int, int],
    asking: tuple[int, int],
) -> bool:
    """While the second was asked, whom the first took out then, was something lost between them, or still on its way?
    Of a message its last round counts, in which the questions were asked: what was lost before says nothing of it."""
    since_ns, until_ns = asking
    out, came = Counter[tuple[str, int]](), set[tuple[str, int]]()  # packets; each that came, but for doubles
    seen = facts.evidence.frames
    for kind in kinds:
        rows = seen.of_type(kind)
        rows = rows[(seen.about[rows] == message[0]) & (seen.seq[rows] == message[1])]
        rows = rows[np.isin(seen.src[rows], between) & np.isin(seen.node[rows], facts.evidence.nodes)]
        told = zip(seen.rows(rows), seen.said(rows, "round"), seen.said(rows, "tsval"), strict=True)
        for frame, number, stamp in told:
            packet = f"{frame.src} {frame.title}", stamp
            if frame.time_ns > until_ns or round_ not in (None, number):
                continue
            if frame.direction == "in" and (not frame.multicast or frame.at == f"n{between[1]}"):
                came.add(packet)
            elif frame.direction == "out" and frame.time_ns >= since_ns:
                out[packet] += 1
    return any(count > (packet in came) for packet, count in out.items())


@judge_of("HI-9", "agreement: whoever has a view of the same number has the same members in it")
def same_members(facts: Facts) -> Finding:
    first: dict[int, Event] = {}
    for life in facts.lives:
        for view in life.views:
            other = first.setdefault(view.seq, view)
            if set(other.peers) != set(view.peers):
                return Broken(
                    f"n{other.node} and n{view.node} have different members in view {view.seq}", (other, view)
                )
    return Holds(f"{len(first)} views have the same members everywhere")


def _in_the_group(facts: Facts, node: int, since_ns: int, until_ns: int) -> bool:
    """Was one and the same life of it there all the time?"""
    return any(
        life.node == node
        and (life.first or any(view.time_ns < since_ns for view in life.views))
        and (life.stopped is None or life.stopped.time_ns > until_ns)
        for life in facts.lives
    )


def _asking_ns(facts: Facts) -> int:
    """For how long a suspect is asked before it goes (D-HI-6); without the options, for ever."""
    options = facts.evidence.options
    if not isinstance(options, HimOptions):
        return 1 << 62
    return _probes_ns(options) + _SLACK_NS


def _over(facts: Facts, begun: Event, by_ns: int) -> bool:
    """Had a fault come to its end by then? Only those that keep packets from a node for a time do."""
    if begun.fault.kind not in ("partition", "link", "pause"):
        return False
    return any(
        begun.time_ns <= event.time_ns < by_ns
        and begun.fault.kind in event.fault.ends
        and (event.fault.peers, event.fault.about) in (((), ""), (begun.fault.peers, begun.fault.about))
        for event in facts.of(NoteKind.FAULT)
    )


def _parts(fault: FaultNote, between: set[int], everybody: tuple[int, ...]) -> bool:
    """May one of two nodes not have reached the other for it? A partition parts those that it names as a pair."""
    if fault.ends or fault.stopped:  # who stopped is told by its lives
        return False
    if fault.kind == "partition":
        return any(between == set(pair) for pair in fault.severed)
    return bool(between & set(fault.nodes or everybody))
