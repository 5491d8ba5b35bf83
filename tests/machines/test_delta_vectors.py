"""delta: the scripted runs of paper 002, at exact times, and one run for each rule that does not hold as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from harness.world import Clock, World
from nodes.delta.machine import Delta
from nodes.delta.options import DeltaOptions, Printed
from nodes.machine import Log, Received, Send, Setting, Submit, Wake
from nodes.wire import Pdu
from nodes.wire.delta import DeltaData
from nodes.wire.note import NoteKind
from tests.helpers.verdicts import out_of_order

UNIT = 1_000_000  # one unit of time of the paper's figures, in ns
START = 1_000_000_000
DELTA_5 = DeltaOptions(delta_ns=5 * UNIT)

Delays = Mapping[tuple[bytes, int], float]  # (payload, receiver) -> units


def at(units: float) -> int:
    return START + round(units * UNIT)


class Script:
    """Three processes; messages sent at given times or in answer to a delivery, with given delays."""

    def __init__(
        self, options: DeltaOptions, delays: Delays, clocks: Mapping[int, Clock] | None = None, n: int = 3
    ) -> None:
        self.world = World()
        members = tuple(range(1, n + 1))
        for me in members:
            machine = Delta(Setting(me=me, members=members, seed=0), options)
            self.world.add(me, machine, (clocks or {}).get(me, lambda now: now))
        self.world.mesh(lambda pdu, to, now: self._delay(pdu, to, delays))

    @staticmethod
    def _delay(pdu: Pdu, to: int, delays: Delays) -> int | None:
        assert isinstance(pdu, DeltaData)
        units = delays.get((pdu.payload, to))
        return None if units is None else round(units * UNIT)

    def send(self, units: float, source: int, to: tuple[int, ...], name: bytes) -> None:
        self.world.at(at(units), lambda: self.world.submit(source, to, name))

    def run(self) -> Script:
        self.world.run()
        assert self.world.settled()
        return self

    def name(self, about: int, seq: int) -> str:
        pdus = [pdu for _, pdu in self.world.sent if isinstance(pdu, DeltaData)]
        return next(pdu.payload.decode() for pdu in pdus if (pdu.src, pdu.seq) == (about, seq))

    def deliveries(self, node: int) -> list[tuple[str, int]]:
        return [
            (self.name(event.about, event.seq), event.time_ns)
            for event in self.world.history().notes
            if event.node == node and event.kind is NoteKind.DELIVERED
        ]

    def tag(self, name: bytes, destination: int) -> set[tuple[int, int]]:
        """CB_m[destination] as it went over the wire."""
        pdu = next(pdu for _, pdu in self.world.sent if isinstance(pdu, DeltaData) and pdu.payload == name)
        before = sum(pdu.counts[: destination - 1])
        return {(entry[0], entry[1]) for entry in pdu.cb[before : before + pdu.counts[destination - 1]]}


def triangle(s: float, m3: float, m1: float, max_cb: int) -> Script:
    """m1: P1 to P3 at 0; m2: P1 to P2 at 1, there at 2; m3: P2 to P3 at s. m3 and m1 arrive at the times given."""
    script = Script(replace(DELTA_5, max_cb=max_cb), {(b"m1", 3): m1, (b"m2", 2): 1, (b"m3", 3): m3 - s})
    script.send(0, 1, (3,), b"m1")
    script.send(1, 1, (2,), b"m2")
    script.send(s, 2, (3,), b"m3")
    return script.run()


SOON_AFTER_5 = at(5) + 1  # 5+: the first instant after m1's limit

# s(m3), arrival of m3, of m1, does m3 name m1?, deliveries with MAX_CB = 2, with MAX_CB = 1 (units; None: 5+)
TRIANGLES: list[tuple[float, float, float, bool, dict[str, float | None], dict[str, float | None]]] = [
    (3.0, 3.5, 4.5, True, {"m1": 4.5, "m3": 4.5}, {"m1": 4.5, "m3": None}),
    (3.0, 3.5, 5.0, True, {"m1": 5.0, "m3": 5.0}, {"m1": 5.0, "m3": None}),
    (3.0, 3.5, 5.5, True, {"m3": None}, {"m3": None}),
    (4.9, 5.2, 4.95, True, {"m1": 4.95, "m3": 5.2}, {"m1": 4.95, "m3": 5.2}),
    (5.0, 5.2, 4.95, True, {"m1": 4.95, "m3": 5.2}, {"m1": 4.95, "m3": 5.2}),
    (5.1, 5.2, 4.95, False, {"m1": 4.95, "m3": 5.2}, {"m1": 4.95, "m3": 5.2}),
]


@pytest.mark.parametrize(("s", "m3", "m1", "named", "two", "one"), TRIANGLES)
@pytest.mark.parametrize("max_cb", [1, 2])
def test_triangle(
    s: float, m3: float, m1: float, named: bool, two: dict[str, float | None], one: dict[str, float | None], max_cb: int
) -> None:
    """Paper 002, Fig. 1 and 3: to the nanosecond, with exactly Δ still in time (D-DC-4)."""
    script = triangle(s, m3, m1, max_cb)
    assert script.tag(b"m3", 3) == ({(1, at(0))} if named else set())
    expected = one if max_cb == 1 else two
    times = [(name, SOON_AFTER_5 if units is None else at(units)) for name, units in expected.items()]
    assert script.deliveries(3) == times
    assert inverted(script) == []


def test_the_wait_is_split_into_what_was_needed_and_what_was_not() -> None:
    """MAX_CB = 1, m1 there at 4.5: from then on m3 could go; it goes at 5+."""
    events = triangle(3.0, 3.5, 4.5, 1).world.history().notes
    m3 = next(event for event in events if event.node == 3 and event.kind is NoteKind.DELIVERED and event.about == 2)
    _, ts, waited_ns, unnecessary_ns, mine, entries = m3.values
    assert (ts, waited_ns, unnecessary_ns) == (at(3), SOON_AFTER_5 - at(3.5), SOON_AFTER_5 - at(4.5))
    assert (mine, entries) == (1, 1)


def test_a_late_message_is_named_when_it_is_refused() -> None:
    events = triangle(3.0, 3.5, 5.5, 2).world.history().notes
    refused = [event for event in events if event.kind is NoteKind.REFUSED]
    assert [(event.node, event.about, event.text, event.values) for event in refused] == [
        (3, 1, "late", (at(0), UNIT // 2))
    ]


# D-DC-1: whose time stamp R4 enters


def question_and_answer(printed: Printed) -> Script:
    """P1 multicasts q to {2, 3}; P2 answers with a to P3, which gets it before q."""
    script = Script(replace(DELTA_5, printed=printed), {(b"q", 2): 0.5, (b"q", 3): 3, (b"a", 3): 0.5})
    script.send(1, 1, (2, 3), b"q")
    script.send(2, 2, (3,), b"a")
    return script.run()


def test_the_answer_waits_for_the_question() -> None:
    script = question_and_answer(Printed())
    assert script.tag(b"a", 3) == {(1, at(1))}
    assert script.deliveries(3) == [("q", at(4)), ("a", at(4))]


def test_the_misprint_in_r4_waits_for_a_message_that_does_not_exist() -> None:
    script = question_and_answer(Printed(entry=True))
    assert script.tag(b"a", 3) == {(2, at(1))}
    assert script.deliveries(3) == [("q", at(4)), ("a", at(6) + 1)]  # in order by luck: q came before 1 + Δ


def inverted(script: Script) -> list[str]:
    """The two messages that a judge names, in the order of their delivery."""
    return [script.name(event.about, event.seq) for event in out_of_order(script.world.history())]


def older_message_of_the_answerer(printed: Printed) -> Script:
    """As before, but P3 has an older message x of P2 whose time stamp passes for that of the one waited for."""
    delays = {(b"x", 3): 0.1, (b"q", 2): 0.5, (b"q", 3): 3, (b"a", 3): 0.5}
    script = Script(replace(DELTA_5, printed=printed), delays)
    script.send(1, 1, (2, 3), b"q")
    script.send(1.2, 2, (3,), b"x")
    script.send(2, 2, (3,), b"a")
    return script.run()


def test_the_misprint_in_r4_delivers_the_answer_first() -> None:
    assert inverted(older_message_of_the_answerer(Printed())) == []
    assert inverted(older_message_of_the_answerer(Printed(entry=True))) == ["a", "q"]


# D-DC-2: time stamps that tie


def ticks(units: float) -> Clock:
    step = round(units * UNIT)
    return lambda now: now // step * step


def three_in_one_tick(printed: Printed) -> Script:
    """P1 sends x and m to P3 and q to P2, which answers with a to P3, all before its clock moves; m is slow."""
    delays = {(b"x", 3): 0.1, (b"m", 3): 2.5, (b"q", 2): 0.1, (b"a", 3): 0.1}
    script = Script(replace(DELTA_5, printed=printed), delays, dict.fromkeys((1, 2, 3), ticks(1)))
    for units, source, to, name in ((0, 1, 3, b"x"), (0.3, 1, 3, b"m"), (0.4, 1, 2, b"q"), (1.6, 2, 3, b"a")):
        script.send(units, source, (to,), name)
    return script.run()


def test_time_stamps_grow_within_one_tick() -> None:
    script = three_in_one_tick(Printed())
    assert [pdu.ts - at(0) for _, pdu in script.world.sent if isinstance(pdu, DeltaData)] == [0, 1, 2, UNIT]
    assert [name for name, _ in script.deliveries(3)] == ["x", "m", "a"]


def test_with_equal_time_stamps_one_message_passes_for_another() -> None:
    assert inverted(three_in_one_tick(Printed(stamp=True, overtaken=True))) == ["a", "m"]


# D-DC-3: a tick that frees several messages at once


def freed_together(printed: Printed) -> Script:
    """m0 is lost; m1 waits for it, m2 (after m1) for m1. One tick lets both expire; m2 was there first."""
    delays = {(b"m1", 2): 0.1, (b"m1", 3): 5, (b"m2", 3): 0.2}
    script = Script(replace(DELTA_5, printed=printed), delays, dict.fromkeys((1, 2, 3), ticks(4)))
    script.send(0, 1, (3,), b"m0")
    script.send(1, 1, (2, 3), b"m1")
    script.send(4.5, 2, (3,), b"m2")
    return script.run()


def test_what_one_tick_frees_goes_in_the_order_of_time_stamps() -> None:
    assert freed_together(Printed()).deliveries(3) == [("m1", at(8)), ("m2", at(8))]


def test_in_the_order_of_arrival_the_later_message_goes_first() -> None:
    script = freed_together(Printed(order=True, overtaken=True))
    assert script.deliveries(3) == [("m2", at(8)), ("m1", at(8))]
    assert inverted(script) == ["m2", "m1"]


# D-DC-9: clocks that differ by up to ε


def ahead(units: float) -> Clock:
    return lambda now: now + round(units * UNIT)


def test_r0_holds_a_message_until_the_local_clock_reaches_its_time_stamp() -> None:
    """ε = 1: P1's clock is one unit ahead. m reaches P2 when its clock shows 9.2; it is held until 10."""
    options = replace(DELTA_5, epsilon_ns=UNIT)
    script = Script(options, {(b"m", 2): 0.2, (b"m", 3): 0.2, (b"r", 3): 1}, {1: ahead(1)})
    script.send(9, 1, (2, 3), b"m")
    script.send(10, 2, (3,), b"r")
    script.run()
    assert script.deliveries(2) == [("m", at(10))]
    pdus = {pdu.payload: pdu.ts for _, pdu in script.world.sent if isinstance(pdu, DeltaData)}
    assert pdus[b"m"] == at(10)
    assert pdus[b"r"] == at(10) + 1  # greater than what was delivered, though the clock shows the same


def purged_by_a_fast_clock(printed: Printed, epsilon: float = 1) -> Script:
    """P2's clock is one unit ahead: by it m1 has expired when m3 is sent; by P3's clock m1 still comes in time."""
    options = replace(DELTA_5, epsilon_ns=round(epsilon * UNIT), printed=printed)
    script = Script(options, {(b"m1", 3): 5.8, (b"m2", 2): 1, (b"m3", 3): 0.3}, {2: ahead(1)})
    script.send(0, 1, (3,), b"m1")
    script.send(1, 1, (2,), b"m2")
    script.send(5.2, 2, (3,), b"m3")
    return script.run()


def test_r0_keeps_the_order_under_skew() -> None:
    assert purged_by_a_fast_clock(Printed()).deliveries(3) == [("m1", at(5.8)), ("m3", at(6.2))]


def test_without_r0_a_fast_clock_breaks_the_order() -> None:
    assert inverted(purged_by_a_fast_clock(Printed(skew=True, overtaken=True))) == ["m3", "m1"]
    assert purged_by_a_fast_clock(Printed(skew=True)).deliveries(3) == [("m3", at(5.5))]  # R8 refuses what it gave up


def test_skew_that_epsilon_does_not_cover_drops_messages_that_came_in_time() -> None:
    """P1's clock is one unit behind and nobody allows for it: after 4.5 < Δ units, m is late by P3's clock."""
    for epsilon, delivered in ((1, [("m", at(4.5))]), (0, [])):
        options = replace(DELTA_5, epsilon_ns=epsilon * UNIT)
        script = Script(options, {(b"m", 3): 4.5}, {1: ahead(-1)})
        script.send(0, 1, (3,), b"m")
        assert script.run().deliveries(3) == delivered


def test_epsilon_counts_in_whole_ticks() -> None:
    """Clocks that are half a unit apart and tick in units show differences of a whole one: ε must cover that."""
    behind: Clock = lambda now: (now - UNIT // 2) // UNIT * UNIT  # noqa: E731
    for epsilon, delivered in ((0.5, []), (1, [("m", at(5.3))])):
        options = replace(DELTA_5, epsilon_ns=round(epsilon * UNIT))
        script = Script(options, {(b"m", 3): 4.9}, {1: behind, 3: ticks(1)})
        script.send(0.4, 1, (3,), b"m")
        assert script.run().deliveries(3) == delivered


def agent(buffer_pdus: int = 1024) -> Delta:
    return Delta(Setting(me=1, members=(1, 2, 3), seed=0, buffer_pdus=buffer_pdus), DELTA_5)


def data(
    src: int,
    dest: tuple[int, ...],
    ts: int,
    counts: tuple[int, ...] = (0, 0, 0),
    cb: tuple[tuple[int, int], ...] = (),
) -> DeltaData:
    return DeltaData(
        src=src, seq=1 << 32 | ts, ts=ts, ndest=len(dest), dest=dest, n=len(counts), counts=counts, cb=cb, payload=b""
    )


@pytest.mark.parametrize(
    ("pdu", "reason"),
    [
        (data(1, (1,), 5), "source"),
        (data(9, (1,), 5), "source"),
        (data(2, (3,), 5), "destination"),
        (data(2, (1, 7), 5), "destination"),
        (data(2, (1,), 5, (0, 0)), "tag"),
        (data(2, (1,), 5, (1, 0, 0), cb=((8, 1),)), "tag"),
        (data(2, (1,), 0), "time_stamp"),
    ],
)
def test_what_cannot_be_a_message_for_me_is_counted_and_ignored(pdu: DeltaData, reason: str) -> None:
    machine = agent()
    assert machine.step(Received(pdu), at(0)) == []
    assert machine.counters() == {f"refused_{reason}": 1}
    assert machine.settled()


def test_a_duplicate_is_delivered_once() -> None:
    machine = agent()
    pdu = data(2, (1,), at(0))
    kinds = [log.kind for log in machine.step(Received(pdu), at(1)) if isinstance(log, Log)]
    assert kinds == [NoteKind.DELIVERED]
    assert machine.step(Received(pdu), at(1)) == []
    assert machine.step(Received(pdu), at(5)) == []
    assert machine.counters()["duplicates"] == 2
    assert machine.step(Received(pdu), at(5) + 1) == []
    assert machine.counters()["duplicates"] == 3


def test_nobody_waits_for_a_message_of_an_earlier_life_of_its_own() -> None:
    """It had it at once, and no copy of it comes: E2 answers what this life knows nothing of."""
    answer = data(2, (1,), at(1), (1, 0, 0), cb=((1, at(0)),))
    kinds = [log.kind for log in agent().step(Received(answer), at(2)) if isinstance(log, Log)]
    assert kinds == [NoteKind.DELIVERED]


def test_a_later_life_is_above_all_that_was_sent_in_one_go() -> None:
    """The time stamps of an earlier life may lead its clock, by one for each message; it comes back in that instant."""
    machine = agent()
    outputs = [one for number in range(1, 101) for one in machine.step(Submit(number, (2,), b""), at(0))]
    last = max(output.pdu.ts for output in outputs if isinstance(output, Send) and isinstance(output.pdu, DeltaData))
    later = Delta(Setting(me=1, members=(1, 2, 3), seed=0, incarnation=2), DELTA_5)
    assert not [output for output in later.step(Submit(101, (2,), b""), at(0)) if isinstance(output, Send)]
    assert later.deadline is not None
    (sent,) = [output.pdu for output in later.step(Wake(), later.deadline) if isinstance(output, Send)]
    assert isinstance(sent, DeltaData)
    assert sent.ts > last + DELTA_5.limit_ns


def test_no_destination_is_refused() -> None:
    machine = agent()
    for to in ((), (4,), (1, 9)):
        (log,) = machine.step(Submit(1, to, b""), at(0))
        assert isinstance(log, Log) and log.kind is NoteKind.REFUSED


def test_one_multicast_to_everybody_else_copies() -> None:
    machine = agent()
    sends = [
        [output for output in machine.step(Submit(1, to, b""), at(0)) if isinstance(output, Send)]
        for to in ((2, 3), (1, 2, 3), (3,), (1, 3), (1,))
    ]
    assert [[send.to for send in each] for each in sends] == [[None], [None], [(3,)], [(3,)], []]


def test_a_full_buffer_drops_with_an_alarm() -> None:
    machine = agent(buffer_pdus=1)
    waits = data(2, (1,), at(0), (1, 0, 0), cb=((3, at(-1)),))
    assert machine.step(Received(waits), at(1)) == []
    outputs = machine.step(Received(replace(waits, seq=1 << 32 | 9, ts=at(0) + 1)), at(1))
    assert [output.kind for output in outputs if isinstance(output, Log)] == [NoteKind.ALARM]


def test_a_clock_that_is_set_back_does_not_lose_a_timer() -> None:
    """m waits for 2:x to expire and for 3:y. The clock passes x + Δ, goes back, y comes: m waits for x again."""
    machine = agent()
    x, y = at(-4), at(-2)
    waits = data(2, (1,), at(0), (2, 0, 0), cb=((2, x), (3, y)))
    assert machine.step(Received(waits), at(0)) == []
    assert machine.deadline == x + 5 * UNIT + 1
    assert machine.step(Received(data(3, (2,), y)), at(1.5)) == []  # x has expired, y not
    assert machine.step(Received(data(3, (1,), y)), at(0.5)) != []  # y delivered; by this clock x has not expired
    assert machine.deadline == x + 5 * UNIT + 1


@pytest.mark.parametrize("hold_ns", [33_333_333, 50_000_000, 1])
def test_hold_must_lie_between_a_third_and_a_half(hold_ns: int) -> None:
    with pytest.raises(ValueError, match="hold"):
        DeltaOptions(hold_ns=hold_ns)


def test_hold_delivers_nothing_before_w() -> None:
    options = replace(DELTA_5, scheme="hold", hold_ns=2 * UNIT)
    script = Script(options, {(b"m1", 3): 4.5, (b"m2", 2): 1, (b"m3", 3): 0.5})
    script.send(0, 1, (3,), b"m1")
    script.send(1, 1, (2,), b"m2")
    script.send(3, 2, (3,), b"m3")
    script.run()
    assert script.deliveries(2) == [("m2", at(3))]
    assert script.deliveries(3) == [("m1", at(4.5)), ("m3", at(5))]
