"""HI-10 to HI-14: what the nodes of HIM owe each other, and a person, beside how a message ended (003 §3.3)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from captures.evidence import OUT, Event
from harness.judges.base import Broken, Finding, Holds, Undecided, judge_of, when_quiet
from harness.judges.facts import Facts, Life, name_of
from harness.judges.him_messages import him_messages, succeeded
from nodes.him.notes import NO_MULTICAST, SILENT, SILENT_PERIODS, Result
from nodes.him.options import HimOptions
from nodes.wire import Pdu
from nodes.wire.him import HAVE, HimAlive, HimAnswer, HimConfirm, HimData, HimEnd, HimQuery, HimReport, Reason
from nodes.wire.note import NoteKind, said


@judge_of("HI-10", "ending: whoever holds a message hears how it ended, or gives the alarm")
def endings_are_heard(facts: Facts) -> Finding:
    return when_quiet(facts, _heard_or_alarmed)


def _heard_or_alarmed(facts: Facts) -> Finding:
    """D-HI-20, of each holder whose process still runs."""
    frames = facts.evidence.frames
    ends = frames.of_type(HimEnd, among=frames.came)
    columns = (frames.node[ends], frames.about[ends], frames.seq[ends])
    heard = set(zip(*(column.tolist() for column in columns), strict=True))  # perhaps before its view, or the message
    alarmed = {(event.node, event.about, event.seq) for event in facts.of(NoteKind.ALARM)}
    held, running = 0, {(life.node, life.incarnation) for life in facts.lives if life.up}
    for event in facts.deliveries:
        here = (event.node, event.about, event.seq)
        if (event.node, event.incarnation) not in running or event.node == event.about:
            continue
        held += 1
        if here not in heard and here not in alarmed:
            name = name_of(event.about, event.seq)
            return Broken(
                f"n{event.node} holds {name}, never heard how it ended, and gave no alarm", (event,), by_absence=True
            )
    return Holds(f"of all {held} messages that are held their holders heard the end, or gave the alarm")


@judge_of("HI-11", "fairness: nobody is reported who has shown, since he was asked, that he holds the message")
def fair_reports(facts: Facts) -> Finding:
    frames = facts.evidence.frames
    asked: dict[tuple[int, ...], tuple[int, bytes]] = {}  # node, message, whom -> its last first question, and its hash
    shown: dict[tuple[int, ...], tuple[int, int]] = {}  # the same -> when he showed that he holds it, and in which view
    reports = 0
    for at, kind, says in _about_tests(facts):
        node, src, out = int(frames.node[at]), int(frames.src[at]), frames.direction[at] == OUT
        here = (node, int(frames.about[at]), int(frames.seq[at]))
        if out and kind is HimQuery and says["attempt"] == 1:
            asked.update({(*here, peer): (at, says["hash"]) for peer in facts.evidence.nodes})
        elif out and kind is HimReport:
            reports += 1
            for peer, reason in says["suspects"]:
                question, evidence = asked.get((*here, peer)), shown.get((*here, peer))
                if question is None or evidence is None or reason == Reason.MISMATCH:
                    continue
                if evidence[0] > question[0] and evidence[1] == says["view"]:
                    frame, proof = frames[at], frames[evidence[0]]
                    return Broken(
                        f"n{node} reported ({frame.capture} #{frame.frame}) that n{peer} does not confirm "
                        f"{name_of(here[1], here[2])}, which it had shown to hold ({proof.capture} #{proof.frame})"
                    )
        elif not out and (kind is HimQuery or (kind is HimAnswer and says["flags"] & HAVE)):
            question = asked.get((*here, src))
            if question is not None and says["hash"] == question[1]:
                shown[*here, src] = at, says["view"]
    return Holds(f"{reports} reports named nobody who had shown that he holds the message")


@judge_of("HI-12", "candour: a member that its sender served by a copy of its own is named to a person")
def served_are_named(facts: Facts) -> Finding:
    """Of a message that ended well in the round in which the copy came: what was sent to all did not come there."""
    frames, messages = facts.evidence.frames, {(one.sending.about, one.sending.seq): one for one in him_messages(facts)}
    named = {
        (event.about, event.seq, peer)
        for event in facts.of(NoteKind.ALARM)
        if event.node == event.about and event.text == NO_MULTICAST
        for peer in event.peers
    }
    rows, served = frames.of_type(HimData, among=frames.came), 0
    rows = rows[frames.multicast[rows] == 0]
    for at, round_ in zip(rows.tolist(), frames.said(rows, "round"), strict=True):
        key, node = (int(frames.about[at]), int(frames.seq[at])), int(frames.node[at])
        one = messages.get(key)
        if one is None or one.result is None or not succeeded(one) or frames.time_ns[at] > one.result.time_ns:
            continue
        told = said(Result, one.result.values)
        if told is None or told.round != (round_ or 0):
            continue
        served += 1
        if (*key, node) not in named:
            return Broken(
                f"n{key[0]} had to serve n{node} {one.name} by a copy of its own, and told nobody that what it sends "
                "to all does not come there",
                (one.result,),
                (one.sending,),
                by_absence=True,
            )
    return Holds(f"all {served} members that were served by copies of their own were named")


@judge_of("HI-13", "watch: a member that is not heard any more is named to a person, and nobody who is")
def silence_is_told(facts: Facts) -> Finding:
    """With ALIVE packets (D-HI-14), by each member that hears at once what comes to it."""
    options = facts.evidence.options
    if not isinstance(options, HimOptions):
        return Undecided("the scenario does not say how often members say that they are there")
    if not options.alive_ns:
        return Holds("nobody has to say that he is there")
    late = {node for event in facts.of(NoteKind.FAULT) if event.fault.kind in _LATE for node in event.fault.nodes}
    named = [event for event in facts.of(NoteKind.ALARM) if event.text == SILENT and event.node not in late]
    alive = _alive(facts)
    for alarm in named:
        begin_ns, end_ns = alarm.time_ns - SILENT_PERIODS * options.alive_ns * 98 // 100, alarm.time_ns - _SLACK_NS
        for peer in alarm.peers:
            if any(begin_ns < at_ns < end_ns for at_ns in alive[alarm.node, peer]):
                return Broken(f"n{alarm.node} said that n{peer} is silent, which it had just heard", (alarm,))
    limit_ns = (SILENT_PERIODS + 1) * options.alive_ns * 102 // 100 + _SLACK_NS
    for life in facts.lives:
        unnamed = None if life.node in late else _unnamed(facts, life, named, alive, limit_ns)
        if unnamed is not None:
            return unnamed
    return Holds(f"all members that fell silent were named, in {len(named)} alarms")


_LATE = ("pause", "slow_reader")  # who hears late what comes to it
_SLACK_NS = 20_000_000


def _alive(facts: Facts) -> dict[tuple[int, int], list[int]]:
    """Node and peer -> when the node got an ALIVE of the peer in its own view."""
    frames, found = facts.evidence.frames, defaultdict[tuple[int, int], list[int]](list)
    views = defaultdict[int, list[Event]](list)
    for life in facts.lives:
        views[life.node] += life.views
    rows = frames.of_type(HimAlive, among=frames.came)
    columns = (frames.time_ns[rows].tolist(), frames.node[rows].tolist(), frames.src[rows].tolist())
    for at_ns, node, src, view in zip(*columns, frames.said(rows, "view"), strict=True):
        before = [one.seq for one in views[node] if one.time_ns <= at_ns]
        if before and before[-1] == view:
            found[node, src].append(at_ns)
    return found


def _unnamed(
    facts: Facts, life: Life, named: list[Event], alive: dict[tuple[int, int], list[int]], limit_ns: int
) -> Broken | None:
    """Is there a member from which nothing has come for so long, in one view, and nobody was told since its last ALIVE?
    What comes late of an older view is something, but nothing that would make it heard again."""
    frames, since = facts.evidence.frames, dict[int, int]()  # when a member came into the view
    rows = frames.came[frames.node[frames.came] == life.node]
    end = life.stopped.time_ns if life.stopped else int(max(facts.notes.time_ns))
    for view, following in zip(life.views, (*life.views[1:], None), strict=False):
        until_ns = following.time_ns if following else end
        peers = [peer for peer in view.peers if peer != life.node]
        since = {peer: since.get(peer, view.time_ns) for peer in peers}
        for peer in peers:
            heard = frames.time_ns[rows[frames.src[rows] == peer]].tolist()
            within = [at_ns for at_ns in heard if view.time_ns < at_ns <= until_ns]
            for last_ns, next_ns in pairwise((view.time_ns, *within, until_ns)):
                if next_ns - last_ns <= limit_ns:
                    continue
                begin_ns = max([since[peer], *[at_ns for at_ns in alive[life.node, peer] if at_ns <= last_ns]])
                told = any(
                    one.node == life.node and peer in one.peers and begin_ns <= one.time_ns <= last_ns + limit_ns
                    for one in named
                )
                if not told:
                    sentence = f"{life} heard nothing of n{peer} for {next_ns - last_ns} ns, and told nobody"
                    return Broken(sentence, (view,), by_absence=True)
    return None


@judge_of("HI-14", "restraint: what nobody acknowledges is said as often as the options allow, and no more")
def repetitions_end(facts: Facts) -> Finding:
    """A CONFIRM, or a REPORT, rtry times in each test, of which a round has maxfail + 1 at most; and a REPORT once more
    when a SUCCESS contradicts it. A double has the time stamp of what it doubles."""
    options, frames, said_so = facts.evidence.options, facts.evidence.frames, 0
    if not isinstance(options, HimOptions):
        return Undecided("the scenario does not say how often anything is repeated")
    limit = options.rtry * (options.maxfail + 1) + 1
    for kind in (HimConfirm, HimReport):
        rows = frames.of_type(kind, among=frames.sent)
        columns = [column[rows].tolist() for column in (frames.node, frames.about, frames.seq)]
        told = [frames.said(rows, name) for name in ("round", "view", "tsval")]
        times = Counter(key[:-1] for key in set(zip(*columns, *told, strict=True)))
        said_so += len(times)
        for (node, about, seq, round_, _), count in times.items():
            if count > limit:
                what = f"what it had to say of {name_of(about, seq)} in round {round_}"
                return Broken(f"n{node} said {count} times, and not {limit} at most, {what}")
    return Holds(f"none of {said_so} things was said more often than is allowed")


def _about_tests(facts: Facts) -> Iterator[tuple[int, type[Pdu], dict[str, Any]]]:
    """Questions, answers and reports as their senders put them out and others got them, in the order of time."""
    frames, found = facts.evidence.frames, list[tuple[int, type[Pdu], dict[str, Any]]]()
    for kind, names in _TOLD.items():
        rows = frames.of_type(kind)
        own = (frames.direction[rows] != OUT) | (frames.node[rows] == frames.src[rows])
        rows = rows[(frames.node[rows] > 0) & own]
        columns = [frames.said(rows, name) for name in names]
        for at, *told in zip(rows.tolist(), *columns, strict=True):
            found.append((at, kind, dict(zip(names, told, strict=True))))
    yield from sorted(found, key=lambda one: (frames.time_ns[one[0]], one[0]))


_TOLD: dict[type[Pdu], tuple[str, ...]] = {
    HimQuery: ("hash", "attempt", "view"),
    HimAnswer: ("hash", "flags", "view"),
    HimReport: ("suspects", "view"),
}
