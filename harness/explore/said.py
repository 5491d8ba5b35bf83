"""What is said in a case: by anybody at any time, in talks and as news, and near what goes wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from harness.explore.choices import Draw, Times, concerned, edges, struck
from harness.scenario.explore import Explore
from harness.scenario.faults import Fault
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.leave import Leave
from harness.scenario.faults.restart import Restart
from harness.scenario.model import Message, Scenario, Script

FEW = 5  # messages: what befalls one of them matters more than among many
_PACES = (10, 100)  # of a talk, in ticks
_NEAR = (4, 12)  # messages, at most, that are drawn near faults


def script(draw: Draw, case: Scenario, space: Explore) -> Script:
    """Messages of any node at any time; all of them soon after each other; or a talk, and others beside it."""
    count, manner = draw.number(1, min(space.messages, draw.one((FEW, space.messages)))), draw.number(0, 2)
    close = manner == 1
    times = Times(space.within_ns // 10 if close else space.within_ns)
    begin_ns = draw.number(0, 9) * space.within_ns // 10 if close else 0
    said: list[Message] = []
    if manner == 2:
        said = exchange(draw, case, space, times, times.instant(draw), draw.number(1, count))
    others = (message(draw, case, space, times, begin_ns) for _ in range(count - len(said)))
    return Script(message=(*said, *others))


def said_near(draw: Draw, case: Scenario, space: Explore, faults: Sequence[Fault]) -> list[Message]:
    """What a fault has broken shows in what is said soon after it; or by those whom it spares, as soon as it begins; or
    in what somebody says before it stops, and when it is back."""
    times, gone = Times(space.within_ns, edges(faults), space.waits, struck(faults)), absences(faults)
    if gone and has_news(case, space) and draw.number(0, 3) == 3:
        return when_back(news_of_lives(draw, case, space, times, draw.one(gone)), gone)
    count, manner = draw.number(0, draw.one(_NEAR)), draw.number(0, 3)
    if not count or manner < 2:
        return [another_message(draw, case, space, times) for _ in range(count)]
    fault = draw.one(faults)
    spared = tuple(node for node in case.nodes if node not in concerned(fault))
    if manner == 3 and spared:
        begin_ns = fault.at_ns + draw.number(0, draw.one(_PACES)) * times.tick_ns
        return talk(draw, case, space, spared, begin_ns, _pace(draw, space, times), count)
    at_ns = times.instant(draw) if draw.yes() else times.before(draw, fault.at_ns)
    return when_back(exchange(draw, case, space, times, at_ns, count, before=draw.number(0, 3)), gone)


@dataclass(frozen=True, slots=True)
class Absence:
    """Who is away, from when to when."""

    node: str
    begin_ns: int
    end_ns: int


def absences(faults: Sequence[Fault]) -> list[Absence]:
    """Of those who stop and come back at times that are known."""
    backs = [(one.at_ns, node) for one in faults if isinstance(one, Restart) and not one.when for node in one.node]
    found = [
        Absence(node, one.at_ns, min(ends))
        for one in faults
        if isinstance(one, Crash | Leave) and not one.when
        for node in one.node
        if (ends := [at_ns for at_ns, other in backs if other == node and at_ns > one.at_ns])
    ]
    return sorted(found, key=lambda one: (one.begin_ns, one.end_ns, one.node))


def when_back(said: Sequence[Message], gone: Sequence[Absence]) -> list[Message]:
    """Who is away says it when it is back, and what follows is said so much later, too."""
    found, held_ns = list[Message](), 0
    for message in said:
        for one in gone:
            if one.node == message.node and one.begin_ns <= message.at_ns + held_ns <= one.end_ns:
                held_ns = one.end_ns + 1 - message.at_ns
        found.append(replace(message, at_ns=message.at_ns + held_ns))
    return found


def exchange(
    draw: Draw, case: Scenario, space: Explore, times: Times, at_ns: int, count: int, before: int = 0
) -> list[Message]:
    """News, or a talk of some nodes, at a pace that leaves time to hear each other. So many speak before that time."""
    if has_news(case, space) and draw.number(0, 3) == 3:
        ways = list(permutations(case.nodes, 2))
        in_trouble = [way for way in ways if not set(way).isdisjoint(times.struck)]
        told = news(draw, case, in_trouble if in_trouble and draw.number(0, 3) else ways)
        return _said(draw, case, space, times, told, at_ns, before)
    pace_ns = _pace(draw, space, times)
    begin_ns = max(0, at_ns - before * pace_ns)
    return talk(draw, case, space, draw.some(case.nodes, len(case.nodes)), begin_ns, pace_ns, count)


def _pace(draw: Draw, space: Explore, times: Times) -> int:
    return draw.number(0, draw.one(_PACES)) * times.tick_ns + draw.one(space.delay)


def talk(
    draw: Draw, case: Scenario, space: Explore, who: tuple[str, ...], begin_ns: int, pace_ns: int, count: int
) -> list[Message]:
    """Some nodes, each after another: one who was just told something, or the same once more. What others are told,
    too, they are mostly told at first."""
    nodes = case.nodes
    patience = draw.one((1, 3))  # of four times a speaker goes on
    always, data = draw.one((None, *space.destinations)), "x" * draw.one(space.payload)
    said: list[Message] = []
    speaker = draw.one(who)
    for number in range(count):
        others = [one for one in who if one != speaker] or [one for one in nodes if one != speaker] or [speaker]
        other, stays, kind, stray, mask = draw.numbers(
            len(others), 4, len(space.destinations), 8, 1 << min(len(nodes), 8)
        )
        some = tuple(one for place, one in enumerate(nodes) if mask >> place & 1)
        chosen = {
            "all": (),
            "self": (speaker,),
            "some": some if some and (stray == 0 or number == 0) else who,
            "one": (others[other],),
        }
        to = chosen[always or space.destinations[kind]]
        said.append(Message(at_ns=begin_ns + number * pace_ns, node=speaker, to=to, data=data))
        speaker = others[other] if stays >= patience and others[other] in who else speaker
    return said


def has_news(case: Scenario, space: Explore) -> bool:
    """Whether somebody may be told something on two ways."""
    return "one" in space.destinations and len(case.nodes) > 2


def news(draw: Draw, case: Scenario, ways: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Who tells whom: the first tells the last, on one of these ways, mostly one that takes longest, and somebody else,
    who tells the last, too. Some is said twice: what comes in between may have changed who says it."""
    delays = _ways(case)
    longest_ns = max(delays.values(), default=-1)
    slowest = [way for way in ways if delays.get(way) == longest_ns]
    first, last = draw.one(slowest if slowest and draw.number(0, 3) else ways)
    middle = draw.one([one for one in case.nodes if one not in (first, last)])
    return [step for step in ((first, last), (first, middle), (middle, last)) for _ in range(draw.one((1, 2)))]


def news_of_lives(draw: Draw, case: Scenario, space: Explore, times: Times, gone: Absence) -> list[Message]:
    """News of one who stops meanwhile, and tells somebody else once more when it is back, who then tells the last."""
    ways = [(gone.node, other) for other in case.nodes if other != gone.node]
    first, second, last = dict.fromkeys(news(draw, case, ways))
    told = (first, second, second, last)
    return _said(draw, case, space, times, told, gone.begin_ns, before=2)


def _said(
    draw: Draw, case: Scenario, space: Explore, times: Times, told: Sequence[tuple[str, str]], at_ns: int, before: int
) -> list[Message]:
    """One after another, so many of them before that time; often all of them while the first is under way, where that
    takes a while."""
    way_ns, data = _ways(case).get(told[0], 0), "x" * draw.one(space.payload)
    in_time_ns = draw.number(1, 10) * way_ns // (10 * len(told))
    pace_ns = in_time_ns if way_ns and draw.yes() else _pace(draw, space, times)
    begin_ns = max(0, at_ns - before * pace_ns)
    return [
        Message(at_ns=begin_ns + number * pace_ns, node=node, to=(to,), data=data)
        for number, (node, to) in enumerate(told)
    ]


def _ways(case: Scenario) -> dict[tuple[str, str], int]:
    """From one node to another, where that is impaired by itself, and how long it takes."""
    named = {(a, b): f"{a}>{b}" for a, b in permutations(case.nodes, 2)}
    return {way: one.impairment.delay_ns for way, name in named.items() for one in case.impair if name in one.on}


def message(draw: Draw, case: Scenario, space: Explore, times: Times, begin_ns: int = 0) -> Message:
    """One of any node, or of one that is in trouble: who comes back has something to say."""
    nodes, who, kinds, sizes = case.nodes, times.nodes(draw, case), space.destinations, space.payload
    tick, node, kind, size, mask = draw.numbers(1001, len(who), len(kinds), len(sizes), 1 << min(len(nodes), 8))
    others = [one for one in nodes if one != who[node]] or [who[node]]
    to: tuple[str, ...] = ()  # all
    if kinds[kind] == "self":
        to = (who[node],)
    elif kinds[kind] == "one":
        to = (others[mask % len(others)],)
    elif kinds[kind] == "some":
        to = tuple(one for number, one in enumerate(nodes) if mask >> number & 1) or (others[0],)
    return Message(at_ns=begin_ns + tick * times.tick_ns, node=who[node], to=to, data="x" * sizes[size])


def another_message(draw: Draw, case: Scenario, space: Explore, times: Times) -> Message:
    """One near to what else happens."""
    return replace(message(draw, case, space, times), at_ns=times.instant(draw))


def last_messages(case: Scenario, space: Explore, edges_ns: Iterable[int]) -> list[Message]:
    """One of everybody to all when everything is over: who is stuck is not able to say it, or does not hear it."""
    at_ns = max(space.within_ns, *edges_ns) + max(space.waits, default=0)
    return [Message(at_ns=at_ns, node=node, to=(), data="") for node in case.nodes]


def with_messages(case: Scenario, more: Sequence[Message]) -> Scenario:
    """Some more than there are."""
    assert isinstance(case.workload, Script)
    return replace(case, workload=Script(message=(*case.workload.message, *more)))
