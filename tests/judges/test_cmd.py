"""The judges of causal order, with and without deadlines, and of progress, on histories in one line each."""

from __future__ import annotations

import random

import pytest

from captures.evidence import Event, Evidence
from harness.judges import Outcome, judge
from harness.judges.causality import causal_past
from harness.judges.cmd import causal_order, vector_times
from harness.judges.facts import Facts
from nodes.delta.options import DeltaOptions
from tests.helpers.notation import history
from tests.helpers.seeds import EverySeed

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN

# CEX1 of paper 004: m1 from 1 to 3 is slow; 1 tells 2, 2 tells 3.
_TRIANGLE = "1+a>3 1+b>2 2-b 2+c>3"

CASES = [
    # CD-1
    ("CD-1", f"{_TRIANGLE} 3-ac", PASS),
    ("CD-1", f"{_TRIANGLE} 3-ca", FAIL),
    ("CD-1", f"{_TRIANGLE} 3-c", FAIL),  # without a
    ("CD-1", f"{_TRIANGLE} 3-c hole", UNKNOWN),
    ("CD-1", f"{_TRIANGLE} 3-ca hole", FAIL),
    ("CD-1", f"{_TRIANGLE} 3-ac hole", UNKNOWN),
    ("CD-1", "1+a>3 1+b>2 2+c>3 2-b 3-ca", PASS),  # c was sent before 2 knew
    ("CD-1", "1+a>3 1+b>3 3-ba", FAIL),  # one process's own order
    ("CD-1", "1+a>2,3 2-a 2+b>3 3-ba", FAIL),  # CEX3: multicast
    ("CD-1", f"{_TRIANGLE} x1 3-c", PASS),  # what a dead process sent may never come
    ("CD-1", "2-a", UNKNOWN),  # nobody sent it
    # CD-2
    ("CD-2", f"{_TRIANGLE} 3-ac end", PASS),
    ("CD-2", f"{_TRIANGLE} 3-a end", FAIL),  # stuck in the queue
    ("CD-2", f"{_TRIANGLE} 3-a limit", UNKNOWN),
    ("CD-2", f"{_TRIANGLE} 3-a hole end", UNKNOWN),
    ("CD-2", f"{_TRIANGLE} x3 end", FAIL),  # nobody was told that 3 has stopped
    ("CD-2", f"{_TRIANGLE} x3 1!3,peer_is_silent end", FAIL),  # 2 was not
    ("CD-2", f"{_TRIANGLE} x3 1!3,peer_is_silent 2!3,peer_is_silent end", PASS),
    ("CD-2", f"{_TRIANGLE} x3 1!3,peer_is_silent 2!3,peer_was_restarted end", PASS),
    ("CD-2", f"{_TRIANGLE} x3 hole end", UNKNOWN),
    ("CD-2", "1!3,peer_is_silent 1+a>3 x3 end", FAIL),  # that was before
    ("CD-2", "1+a>3 n3<cmd.DATA/1a x3 end", PASS),  # it was there: 3 may have acknowledged it
    ("CD-2", "1+a>3 x3 n3<cmd.DATA/1a end", FAIL),  # it came to the host of a dead process
    ("CD-2", "1+a>3 x3 n3<cmd.DATA/1a r3 end", FAIL),
    ("CD-2", "1+a>3 x3 r3 n3<cmd.DATA/1a end", PASS),
    ("CD-2", "1+a>3 x1 end", PASS),
    ("CD-2", f"{_TRIANGLE} x1 end", PASS),  # c waits for a, which a dead process sent
    ("CD-2", f"{_TRIANGLE} x1 r1 end", FAIL),  # that came back, and said that a is lost
    ("CD-2", "1+a>3 1+b>2 2+c>3 2-b x1 end", FAIL),  # c does not know of a
    ("CD-2", "1+a>3 1!3,peer_is_silent end", PASS),  # the sender was told
    # a of 2, which 1 has delivered, was given up: b of 1 waits for it, and for b what the later life says after c
    ("CD-2", "2+a>1,3 2!3,peer_is_silent 1-a 1+b>3 x1 r1 1+c>3 3-c 1+d>3 end", PASS),
    ("CD-2", "2+a>1,3 2!3,peer_is_silent 1-a 1+b>3 x1 r1 1+c>3 1+d>3 end", FAIL),  # c itself waits for nothing
    ("CD-2", "2+a>1,3 2!3,peer_is_silent 1-a x1 r1 1+c>3 3-c 1+d>3 end", FAIL),
    ("CD-2", "1+a>3 3!1,peer_is_silent end", FAIL),  # the other one was
    ("CD-2", "1+a>3 1!3 end", FAIL),  # told something else
    # CD-3: at most 6 s-records among 3
    ("CD-3", "1+a>3/6 3-a", PASS),
    ("CD-3", "1+a>3/7 3-a", FAIL),
    ("CD-3", "1+a>3/7 3-a hole", FAIL),
    ("CD-3", "1+a>3/6 3-a hole", UNKNOWN),
    # CD-5, TV-CM-1
    ("CD-5", "1+a>3/0,1,0,0 1+b>2/1,2,0,0 2-b 2+c>3/1,2,2,0", PASS),
    ("CD-5", "1+a>3/0,1,0,0 1+b>2/1,2,0,0 2-b 2+c>3/1,1,2,0", FAIL),
    ("CD-5", "1+a>3/0,1,0,0 1+b>2/1,2,0,0 2-b 2+c>3/1,1,2,0 hole", UNKNOWN),
    ("CD-5", "1+a>3/0,1,0,0 x2 r2", UNKNOWN),
    # DC-1: causal order of what was delivered
    ("DC-1", f"{_TRIANGLE} 3-ac", PASS),
    ("DC-1", f"{_TRIANGLE} 3-c", PASS),  # a may have been late
    ("DC-1", f"{_TRIANGLE} 3-ca", FAIL),
    ("DC-1", f"{_TRIANGLE} 3-ac hole", UNKNOWN),
    # TAKEN
    ("TAKEN", "1+a>2 end", PASS),
    ("TAKEN", "1&a>2 end", FAIL),
    ("TAKEN", "1&a>2 x1 end", PASS),  # nobody knows of it any more
    ("TAKEN", "1&a>2 limit", UNKNOWN),
    ("TAKEN", "1&a>2 hole end", UNKNOWN),
    # PROGRESS
    ("PROGRESS", "1+a>2 heal 1+b>2 2-b end", PASS),
    ("PROGRESS", "1+a>2 2-a heal 1+b>2 end", FAIL),
    ("PROGRESS", "1+a>2 2-a heal 1&b>2 end", FAIL),  # never sent
    ("PROGRESS", "1+a>2 2-a heal 1+b>2 limit", UNKNOWN),
    ("PROGRESS", "1+a>2 2-a heal 1+b>2 hole end", UNKNOWN),
    ("PROGRESS", "1+a>2 2-a heal 1+b>2 x2 end", PASS),
    ("PROGRESS", "heal 1+b>2,3 2-b end", FAIL),  # 3 is stuck
    ("PROGRESS", "1+a>2 fault1 1+b>2 2-b heal end", PASS),  # nothing after the heal: since the last fault, then
    ("PROGRESS", "1+a>2 2-a fault1 1+b>2 heal end", FAIL),
    ("PROGRESS", "1&a>2 fault1 heal end", FAIL),
    ("PROGRESS", "1+a>2,3 2-a 3-a end", PASS),  # nothing was broken: the whole run counts
]


@pytest.mark.parametrize(("name", "line", "outcome"), CASES, ids=lambda value: str(value))
def test_judge(name: str, line: str, outcome: Outcome) -> None:
    (one,) = judge(history(line), [name])
    assert one.outcome is outcome, one


MS = 1_000_000


def says(line: str, name: str, options: DeltaOptions | None = None, unit_ns: int = MS) -> Outcome:
    (one,) = judge(history(line, options=options, unit_ns=unit_ns), [name])
    return one.outcome


# Tokens are 10 ms apart, Δ = 10 of that, ε = 0 unless said.

DEADLINES = [
    ("1+a>2 @4 2%a,0", 0, PASS),
    ("1+a>2 @10 2%a,0", 0, PASS),  # exactly Δ is in time (D-DC-4)
    ("1+a>2 @12 2%a,1", 0, FAIL),  # arrived 11 ms after its sending
    ("1+a>2 @15 2%a,6", 0, FAIL),  # arrived in time, held beyond its deadline
    ("1+a>2 @12 2/a", 0, PASS),
    ("1+a>2 @8 2/a", 0, FAIL),  # dropped though in time
    ("1+a>2 @8 2/a,overtaken", 0, FAIL),
    ("1+a>2 @8 2%a,0 hole", 0, UNKNOWN),
    ("1+a>2 @15 2%a,6 hole", 0, FAIL),
    ("1+a>2 @8 2-a", 0, UNKNOWN),  # no arrival noted
    ("2@5 1+a>2 @12 2%a,1", 5, FAIL),  # on its own clock it came too late
    ("2@5 1+a>2 @8 2%a,1", 6, PASS),
    ("2@5 1+a>2 @8 2/a", 6, FAIL),  # 8 ms under way, and clocks within ε
    ("2@5 1+a>2 @8 2/a", 0, PASS),  # clocks differ by more than ε: nothing is promised
    ("2@-20 1+a>2 @25 2%a,1", 20, PASS),
    ("1+a>2 n2<delta.DATA/1a @4 2%a,0 end", 0, PASS),
    ("1+a>2 n2<delta.DATA/1a end", 0, FAIL),  # it arrived, and vanished
    ("1+a>2 n2<delta.DATA/1a limit", 0, PASS),
    ("1+a>2 n2<delta.DATA/1a hole end", 0, UNKNOWN),
    ("1+a>2 n2<delta.DATA/1a 2/a,late end", 0, FAIL),
]


@pytest.mark.parametrize(("line", "epsilon", "outcome"), DEADLINES)
def test_deadlines(line: str, epsilon: int, outcome: Outcome) -> None:
    assert says(line, "DC-2", DeltaOptions(delta_ns=100 * MS, epsilon_ns=epsilon * 10 * MS), 10 * MS) is outcome


def test_a_deadline_that_nobody_set_cannot_be_judged() -> None:
    assert says("1+a>2 @4 2%a,0", "DC-2") is UNKNOWN
    assert says("1+a>2 @4 2%a,0", "DC-4") is UNKNOWN
    assert says("1+a>2 @4 2%a,0", "DC-3") is UNKNOWN


TAGS = [
    ("1+a>2#6 2%a,0,2", PASS),  # 2 entries for each of 3
    ("1+a>2#7 2%a,0,2", FAIL),
    ("1+a>2#6 2%a,0,3", FAIL),
    ("1+a>2#6 hole", UNKNOWN),
    ("1+a>2#7 hole", FAIL),
]


@pytest.mark.parametrize(("line", "outcome"), TAGS)
def test_tag_bound(line: str, outcome: Outcome) -> None:
    assert says(line, "DC-3", DeltaOptions(max_cb=2)) is outcome


_TIMED = _TRIANGLE.replace("2-b", "2%b,0")
WAITS = [
    # Table 3.8 of paper 002: m1 1->3 at 0, m2 1->2 at 1, m3 2->3; Δ = 5. One is 5 ms.
    (f"{_TIMED} @3.5 @4.5 3%a,0 @4.5 3%c,1,1", PASS),  # c came at 3.5 and waited for a
    (f"{_TIMED} @3.2 3%a,0 @4.5 3%c,1,1", FAIL),  # a was there all the time
    (f"{_TIMED} @5.1 3%c,1.5,1", PASS),  # a expired at 5
    (f"{_TIMED} @6.5 3%c,3,1", FAIL),  # and was waited for still
    (f"{_TIMED} @6.5 3%c,3,2", PASS),  # MAX_CB entries: it may wait
    (f"{_TIMED} @5.1 3%c,1.5,1 hole", UNKNOWN),
    (f"{_TIMED} @4.5 3-c", UNKNOWN),
    ("1+b>2 @3 2%b,1,0", FAIL),  # nothing before it
    ("3@1 1+a>3 @2 3%a,0,0", PASS),
    ("3@-3 1+a>3 @3.1 3%a,2,0", PASS),  # R0: its clock had to reach TS
]


@pytest.mark.parametrize(("line", "outcome"), WAITS)
def test_unnecessary_waits(line: str, outcome: Outcome) -> None:
    assert says(line, "DC-4", DeltaOptions(delta_ns=25 * MS, max_cb=2), 5 * MS) is outcome


# Happened-before, against its definition.


def random_history(seed: int) -> Evidence:
    chance = random.Random(seed)
    nodes = range(1, chance.randint(3, 5))
    under_way: list[tuple[str, int]] = []
    tokens = []
    for name in "abcdefghijklmno":
        while under_way and chance.random() < 0.6:
            message, node = under_way.pop(chance.randrange(len(under_way)))
            tokens.append(f"{node}-{message}")
        sender = chance.choice(nodes)
        others = [node for node in nodes if node != sender]
        to = sorted(chance.sample(others, chance.randint(1, len(others))))
        tokens.append(f"{sender}+{name}>{','.join(map(str, to))}")
        under_way += [(name, node) for node in to]
    chance.shuffle(under_way)
    tokens += [f"{node}-{message}" for message, node in under_way if chance.random() < 0.9]
    return history(" ".join(tokens), len(nodes))


def causes(one: Evidence) -> dict[Event, set[Event]]:
    """Event -> everything in its causal past, itself included, straight from the definition."""
    past: dict[Event, set[Event]] = {}
    last: dict[int, Event] = {}
    sent: dict[tuple[int, int], Event] = {}
    for event in one.notes:
        if event.kind.name not in ("SENT", "DELIVERED"):
            continue
        mine = {event}
        if event.node in last:
            mine |= past[last[event.node]]
        key = (event.about, event.seq)
        if event.kind.name == "SENT":
            sent[key] = event
        else:
            mine |= past[sent[key]]
        past[event] = mine
        last[event.node] = event
    return past


def test_causal_past_and_vector_time_are_the_definition(every_seed: EverySeed) -> None:
    def compare(seed: int) -> None:
        one = random_history(seed)
        facts = Facts(one)
        found = causal_past(facts)
        vectors = vector_times(facts, found)
        for event, past in causes(one).items():
            if event.kind.name != "SENT":
                continue
            message = facts.keys.index((event.about, event.seq))
            for process, life in enumerate(facts.lives):
                mine = [other for other in past if other.node == life.node]
                assert found.vectors[message, process] == sum(o.kind.name == "SENT" for o in mine)
                assert vectors[message, process] == len(mine)

    every_seed(range(200), compare)


def causal_by_definition(one: Evidence) -> bool:
    past = causes(one)
    sent = {(event.about, event.seq): event for event in one.notes if event.kind.name == "SENT"}
    log: dict[int, list[Event]] = {node: [] for node in one.nodes}
    for event in one.notes:
        if event.kind.name == "DELIVERED":
            for other in past[sent[event.about, event.seq]]:
                before = {(e.about, e.seq) for e in log[event.node]}
                before.add((event.about, event.seq))
                to_me = other.kind.name == "SENT" and event.node in other.peers
                if to_me and (other.about, other.seq) not in before:
                    return False
            log[event.node].append(event)
    return True


def test_causal_order_is_the_definition(every_seed: EverySeed) -> None:
    seen = set()

    def compare(seed: int) -> None:
        one = random_history(seed)
        expected = causal_by_definition(one)
        seen.add(expected)
        assert type(causal_order(Facts(one))).__name__ == ("Holds" if expected else "Broken")

    every_seed(range(400), compare)
    assert every_seed.only is not None or seen == {True, False}
