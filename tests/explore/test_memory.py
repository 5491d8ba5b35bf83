"""A scenario in memory comes to the verdicts to which it comes on the emulated network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.explore.brief import brief
from harness.explore.explicit import explicit
from harness.explore.judging import verdicts
from harness.explore.memory import NotInMemory, carry_out
from harness.explore.stage import START_NS
from harness.judges import Outcome
from harness.scenario import dump, load, loads
from harness.scenario.faults.chosen import Duplicate
from harness.scenario.find import shipped
from harness.scenario.model import Scenario, Script
from nodes.protocols import protocol
from nodes.wire.note import NoteKind

# What takes long is left to the network.
LONG = {"delta/fig-4", "delta/fig-4-hold", "delta/fig-4-unbounded", "delta/reordering", "raw/burst-loss", "raw/loss"}
MS = 1_000_000
OF_ST = ("example", "isolated", "lost", "own-copy", "printed-line", "printed-pre", "quiet", "second")
OF_TO = ("brief", "printed-flush", "printed-freeze", "printed-star")


def small(name: str) -> bool:
    """May it be carried out in every test run?"""
    kind, _, rest = name.partition("/")
    if kind in ("st", "to"):
        return rest.startswith(OF_ST if kind == "st" else OF_TO)
    return kind in ("raw", "delta", "cmd", "him") and name not in LONG and not rest.startswith(("confirm", "forged"))


@pytest.mark.parametrize("name", [name for name in shipped() if small(name)])
def test_shipped_scenarios_come_to_their_verdicts(name: str) -> None:
    scenario = load(shipped()[name])
    expected = dict.fromkeys(protocol(scenario.protocol).properties, "pass")
    expected |= {one.property: one.verdict or "pass" for one in scenario.expect if one.property is not None}
    found = {one.property: one for one in verdicts(carry_out(scenario))}
    wrong = {name: one.sentence for name, one in found.items() if one.outcome != expected[name]}
    assert not wrong, f"tutti run {name}"


def test_what_needs_a_real_host_is_refused() -> None:
    with pytest.raises(NotInMemory, match="forged"):
        carry_out(load(shipped()["st/forged"]))


def test_equal_seeds_give_equal_runs_and_others_do_not() -> None:
    scenario = load(shipped()["raw/everything"])
    one, again, other = (list(carry_out(replace(scenario, seed=seed)).world.events) for seed in (1, 1, 2))
    assert one == again
    assert one != other


LOSSY = """
name = "lossy"
protocol = "cmd"
[topology]
kind = "lan"
nodes = 3
[[impair]]
on = "receivers"
delay = "10ms"
jitter = "9ms"
loss = "10%"
[workload]
kind = "bursts"
rounds = 5
"""


def test_chance_can_be_written_down() -> None:
    """Without a random draw left, everybody does the same at the same time."""
    scenario = loads(LOSSY)
    certain = explicit(scenario)
    assert {fault.KIND for fault in certain.fault} == {"drop", "delay"}
    assert not any(one.impairment.loss or one.impairment.jitter_ns for one in certain.impair)

    def heard(case: object) -> list[tuple[int, int, int, int]]:
        assert isinstance(case, type(scenario))
        events = carry_out(case).world.events
        return [(e.time_ns, e.node, e.about, e.seq) for e in events if e.kind is NoteKind.DELIVERED]

    assert heard(certain) == heard(scenario) != heard(replace(scenario, seed=2))


def test_all_copies_of_what_is_doubled_twice_are_written_down() -> None:
    """By a fault, and each of its copies by chance: a question that comes three times is answered three times."""
    doubled = """duplicate = "50%"
[[fault]]
kind = "duplicate"
pdu = { type = "QUERY" }
by = "7ms"
count = "all"
[workload]
"""
    scenario = loads(LOSSY.replace('"cmd"', '"him"').replace("[workload]\n", doubled))
    certain = explicit(scenario)
    assert any(isinstance(fault, Duplicate) and fault.more for fault in certain.fault)
    assert loads(dump(certain)) == loads(brief(certain)) == certain
    sent = [(at_ns, pdu.src, pdu.TYPE.title) for at_ns, pdu in carry_out(scenario).world.sent]
    assert [(at_ns, pdu.src, pdu.TYPE.title) for at_ns, pdu in carry_out(certain).world.sent] == sent


HALF_LOST = """
name = "half-lost"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 2
channel = { rate = "10mbit" }
[[impair]]
on = "receivers"
loss = "50%"
[workload]
kind = "script"
""" + "".join(
    f"""
[[workload.message]]
at = "{10 * number}ms"
node = "n1"
"""
    for number in range(1, 21)
)


def test_what_was_lost_by_chance_is_lost_also_when_something_before_it_is_left_out() -> None:
    """Faults that count would take what comes next."""
    certain = explicit(loads(HALF_LOST))
    assert isinstance(certain.workload, Script)
    first, *others = certain.workload.message
    thinned = replace(certain, workload=Script(message=tuple(others)))

    def heard_ms(case: Scenario) -> set[int]:
        events = carry_out(case).world.events
        return {(e.time_ns - START_NS) // MS for e in events if e.kind is NoteKind.DELIVERED and e.node == 2}

    assert 5 < len(heard_ms(certain)) < 15
    assert heard_ms(thinned) == heard_ms(certain) - {first.at_ns // MS}
    assert all(fault.at_ns % MS == 0 for fault in certain.fault)  # and its time is as round as it can be


PAUSED = """
name = "paused"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 2
channel = { rate = "10mbit" }
[workload]
kind = "script"
[[workload.message]]
at = "15ms"
node = "n2"
[[workload.message]]
at = "16ms"
node = "n1"
[[fault]]
at = "10ms"
kind = "pause"
node = "n2"
for = "10ms"
[[fault]]
at = "50ms"
kind = "clock"
node = "n1"
step = "-5ms"
"""


def test_a_paused_node_reads_first_and_then_does_what_is_due() -> None:
    events = carry_out(loads(PAUSED)).world.events
    at_2 = [(e.kind, (e.time_ns - 1_000_000_000) // 1_000_000) for e in events if e.node == 2]
    assert (NoteKind.SUBMITTED, 20) in at_2
    first = [kind for kind, ms in at_2 if ms == 20]
    assert first.index(NoteKind.DELIVERED) < first.index(NoteKind.SUBMITTED)
    clock = next(e for e in events if e.kind is NoteKind.CLOCK)
    assert (clock.node, clock.local_ns - clock.time_ns) == (1, -5_000_000)


def test_the_verdicts_are_not_all_pass() -> None:
    """Lest the first test compare nothing."""
    found = verdicts(carry_out(load(shipped()["st/printed-line"])))
    assert Outcome.FAIL in {one.outcome for one in found}
