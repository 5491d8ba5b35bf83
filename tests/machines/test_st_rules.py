"""The small rules of ST by themselves: lines, sorting, flow, acceptance, bitmaps; refused input; golden bytes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from nodes.machine import Log, Output, Received, Setting, Submit
from nodes.st.lines import Evidence, agreed_line, closure, partition, prefix_line, printed_line, sort_rear
from nodes.st.machine import St
from nodes.st.minima import Minima
from nodes.st.options import StOptions
from nodes.st.round import bitmap, is_held
from nodes.st.rules import (
    accept_next,
    fixed_order,
    printed_accept_next,
    printed_arrival_order,
    printed_window_open,
    window_open,
)
from nodes.wire import Pdu, decode_untrusted, encode
from nodes.wire.note import NoteKind
from nodes.wire.raw import RawData
from nodes.wire.st import NEED, RETX, DataBlock, StData, StRst, StRstAck, StRstPak
from tests.helpers.typed import golden


def pdu(name: str, src: int, tseq: int, pseq: tuple[int, ...], dst: tuple[int, ...]) -> StData:
    n = len(pseq)
    return StData(
        src=src,
        cluster=1,
        n=n,
        flags=NEED,
        epoch=0,
        tseq=tseq,
        buf=9,
        dst=dst,
        ack=(1,) * n,
        pseq=pseq,
        payload=name.encode(),
    )


def pak(src: int, a_t: tuple[int, ...], a_p: tuple[int, ...]) -> StRstPak:
    return StRstPak(src=src, cluster=1, n=len(a_t), flags=0, epoch=1, tseq=1, a_t=a_t, a_p=a_p)


FIGURE_2 = {  # the table of the example: name, source, TSEQ, PSEQ, destinations
    "a": pdu("a", 1, 1, (1, 1, 1), (2, 3)),
    "x": pdu("x", 3, 1, (1, 1, 1), (1, 2, 3)),
    "b": pdu("b", 1, 2, (1, 2, 2), (2,)),
    "c": pdu("c", 1, 3, (1, 3, 2), (1, 3)),
    "p": pdu("p", 2, 1, (1, 1, 1), (1,)),
    "y": pdu("y", 3, 2, (2, 2, 2), (2,)),
    "z": pdu("z", 3, 3, (2, 3, 2), (1, 3)),
    "q": pdu("q", 2, 2, (2, 1, 1), (2, 3)),
}
EXAMPLE_2 = {1: "xcpz", 2: "axbyq", 3: "axzq"}
SNAPSHOTS = {
    1: pak(1, (4, 3, 4), (2, 2, 3)),
    2: pak(2, (4, 3, 4), (3, 2, 3)),
    3: pak(3, (3, 3, 4), (2, 2, 3)),
}


def log(names: str) -> list[DataBlock]:
    return [FIGURE_2[name] for name in names]


def names(pdus: list[DataBlock]) -> str:
    return "".join(p.payload.decode() for p in pdus if isinstance(p, StData))


def cut(rule: object, me: int) -> str:
    evidence = Evidence(me, agreed_line(list(SNAPSHOTS.values())), SNAPSHOTS)
    front, rear = rule(log(EXAMPLE_2[me]), evidence)  # type: ignore[operator]
    return f"{names(front)}|{names(rear)}"


def test_lines_of_example_2() -> None:
    """TV-ST-5: figure 6 is the closure; the printed test does not give it, the repaired cut needs no closure."""
    assert agreed_line(list(SNAPSHOTS.values())) == (3, 3, 4)
    assert [cut(partition, i) for i in (1, 2, 3)] == ["xpz|c", "axbyq|", "axzq|"]
    figure_6 = closure({i: log(EXAMPLE_2[i]) for i in (1, 2, 3)}, SNAPSHOTS)
    assert figure_6 == {1: 1, 2: 4, 3: 2}  # indices (2,5,3), counted from 1
    assert [cut(printed_line, i) for i in (1, 2, 3)] == ["xcp|z", "ax|byq", "axzq|"]
    assert [cut(prefix_line, i) for i in (1, 2, 3)] == ["x|cpz", "axbyq|", "axzq|"]


def test_final_logs_of_example_2() -> None:
    recovered = {1: "xcpz", 2: "axbyq", 3: "axzqc"}
    logs = []
    for me, received in recovered.items():
        front, rear = partition(log(received), Evidence(me, (3, 3, 4), SNAPSHOTS))
        logs.append(names(front + sort_rear(rear, (1, 2, 3))))
    assert logs == ["xpzc", "axbyq", "axzqc"]
    lines = {1: 1, 2: 4, 3: 2}  # with the closure, for comparison
    for order, expected in (((2, 1, 3), ["xpcz", "axbyq", "axqcz"]), ((1, 2, 3), ["xcpz", "axbyq", "axcqz"])):
        logs = [log(received) for received in recovered.values()]  # type: ignore[misc]
        got = [
            names(one[: lines[i]] + sort_rear(one[lines[i] :], order))  # type: ignore[arg-type,operator]
            for i, one in zip((1, 2, 3), logs, strict=True)
        ]
        assert got == expected


def test_sort_of_example_3() -> None:
    """TV-ST-6, figure 7: RST_PAKs came from E2, E1, E3."""
    rears = {
        1: [("b", 1, 4), ("x", 3, 5), ("a", 1, 3), ("q", 2, 6)],
        2: [("a", 1, 5), ("q", 2, 4), ("b", 1, 6)],
        3: [("y", 3, 8), ("x", 3, 7), ("c", 1, 5), ("p", 2, 2)],
    }
    sorted_ = [
        names(sort_rear([pdu(name, src, number, (number,) * 3, (me,)) for name, src, number in rear], (2, 1, 3)))
        for me, rear in rears.items()
    ]
    assert sorted_ == ["qabx", "qab", "pcxy"]


def test_order_of_sources() -> None:
    assert list(fixed_order(3, [2, 1, 3])) == [1, 2, 3]
    assert list(printed_arrival_order(3, [2, 1])) == [2, 1, 3]


def test_flow_condition() -> None:
    """TV-ST-7: W=8, H=1, n=4, minBUF=12."""
    limit = min(8, 12 // 4)
    assert [printed_window_open(limit, 0, tseq, 5) for tseq in (5, 6, 7, 8)] == [True, True, True, False]
    assert [window_open(limit, unacknowledged, 99, 5) for unacknowledged in (0, 2, 3)] == [True, True, False]
    members = (1, 2, 3, 4)
    for window, buffers, open_to in ((8, 12, 3), (8, 400, 8), (2, 400, 2), (8, 3, 1)):
        machine = St(Setting(me=1, members=members, seed=1, slot_ns=10, buffer_pdus=buffers), StOptions(window=window))
        for number in range(1, 20):
            machine.step(Submit(number, members, b""), 1)
        assert machine.counters()["data"] == open_to


def test_acceptance() -> None:
    """D-ST-2: PDUs 1 and 2 were not for me, 1 was lost; the printed rule never takes anything again."""
    for tseq in (2, 3):
        assert accept_next(tseq, 1, 1, 1, mine=False)
        assert not printed_accept_next(tseq, 1, 1, 1, mine=False)
    assert printed_accept_next(3, 1, 1, 1, mine=True)
    assert not accept_next(3, 1, 2, 1, mine=False)  # it tells of one that was for me
    assert not accept_next(2, 3, 1, 1, mine=True)  # old


def test_bitmap() -> None:
    assert bitmap({6, 8, 37, 400}, 5, 2) == [0, 1 | 1 << 2 | 1 << 31]
    assert bitmap({38}, 5, 2) == [1, 0]
    chance = random.Random(3)
    for _ in range(200):
        lo, words = chance.randrange(1, 9), chance.randrange(0, 4)
        held = set(chance.sample(range(lo + 1, lo + 120), chance.randrange(40)))
        packed = bitmap(held, lo, words)
        assert len(packed) == words
        for number in range(lo, lo + 130):
            assert is_held(number, lo, packed) == (number in held and number <= lo + 32 * words)


def test_minima_against_a_plain_matrix() -> None:
    chance = random.Random(11)
    for _ in range(60):
        n = chance.randrange(2, 7)
        fast, plain, members = Minima(n), [[1] * n for _ in range(n)], set(range(n))
        for _ in range(60):
            what, j, k, value = chance.randrange(10), chance.randrange(n), chance.randrange(n), chance.randrange(20)
            if what < 7:
                vector = [chance.randrange(20) for _ in range(n)]
                fast.raise_column(j, vector)
                plain[j] = list(map(max, plain[j], vector))
            elif what == 7:
                fast.raise_one(j, k, value)
                plain[j][k] = max(plain[j][k], value)
            elif what == 8:
                fast.set_source(k, value)
                for row in plain:
                    row[k] = value
            else:
                members = set(chance.sample(range(n), chance.randrange(1, n + 1)))
                fast.count_only(frozenset(members))
            assert fast.minimum == [min(plain[j][k] for j in members) for k in range(n)]


# Bad input.


def machine(options: StOptions | None = None) -> St:
    return St(Setting(me=1, members=(1, 2, 3), seed=1, slot_ns=1000), options or StOptions())


def refusals(outputs: list[Output]) -> list[str]:
    return [o.text for o in outputs if isinstance(o, Log) and o.kind is NoteKind.REFUSED]


GOOD = pdu("x", 2, 1, (1, 1, 1), (1, 3))
BAD: list[tuple[Pdu, str]] = [
    (RawData(src=2, seq=1, ndest=0, dest=(), payload=b""), "foreign protocol"),
    (replace(GOOD, cluster=2), "foreign cluster"),
    (pdu("x", 2, 1, (1, 1), (1,)), "wrong size of the cluster"),
    (replace(GOOD, src=4), "source outside the cluster"),
    (replace(GOOD, src=0), "source outside the cluster"),
    (replace(GOOD, ack=(7, 1, 1)), "acknowledges what was not sent"),
    (replace(GOOD, tseq=0), "number zero"),
    (replace(GOOD, pseq=(0, 1, 1)), "number zero"),
    (pak(2, (9, 1, 1), (1, 1, 1)), "acknowledges what was not sent"),
]


@pytest.mark.parametrize(("bad", "why"), BAD, ids=[why for _, why in BAD])
def test_bad_pdus_are_refused_and_harm_nothing(bad: Pdu, why: str) -> None:
    one = machine()
    assert refusals(one.step(Received(bad), 5)) == [why]
    assert one.counters()[f"refused_{why.replace(' ', '_')}"] == 1
    assert one.settled() and one.deadline is None
    assert refusals(one.step(Received(GOOD), 6)) == []
    assert one.transfer.log.treq == [1, 2, 1]


def test_stale_and_repeated_pdus_are_counted() -> None:
    one = machine()
    one.step(Received(GOOD), 5)
    one.step(Received(GOOD), 6)
    one.step(Received(replace(GOOD, flags=RETX)), 7)
    assert one.counters()["known"] == 1 and len(one.transfer.log.rrl) == 1
    one.core.phase.epoch = 3
    one.step(Received(replace(GOOD, tseq=2)), 8)
    one.step(Received(pak(2, (1, 1, 1), (1, 1, 1))), 9)
    assert one.counters()["stale"] == 2
    for tseq in range(2, 200):
        one.step(Received(replace(GOOD, tseq=tseq, epoch=9)), 9)
    assert one.counters()["future_dropped"] == 198 - 9 * 3


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (Submit(1, (), b"x"), "no destination"),
        (Submit(1, (1, 4), b"x"), "destination outside the cluster"),
        (Submit(1, (0,), b"x"), "destination outside the cluster"),
        (Submit(1, (2,), bytes(1025)), "payload over 1024 bytes"),
    ],
)
def test_bad_submissions_are_refused(request_: Submit, why: str) -> None:
    one = machine()
    assert refusals(one.step(request_, 5)) == [why]
    assert one.settled() and one.counters()["refused_submissions"] == 1


def test_forged_pdus_never_break_the_machine() -> None:
    """Whatever decodes may come, in any order; nothing is raised, and no step takes long."""
    chance = random.Random(17)

    def vector() -> tuple[int, ...]:
        return tuple(chance.choice((0, 1, 2, 3, 2**31, 2**32 - 1)) for _ in range(3))

    for _ in range(300):
        one = machine(StOptions(recovery=chance.choice(("selective", "range", "go_back"))))
        now = 0
        for _ in range(40):
            now += chance.randrange(40_000)
            common = {
                "src": chance.randrange(5),
                "cluster": 1,
                "n": 3,
                "flags": chance.randrange(16),
                "epoch": chance.choice((0, 1, 1, 2)),
                "tseq": chance.choice((0, 1, 2, 2**32 - 1)),
            }
            which = chance.randrange(5)
            forged: Pdu
            if which == 0:
                one.step(Submit(1, (1, 2, 3), b"x"), now)
                continue
            if which == 1:
                dst = tuple(sorted(chance.sample((1, 2, 3), chance.randrange(4))))
                forged = StData(**common, buf=3, dst=dst, ack=vector(), pseq=vector(), payload=b"")
            elif which == 2:
                forged = StRst(**common, a_t=vector(), a_p=vector())
            elif which == 3:
                forged = StRstPak(**common, a_t=vector(), a_p=vector())
            else:
                words = chance.randrange(3)
                held = tuple(chance.randrange(2**32) for _ in range(3 * words))
                forged = StRstAck(
                    **common, a_t=vector(), a_p=vector(), d=vector(), c=vector(), lo=vector(), words=words, held=held
                )
            one.step(Received(decode_untrusted(encode(forged))), now)


# The wire.


def test_golden_bytes_of_data() -> None:
    """An ST DATA from E2 to E1 and E3 in a cluster of three, typed by hand from the table's diagram."""
    one = StData(
        src=2,
        cluster=7,
        n=3,
        flags=NEED,
        epoch=5,
        tseq=9,
        buf=64,
        dst=(1, 3),
        ack=(4, 9, 2),
        pseq=(3, 1, 6),
        payload=b"hi",
    )
    golden(
        one,
        "7475 22 01 0002 0038",  # magic, version 2 of protocol 2, DATA, from 2, 56 bytes
        "0007 03 01 00000005 00000009"  # cluster, n, NEED, epoch, TSEQ
        "0040 00000005"  # BUF, destinations 1 and 3
        "00000004 00000009 00000002"  # ACK
        "00000003 00000001 00000006"  # PSEQ
        "6869",
    )


def test_golden_bytes_of_the_round() -> None:
    common = {"src": 3, "cluster": 1, "n": 2, "epoch": 1, "tseq": 8}
    vectors = {"a_t": (1, 2), "a_p": (3, 4)}
    body = "0001 02 00 00000001 00000008 00000001 00000002 00000003 00000004"
    golden(StRst(**common, **vectors, flags=0), "7475 22 02 0003 0028", body)  # type: ignore[arg-type]
    golden(StRstPak(**common, **vectors, flags=0), "7475 22 03 0003 0028", body)  # type: ignore[arg-type]
    golden(
        StRstAck(**common, **vectors, flags=12, d=(5, 6), c=(7, 8), lo=(9, 10), words=1, held=(1, 2**31)),  # type: ignore[arg-type]
        "7475 22 04 0003 0049",
        "0001 02 0c 00000001 00000008 00000001 00000002 00000003 00000004"
        "00000005 00000006 00000007 00000008 00000009 0000000a 01 00000001 80000000",
    )
