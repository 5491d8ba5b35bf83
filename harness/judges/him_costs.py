"""HI-6 and HI-7: what a message of HIM costs (paper 003 §4), by the packets of those that nothing disturbed.

A message is loss-free if every copy of every packet about it arrived, in the first round, and every copy of its END:
who misses that asks for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from captures.evidence import Frame
from harness.judges.base import Broken, Finding, Holds, Undecided, judge_of
from harness.judges.facts import Facts
from harness.judges.him_messages import PACKETS, HimMessage, him_messages, succeeded
from nodes.him.options import HimOptions
from nodes.wire.him import HimConfirm, HimData, HimEnd
from nodes.wire.note import NoteKind

_DATA = HimData.TYPE.name


def _about(facts: Facts) -> Iterator[tuple[HimMessage, list[Frame]]]:
    frames: dict[tuple[int, int], list[Frame]] = defaultdict(list)
    seen = facts.evidence.frames
    packets = seen.of_type(*PACKETS)
    # What an outsider sends arrives, but nobody sent it.
    for frame in seen.rows(packets[np.isin(seen.node[packets], facts.evidence.nodes)]):
        frames[frame.about, frame.seq].append(frame)
    for one in him_messages(facts):
        yield one, frames.get((one.sending.about, one.sending.seq), [])


def _options(facts: Facts) -> HimOptions:
    """Another protocol that is judged by its packets is taken for HIM as it is when nothing is chosen."""
    options = facts.evidence.options
    return options if isinstance(options, HimOptions) else HimOptions()


def _loss_free(one: HimMessage, frames: list[Frame]) -> bool:
    # What comes to the host of a node that is no member (its process is dead) is no arrival.
    places = {f"n{member}" for member in one.members}
    out = Counter(frame.title for frame in frames if frame.direction == "out")
    arrived = Counter(frame.title for frame in frames if frame.direction == "in" and frame.at in places)
    copies = {title: count * (len(one.members) - 1 if title == _DATA else 1) for title, count in out.items()}
    return out[_DATA] == 1 and arrived == copies and succeeded(one)


def _somebody_stopped(facts: Facts, one: HimMessage, frames: list[Frame]) -> bool:
    """A member whose process ended meanwhile leaves questions unanswered that came to its host."""
    last_ns = max((frame.time_ns for frame in frames), default=0)
    stopped = [life.stopped.time_ns for life in facts.lives if life.node in one.members and life.stopped]
    return any(one.sending.time_ns <= time_ns <= last_ns for time_ns in stopped)


def _loss_free_messages(facts: Facts) -> Iterator[tuple[HimMessage, list[Frame]]]:
    unheard, refused = _unheard(facts), defaultdict[tuple[int, int], set[int]](set)
    for event in facts.of(NoteKind.REFUSED):
        refused[event.about, event.seq].add(event.node)
    for one, frames in _about(facts):
        key = one.sending.about, one.sending.seq
        taken = one.members.isdisjoint(refused[key])  # who has a new view refuses what comes late
        if taken and key not in unheard and _loss_free(one, frames) and not _somebody_stopped(facts, one, frames):
            yield one, frames


def _unheard(facts: Facts) -> set[tuple[int, int]]:
    """Messages of which a copy of the END, or a CONFIRM, did not arrive, or may not have: what is asked then is due."""
    seen = facts.evidence.frames
    ends = [frame for frame in seen.rows(seen.of_type(HimEnd)) if frame.multicast]
    sent = {(frame.about, frame.seq) for frame in ends if frame.direction == "out"}
    heard = Counter(key for key, _ in {((frame.about, frame.seq), frame.at) for frame in ends if _enters_a_node(frame)})
    confirms = seen.rows(seen.of_type(HimConfirm))
    confirmed = Counter((frame.about, frame.seq) for frame in confirms if frame.direction == "out")
    confirmed.subtract((frame.about, frame.seq) for frame in confirms if _enters_a_node(frame))
    if facts.evidence.damaged:  # then captures do not tell: a frame whose head is damaged is seen, and taken by nobody
        return sent | set(confirmed)
    return {key for key in sent if heard[key] < len(facts.evidence.nodes) - 1} | set(+confirmed)


def _enters_a_node(frame: Frame) -> bool:
    return frame.direction == "in" and frame.at.startswith("n")


@judge_of("HI-6", "no implosion: the sender of a loss-free message receives at most 2|adj| packets")
def no_implosion(facts: Facts) -> Finding:
    options = _options(facts)
    most = 2 * options.neighbours
    if options.adj != "ring":
        return Holds("any number of nodes may choose the sender: the bound is the ring's")
    seen = 0
    for one, frames in _loss_free_messages(facts):
        seen += 1
        mine = [frame for frame in frames if frame.direction == "in" and frame.at == f"n{one.sending.node}"]
        if len(mine) > most:
            where = ", ".join(f"{frame.title} {frame.capture} #{frame.frame}" for frame in mine)
            return Broken(
                f"n{one.sending.node} received {len(mine)} packets for {one.name}, more than {most}: {where}",
                (one.sending,),
            )
    return (
        Holds(f"{seen} loss-free messages, at most {most} packets received by their senders") if seen else _none(facts)
    )


def _none(facts: Facts) -> Finding:
    """No message to count packets of: a claim about loss-free messages then holds, if their packets were looked at."""
    if len(facts.evidence.frames.of_type(*PACKETS)) or not len(facts.s_message):
        return Holds("no message went through without loss: nothing is claimed")
    return Undecided("no capture shows the packets")


@judge_of("HI-7", "cost: a loss-free message in a ring of n takes exactly 2n+1 packets (END apart)")
def costs(facts: Facts) -> Finding:
    options = _options(facts)
    if options.adj != "ring" or options.neighbours != 1:
        return Holds("the cost is that of the ring with one neighbour")
    seen = 0
    for one, frames in _loss_free_messages(facts):
        seen += 1
        out = [frame for frame in frames if frame.direction == "out"]
        due = 2 * len(one.members) + 1
        if len(out) != due:
            counts = Counter(frame.title for frame in out)
            shown = ", ".join(f"{count} {title}" for title, count in sorted(counts.items()))
            return Broken(f"{one.name} took {len(out)} packets, not {due}: {shown}", (one.sending,), by_absence=True)
    return Holds(f"{seen} loss-free messages took 2n+1 packets each") if seen else _none(facts)
