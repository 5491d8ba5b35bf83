"""The judges of what every protocol owes, of order equivalence and of ST, on histories in one line each."""

from __future__ import annotations

import random

import pytest

from captures.evidence import Evidence
from harness.judges import Outcome, Verdict, judge
from harness.judges.facts import Facts
from harness.judges.order import order_equivalent
from tests.helpers.notation import history
from tests.helpers.seeds import EverySeed

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN


def verdict(line: str, name: str, nodes: int = 3) -> Verdict:
    (one,) = judge(history(line, nodes), [name])
    return one


CASES = [
    # no creation
    ("NC", "1+a>2,3 2-a 3-a", PASS),
    ("NC", "2-q", FAIL),  # nobody sent q
    ("NC", "1+a>2 3-a", FAIL),  # not for 3
    ("NC", "2-q hole", UNKNOWN),  # the SENT may be in the hole
    ("NC", "1+a>2 3-a hole", FAIL),  # the SENT was seen, and 3 is not in it
    ("NC", "1+a>2,3 2-a hole", UNKNOWN),
    # no alteration
    ("NA", "1+a=5 1-a#5 2-a#5", PASS),
    ("NA", "1+a=5 2+b=6 1-a#5 1-b#6 2-a#6", FAIL),  # the bytes of another message
    ("NA", "1+a=5 2-a#6 hole", FAIL),
    ("NA", "1+a=5 2-a#5 hole", UNKNOWN),
    ("NA", "1+a=5 1-a#5 2-a", UNKNOWN),  # 2 does not say
    ("NA", "1+a 2-a#5", UNKNOWN),  # nobody knows what was submitted
    ("NA", "1&a=5 1+b=6 2-b#6", PASS),  # by the number of the submission
    ("NA", "1+a=5 2-a#5 x1 r1 1+b=6 2-b#6", PASS),  # which begins again with each start
    ("NA", "1+a=5 2-a#5 x1 r1 1+b=6 2-b#5", FAIL),
    ("NA", "2-q#5", PASS),  # nobody sent it, which is NC's
    # no duplication
    ("ND", "1+a 1-a 2-a 3-a", PASS),
    ("ND", "1+a 2-a 3-a 2-a", FAIL),
    ("ND", "1+a 2-a hole 2-a", FAIL),
    ("ND", "1+a 2-a hole", UNKNOWN),
    ("ND", "1+a 2-a x2 r2 2-a", PASS),  # told again after it lost its memory
    # per-source order
    ("SO", "1+a 1+b 2-ab 3-b", PASS),
    ("SO", "1+a 1+b 2-ab 3-ba", FAIL),
    ("SO", "1+a 2+b 2-ab 3-ba", PASS),  # two sources
    ("SO", "1+a 1+b 2-ab hole", UNKNOWN),
    # order equivalence
    ("OE", "1+a 2+b 1-ab 2-ab 3-ab", PASS),
    ("OE", "1+a 2+b 1-ab 2-ba", FAIL),
    ("OE", "1+a 2+b hole 1-ab 2-ba", FAIL),
    ("OE", "1+a 2+b hole 1-ab 2-ab", UNKNOWN),
    ("OE", "1+a 2+b 3+c 1-ab 2-bc 3-ca", PASS),  # a cycle, but no pair of logs shares two messages
    ("OE", "1+a 2+b 3+c 1-acb 2-bc 3-ca", FAIL),
    # ST-1
    ("ST-1", "1+a>2,3 2-a 3-a", PASS),
    ("ST-1", "1+a>2,3 2-a 2-a", FAIL),
    ("ST-1", "1+a>2 3-a", FAIL),
    ("ST-1", "1+a>2 2-a hole", UNKNOWN),
    # ST-2
    ("ST-2", "1+a>2 1+b>3 1+c>2 2-ac 3-b", PASS),
    ("ST-2", "1+a>2 1+b>3 1+c>2 2-c 3-b", FAIL),  # c without a
    ("ST-2", "1+a>2 1+b>3 1+c>2 2-c 2-a", FAIL),
    ("ST-2", "1+a>2 1+c>2 hole 2-c", UNKNOWN),  # 2-a may be in the hole
    ("ST-2", "1+a>2 1+c>2 2-a", PASS),  # a prefix
    # ST-3
    ("ST-3", "1+a>2,3 2+b>2,3 2-ab 3-ab", PASS),
    ("ST-3", "1+a>2,3 2+b>2,3 2-ab 3-ba", FAIL),
    ("ST-3", "1+a>2,3 2+b>2,3 2-ab hole", UNKNOWN),
    # ST-4
    ("ST-4", "1+a>2,3 2-a 3-a end", PASS),
    ("ST-4", "1+a>2,3 2-a end", FAIL),
    ("ST-4", "1+a>2,3 2-a limit", UNKNOWN),
    ("ST-4", "1+a>2,3 2-a", UNKNOWN),
    ("ST-4", "1+a>2,3 2-a hole end", UNKNOWN),
    ("ST-4", "1+a>2,3 2-a x3 end", PASS),  # 3 is dead
    # ST-5
    ("ST-5", "1+a>2,3 2^a 3^a 2-a 3-a", PASS),
    ("ST-5", "1+a>2,3 2^a 2-a 3^a 3-a", FAIL),
    ("ST-5", "1+a>2,3 2^a 2-a", FAIL),
    ("ST-5", "1+a>2,3 2^a 2-a hole", UNKNOWN),
    ("ST-5", "1+a>2,3 2^a 2-a 3^a hole", FAIL),
    ("ST-5", "1+a>2,3 2-a", UNKNOWN),  # nobody notes acceptances
    # ST-6
    ("ST-6", "1+a n1>st.DATA/1#1:2", PASS),
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1>st.DATA/1#2:2 n2>st.DATA/2#7:2 n1>st.DATA/1#1:3", PASS),
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1>st.DATA/1#1:2", FAIL),
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1<st.RST_ACK/2:2 n1>st.DATA/1#1:2", PASS),  # it still lacks something
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1<st.RST_ACK/2:2 n1>st.DATA/1#1:2 n1>st.DATA/1#1:2", FAIL),
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1<st.RST_ACK/2:1 n1>st.DATA/1#1:2", FAIL),  # in another round
    ("ST-6", "1+a n1>st.DATA/1#1:2 n2>st.RST_ACK/2:2 n1>st.DATA/1#1:2", FAIL),  # that did not come
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1>st.RST_ACK/1:2 n1>st.DATA/1#1:2", PASS),  # its own copy was lost (D-ST-22) ...
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1<st.RST_ACK/1:2 n1>st.DATA/1#1:2", FAIL),  # ... and is not counted when it is back
    ("ST-6", "1+a n1>st.DATA/1#1:2 n1>st.DATA/1#1:2 hole", UNKNOWN),
    # the paper's words
    ("IP", "1+a>2 1-a 2-a 3-a end", PASS),
    ("IP", "1+a>2 2-a end", FAIL),
    ("IP", "1+a>2 2-a limit", UNKNOWN),
    ("IE", "1+a 1+b 1-a 2-a 3-a end", PASS),
    ("IE", "1+a 1+b 1-ab 2-a 3-a end", FAIL),
    ("IE", "1+a 1+b 1-a 2-a 3-a", UNKNOWN),
    ("SIP", "1+a>2 2-a end", PASS),
    ("SIP", "1+a>2,3 2-a end", FAIL),
    ("SIP", "1+a>2,3 2-a limit", UNKNOWN),
    ("SC", "1+a>2 1+b>2 2-ab end", PASS),
    ("SC", "1+a>2 1+b>2 2-ba end", FAIL),
    ("SC", "1+a>2 1+b>2 2-ab limit", UNKNOWN),
]


@pytest.mark.parametrize(("name", "line", "outcome"), CASES, ids=lambda value: str(value))
def test_judge(name: str, line: str, outcome: Outcome) -> None:
    one = verdict(line, name)
    assert one.outcome is outcome, one
    assert (one.outcome is FAIL) == bool(one.events) == bool(one.excerpt)


# The paper's own figures (000 §2). Names as printed; the channel order is that of figure 2.

_FIGURE_2 = "1+a 3+x 1+b 1+c 2+p 3+y 3+z 2+q 1-axbcpyzq 2-axbpyzq 3-axbcpyz end"
_SENDS = "1+a>2,3 3+x>1,2,3 1+b>2 1+c>1,3 2+p>1 3+y>2 3+z>1,3 2+q>2,3"
_FIGURE_3 = f"{_SENDS} 1-xcpz 2-axbyq 3-xaczq end"
_FIGURE_4 = f"{_SENDS} 1-xcpz 2-axbyq 3-axczq end"


def says(line: str, *names: str) -> list[Outcome]:
    return [one.outcome for one in judge(history(line), names)]


def test_figure_2_a_channel_is_order_equivalent_but_preserves_no_information() -> None:
    assert says(_FIGURE_2, "OE", "SO", "NC", "ND") == [PASS] * 4
    assert says(_FIGURE_2, "IP", "IE", "SIP", "ST-4") == [FAIL] * 4


def test_figure_3_sp_is_selectively_correct_but_not_st() -> None:
    assert says(_FIGURE_3, "SC", "ST-1", "ST-2", "ST-4") == [PASS] * 4
    one = verdict(_FIGURE_3, "ST-3")
    assert one.outcome is FAIL
    # (a, x) between E2 and E3, and nothing else, is what the paper shows.
    assert [(event.node, event.about, event.seq) for event in one.events] == [
        (2, 1, 1),
        (2, 3, 1),
        (3, 3, 1),
        (3, 1, 1),
    ]
    assert len(one.excerpt) == 6


def test_figure_4_st_holds_altogether() -> None:
    assert says(_FIGURE_4, "SC", "ST-1", "ST-2", "ST-3", "ST-4") == [PASS] * 5


# The judge's shortcut against the definition, word by word.


def order_equivalent_by_definition(one: Evidence) -> bool:
    logs: dict[int, list[tuple[int, int]]] = {}
    for event in one.notes:
        if event.kind.name == "DELIVERED":
            logs.setdefault(event.node, []).append((event.about, event.seq))
    for i in logs.values():
        for j in logs.values():
            shared = [message for message in i if message in j]
            if [message for message in j if message in i] != shared:
                return False
    return True


def random_line(seed: int) -> str:
    """A few nodes deliver parts of one order; now and then two neighbours change places."""
    chance = random.Random(seed)
    names = "abcdefgh"[: chance.randint(2, 8)]
    line = [f"{chance.randint(1, 4)}+{name}" for name in names]
    for node in range(1, 5):
        log = [name for name in names if chance.random() < 0.7]
        if len(log) > 1 and chance.random() < 0.3:
            at = chance.randrange(len(log) - 1)
            log[at], log[at + 1] = log[at + 1], log[at]
        line += [f"{node}-{name}" for name in log]
    sends, rest = line[: len(names)], line[len(names) :]
    order = sorted(range(len(rest)), key=lambda index: (chance.random() * 20 + index, index))
    by_node: dict[str, list[str]] = {}
    for token in rest:
        by_node.setdefault(token[0], []).append(token)
    return " ".join(sends + [by_node[rest[index][0]].pop(0) for index in order])


def test_order_equivalence_is_the_definition(every_seed: EverySeed) -> None:
    seen = set()

    def compare(seed: int) -> None:
        one = history(random_line(seed), 4)
        expected = order_equivalent_by_definition(one)
        seen.add(expected)
        found = type(order_equivalent(Facts(one))).__name__
        assert found == ("Holds" if expected else "Broken"), random_line(seed)

    every_seed(range(1500), compare)
    assert every_seed.only is not None or seen == {True, False}


def test_a_candidate_order_alone_would_convict_the_innocent() -> None:
    # By first delivery b comes before a, at 3 alone: a judge that stopped at the candidate order would call 2 wrong.
    assert verdict("1+a 1+b 3-b 2-a 2-b 1-a", "OE").outcome is PASS


def test_the_excerpt_is_the_closest_pair() -> None:
    one = verdict("1+a 1+b 2+c 2+d 1-abcd 2-dbac", "OE")
    assert {(event.about, event.seq) for event in one.events} == {(1, 1), (1, 2)}  # a and b, not c and d
    assert len(one.excerpt) == 6


def test_a_judge_that_throws_has_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.judges import base

    def throw(facts: Facts) -> base.Finding:
        raise ZeroDivisionError("no")

    monkeypatch.setitem(base._judges, "THROWS", base.Judge("THROWS", "it throws", throw))
    one = verdict("1+a 2-a end", "THROWS")
    assert one.outcome is UNKNOWN
    assert "ZeroDivisionError" in one.sentence


def test_an_unknown_property_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="ST-3"):
        judge(history("1+a"), ["st-3"])


def test_nothing_delivered_is_judged_too() -> None:
    assert says("end", "NC", "ND", "SO", "OE", "ST-1", "ST-2", "ST-3", "ST-4", "ST-5", "IP", "IE", "SC") == [PASS] * 12
