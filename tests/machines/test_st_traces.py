"""ST on the paper's examples and on the schedules that break its printed rules, one rule at a time.

In every case the same schedule passes with the repaired rules. Messages are named by what they carry.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from harness.world import Loss, World, no_loss
from nodes.st.options import Printed, StOptions
from nodes.wire.st import RETX, DataBlock
from tests.helpers.cluster import SLOT, data, delivered, entity, failures, losing, payloads, st_world, titled

Message = tuple[int, tuple[int, ...], str]
FIGURE: list[Message] = [  # the channel of figure 2 with the destinations of figures 3 and 4
    (1, (2, 3), "a"),
    (3, (1, 2, 3), "x"),
    (1, (2,), "b"),
    (1, (1, 3), "c"),
    (2, (1,), "p"),
    (3, (2,), "y"),
    (3, (1, 3), "z"),
    (2, (2, 3), "q"),
]


def say(world: World, messages: Sequence[Message], every: int = SLOT) -> None:
    """Submit in this order, which is then the order on the channel."""
    for at, (src, to, name) in enumerate(messages):
        world.at(world.now + at * every, lambda src=src, to=to, name=name: world.submit(src, to, name.encode()))  # type: ignore[misc]


def logs(world: World, n: int = 3) -> list[str]:
    names = payloads(world)
    return [delivered(world, i, names) for i in range(1, n + 1)]


def patient(**switches: bool) -> StOptions:
    """No ACK PDU comes between the messages of a script."""
    return StOptions(period_ns=60 * SLOT, printed=Printed(**switches))


def test_figure_4_without_loss() -> None:
    world = st_world(3, patient())
    say(world, FIGURE)
    world.run()
    assert logs(world) == ["x c p z", "a x b y q", "a x c z q"]
    assert failures(world) == []


def test_numbering_is_stamp_then_increment() -> None:
    """TV-ST-4 (D-ST-1)."""
    world = st_world(3, patient())
    say(world, FIGURE)
    world.run()
    table = {p.payload.decode(): (p.src, p.tseq, p.pseq) for _, p in world.sent if getattr(p, "payload", b"")}  # type: ignore[attr-defined]
    assert table == {
        "a": (1, 1, (1, 1, 1)),
        "x": (3, 1, (1, 1, 1)),
        "b": (1, 2, (1, 2, 2)),
        "c": (1, 3, (1, 3, 2)),
        "p": (2, 1, (1, 1, 1)),
        "y": (3, 2, (2, 2, 2)),
        "z": (3, 3, (2, 3, 2)),
        "q": (2, 2, (2, 1, 1)),
    }
    assert [entity(world, i).transfer.sl.pseq for i in (1, 2, 3)] == [[2, 3, 3], [2, 2, 2], [3, 3, 3]]


def test_example_2_c_is_lost_at_e3() -> None:
    """TV-ST-5: what is behind the line is sorted after everything before it."""
    world = st_world(3, patient(), loss=losing((data(1, b"c"), 3)))
    say(world, FIGURE)
    world.run()
    assert logs(world) == ["x p z c", "a x b y q", "a x z q c"]
    assert failures(world) == []
    counts = count(world)
    assert counts["RST"] == 1 and counts["RST_PAK"] == 3 and counts["RST_ACK"] == 3
    assert counts["again"] == 1


def count(world: World) -> dict[str, int]:
    """PDUs by type; retransmissions and ACK PDUs by themselves."""
    counts: dict[str, int] = {"again": 0, "ack": 0}
    for _, pdu in world.sent:
        name = pdu.TYPE.title
        if isinstance(pdu, DataBlock) and (pdu.flags & RETX or not pdu.dst):
            name = "again" if pdu.flags & RETX else "ack"
        counts[name] = counts.get(name, 0) + 1
    return counts


@pytest.mark.parametrize("n", [2, 3, 5, 10, 16])
def test_an_undisturbed_round_costs_2n_plus_1(n: int) -> None:
    world = st_world(n, loss=losing((data(1, b"x"), n)), watched=False)
    say(world, [(1, tuple(range(1, n + 1)), "x")])
    world.run()
    counts = count(world)
    assert counts["RST"] + counts["RST_PAK"] + counts["RST_ACK"] == 2 * n + 1
    assert counts["again"] == 1
    assert failures(world) == []


@pytest.mark.parametrize("n", [2, 3, 5, 10, 16])
def test_an_isolated_message_costs_about_3n_acks_then_silence(n: int) -> None:
    world = st_world(n, watched=False)
    say(world, [(1, (2,), "x")])
    world.run()
    assert 2 * n <= count(world)["ack"] <= 3.6 * n
    assert world.settled()


# Each printed rule, on a schedule that shows it.

Schedule = Callable[[StOptions], World]


def lost_among_three(options: StOptions) -> World:
    """D-ST-5: w is lost at E2; u and v go past it to E1 and E3."""
    world = st_world(3, options, loss=losing((data(1, b"w"), 2)), watched=False)
    say(world, [(1, (1, 2), "w"), (3, (1, 3), "u"), (2, (1, 3), "v"), (1, (2,), "e")])
    return world


def example_2(options: StOptions) -> World:
    world = st_world(3, options, loss=losing((data(1, b"c"), 3)), watched=False)
    say(world, FIGURE)
    return world


def only_to_e2(options: StOptions) -> World:
    """D-ST-2: E1 sends to E2 alone; E3 misses the first."""
    world = st_world(3, options, loss=losing((data(1, b"0"), 3)), watched=False)
    say(world, [(1, (2,), str(k)) for k in range(24)])
    return world


def late_reader(options: StOptions) -> World:
    """D-ST-6: q is lost at E3, which reads late; E1 and E2 go on among themselves."""
    world = st_world(3, options, loss=losing((data(1, b"q"), 3)), watched=False)
    say(world, [(1, (2, 3), "q"), (3, (1, 2), "y")])
    world.at(world.now + 3 * SLOT // 2, lambda: world.pause(3))
    rest: list[Message] = [(2, (1, 2), "u"), *[(1 + k % 2, (1, 2), chr(ord("a") + k)) for k in range(10)]]
    world.at(world.now + 2 * SLOT, lambda: say(world, rest, 2 * SLOT))
    world.at(world.now + 200 * SLOT, lambda: world.resume(3))
    return world


def silent_destinations(options: StOptions) -> World:
    """D-ST-7: the destinations of p send to E1 alone."""
    world = st_world(3, options, watched=False)
    say(world, [(1, (2, 3), "p"), *[(2 + k % 2, (1,), str(k)) for k in range(8)]], 20 * SLOT)
    return world


def own_copy_lost_twice(options: StOptions) -> World:
    """D-ST-22: E1 misses its own PDU on the loop-back, and its retransmission too."""
    again = lambda pdu: isinstance(pdu, DataBlock) and bool(pdu.flags & RETX)  # noqa: E731
    world = st_world(2, options, loss=losing((data(1, b"p"), 1), (again, 1)), watched=False)
    say(world, [(1, (1,), "p")])
    return world


def one_lost(options: StOptions) -> World:
    world = st_world(3, options, loss=losing((data(1, b"p"), 3)), watched=False)
    say(world, [(1, (1, 2, 3), "p"), (2, (1, 2, 3), "q"), (1, (1, 2, 3), "r")])
    return world


def snapshot_lost(options: StOptions) -> World:
    """D-ST-15: E2 hears the RST_PAKs in another order, since it misses one."""
    loss = losing((data(1, b"p"), 3), (data(2, b"q"), 3), (titled("RST_PAK", 1), 2))
    world = st_world(3, options, loss=loss, watched=False)
    say(world, [(1, (1, 2, 3), "p"), (2, (1, 2, 3), "q"), (1, (1, 2, 3), "r")])
    return world


def closed_window(options: StOptions) -> World:
    """D-ST-20: after the first message everything is settled, but the last ACK PDU is acknowledged by nobody."""
    world = st_world(3, options, watched=False)
    world.submit(1, (1, 2, 3), b"p")
    world.at(world.now + 1000 * SLOT, lambda: world.submit(world.sent[-1][1].src, (1, 2, 3), b"q"))
    return world


SHOWN: list[tuple[str, Schedule, StOptions, str]] = [
    ("acceptance", only_to_e2, StOptions(window=8), "ST-4"),
    ("line", example_2, patient(), "ST-3"),
    ("prefix", lost_among_three, patient(), "ST-3"),
    ("preack", late_reader, StOptions(), "ST-3"),
    ("pal", silent_destinations, StOptions(), "ST-4"),
    ("expectation", one_lost, StOptions(), "ST-4"),
    ("resend", one_lost, StOptions(), "ST-4"),
    ("reaccept", one_lost, StOptions(), "ST-4"),
    ("order", snapshot_lost, patient(), "ST-3"),
    ("flow", closed_window, StOptions(window=1), "submitted"),
    ("own_loss", own_copy_lost_twice, StOptions(), "ST-4"),
]


def run(schedule: Schedule, options: StOptions) -> tuple[World, list[str]]:
    world = schedule(options)
    world.run(until_ns=world.now + 5000 * SLOT)
    wrong = failures(world)
    if not world.settled():
        wrong.append("submitted: something was never finished")
    return world, wrong


@pytest.mark.parametrize(("switch", "schedule", "options", "breaks"), SHOWN, ids=[case[0] for case in SHOWN])
def test_printed_rule_breaks_where_the_repaired_one_holds(
    switch: str, schedule: Schedule, options: StOptions, breaks: str
) -> None:
    _, wrong = run(schedule, options)
    assert wrong == []
    world, wrong = run(schedule, options_with(options, switch))
    assert any(line.startswith(breaks) for line in wrong), (wrong, logs(world, len(world.history().nodes)))


def options_with(options: StOptions, switch: str) -> StOptions:
    return StOptions(period_ns=options.period_ns, window=options.window, printed=Printed(**{switch: True}))


def test_an_ack_vector_ahead_of_mine_is_no_reason_for_a_round() -> None:
    """D-ST-3: read as a reason, it costs rounds for PDUs that were not for the loser."""

    def rounds(**switches: bool) -> int:
        chance = random.Random(5)
        lossy: Loss = lambda pdu, receiver, now: chance.random() < 0.05  # noqa: E731
        world = st_world(4, StOptions(printed=Printed(**switches)), loss=lossy, watched=False)
        say(world, [(1 + k % 4, (1 + (k + 1) % 4,), str(k)) for k in range(40)], 6 * SLOT)
        world.run(max_events=200_000)
        assert failures(world) == []
        return entity(world, 1).core.phase.epoch

    assert rounds(ack_evidence=True) > 2 * rounds()


def test_all_printed_rules_together_break_nothing_but_the_service() -> None:
    """rules = "printed" is every switch at once; the machine itself stays whole."""
    world, wrong = run(example_2, StOptions(rules="printed"))
    assert wrong
    assert entity(world, 1).counters()["data"] == 3


@pytest.mark.parametrize("title", ["RST", "RST_PAK", "RST_ACK"])
@pytest.mark.parametrize("receiver", [1, 2, 3])
def test_loss_of_each_control_pdu(title: str, receiver: int) -> None:
    for src in (1, 2, 3):
        loss = losing((data(1, b"p"), 3), (titled(title, src), receiver))
        world = st_world(3, loss=loss)
        say(world, [(1, (1, 2, 3), "p"), (2, (1, 2, 3), "q")])
        world.run(max_events=20_000)
        assert world.settled() and failures(world) == []


def test_second_loss_during_recovery() -> None:
    again = lambda pdu: isinstance(pdu, DataBlock) and bool(pdu.flags & RETX)  # noqa: E731
    loss = losing((data(1, b"p"), 3), (data(1, b"p"), 2), (again, 3), (again, 3), (again, 2))
    world = st_world(3, loss=loss)
    say(world, [(1, (2, 3), "p"), (2, (1, 2, 3), "q")])
    world.run(max_events=20_000)
    assert world.settled() and failures(world) == []
    assert count(world)["again"] >= 3


@pytest.mark.parametrize("recovery", ["selective", "range", "go_back"])
def test_what_each_recovery_sends_again(recovery: str) -> None:
    """One PDU of six is lost; a range is what follows it at that entity, go-back what follows it anywhere."""
    world = st_world(3, StOptions(recovery=recovery, period_ns=60 * SLOT), loss=losing((data(1, b"1"), 3)))  # type: ignore[arg-type]
    say(world, [(1, (2, 3) if k < 4 else (2,), str(k)) for k in range(6)])
    world.run(max_events=20_000)
    assert world.settled() and failures(world) == []
    assert count(world)["again"] == {"selective": 1, "range": 3, "go_back": 5}[recovery], logs(world)


def test_no_loss_means_no_round() -> None:
    world = st_world(4, loss=no_loss)
    say(world, [(1 + k % 4, (1, 2, 3, 4), str(k)) for k in range(60)], SLOT // 2)
    world.run()
    assert entity(world, 1).core.phase.epoch == 0 and failures(world) == []
