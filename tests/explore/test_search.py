"""What is drawn can be run, what fails is made small, and the command says which it was."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from harness.cli import main
from harness.explore import chance
from harness.explore.base import base_of, searched
from harness.explore.brief import brief
from harness.explore.choices import Draw, Times
from harness.explore.edit import is_mild, possible, without_node
from harness.explore.explicit import explicit
from harness.explore.found import shrunk, write
from harness.explore.hunt import Failure, Hunt
from harness.explore.judging import judged
from harness.explore.memory import Run
from harness.explore.milestones import reached
from harness.explore.mutate import Parent
from harness.explore.novelty import Word
from harness.explore.order import News
from harness.explore.reduce import reduce, stretch
from harness.explore.said import Absence, absences, exchange, news, news_of_lives, said_near, when_back
from harness.explore.search import Tally
from harness.explore.told import share
from harness.scenario import ScenarioError, dump, load, loads
from harness.scenario.explore import Explore
from harness.scenario.faults import FAULTS, Fault
from harness.scenario.faults.chosen import Drop, PduFault
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.impair import Change
from harness.scenario.faults.leave import Leave
from harness.scenario.faults.pause import Pause
from harness.scenario.faults.restart import Restart
from harness.scenario.find import shipped
from harness.scenario.model import Impair, Message, Scenario, Script
from harness.scenario.pdus import PduMatch
from nodes.facet import Milestone
from nodes.protocols import protocol
from nodes.wire import all_pdu_types
from nodes.wire.note import NoteKind
from tests.helpers.invariants import drawn
from topologies.impairments import Impairment

MS = 1_000_000
NAMES = searched()


@pytest.mark.parametrize("name", NAMES)
def test_every_case_is_a_scenario_that_can_be_written_and_run(name: str) -> None:
    base = base_of(name)
    assert base.explore is not None
    kinds: set[str] = set()
    for case in drawn(base, 1):
        assert loads(dump(case)) == case
        assert loads(brief(case)) == case
        kinds.update(fault.KIND for fault in case.fault)
    assert len(kinds) > 5


@pytest.mark.parametrize("name", [name for name in shipped() if name.endswith(("mixed", "everything", "chosen"))])
def test_a_scenario_in_brief_is_the_same(name: str) -> None:
    scenario = load(shipped()[name])
    assert loads(brief(scenario)) == scenario
    assert len(brief(scenario)) < len(dump(scenario))


def test_without_a_node_the_others_move_down() -> None:
    scenario = load(shipped()["to/mixed"])
    fewer = without_node(scenario, "n2")
    assert fewer.nodes == ("n1", "n2", "n3", "n4")
    assert loads(dump(fewer)) == fewer
    assert [fault.node for fault in fewer.fault if isinstance(fault, Crash)] == [("n4",), ("n1",)]


def test_a_restart_without_its_crash_is_none() -> None:
    scenario = load(shipped()["raw/crash-restart"])
    rest = tuple(fault for fault in scenario.fault if not isinstance(fault, Crash))
    assert any(isinstance(fault, Restart) for fault in rest)
    assert not any(isinstance(fault, Restart) for fault in possible(replace(scenario, fault=rest)).fault)


@pytest.mark.parametrize("name", NAMES)
def test_what_chance_did_can_be_written_down_as_faults(name: str) -> None:
    """Without cuts, and ways that become slow or fast: what begins meanwhile befalls what a fault holds up, but not
    what netem has let in."""
    changed, base = 0, base_of(name)
    assert base.explore is not None
    kinds = tuple(one for one in base.explore.faults if one not in ("partition", "link"))
    for case in drawn(replace(base, explore=replace(base.explore, faults=kinds)), 7):
        changes = [fault.impairment for fault in case.fault if isinstance(fault, Change)]
        all_times = [*changes, *(impair.impairment for impair in case.impair)]
        if changes and any(one.delay_ns or one.rate_bps for one in all_times):
            continue
        certain = explicit(case)
        assert not any(impair.impairment.loss for impair in certain.impair)
        if len(certain.fault) > len(case.fault):
            changed += 1
            assert _happened(certain) == _happened(case), dump(case)
    assert changed >= 5


def _happened(case: Scenario) -> list[tuple[object, ...]]:
    events = Run(case).all().world.events
    return [(one.time_ns, one.node, one.kind, one.about, one.seq, one.text) for one in events if one.node]


def planted() -> Scenario:
    """24 faults, 40 losses and 10 messages; two faults, one loss and a message matter."""
    base = base_of("cmd")
    crashes = [
        one
        for k in range(12)
        for one in (Crash(at_ns=(10 * k + 1) * MS, node=("n3",)), Restart(at_ns=(10 * k + 5) * MS, node=("n3",)))
    ]
    losses = [Drop(pdu=PduMatch(types=("DATA",), src=(1,)), towards=("n2",), skip=k) for k in range(40)]
    message = load(shipped()["cmd/restart-both"]).workload
    assert isinstance(message, Script)
    messages = tuple(replace(message.message[0], at_ns=k * 7_123_456, data=f"m{k}") for k in range(10))
    return replace(base, explore=None, fault=(*crashes, *losses), workload=Script(message=messages))


def test_planted_parts_are_found_among_many_with_few_runs() -> None:
    tried: list[Scenario] = []

    def broken(case: Scenario) -> bool:
        tried.append(case)
        drops = {fault.skip for fault in case.fault if isinstance(fault, Drop)}
        back = sum(isinstance(fault, Restart) for fault in case.fault)
        assert isinstance(case.workload, Script)
        return 27 in drops and back >= 2 and any(one.data == "m7" for one in case.workload.message)

    case = planted()
    small = reduce(case, broken, math.inf, time.process_time)
    assert broken(small)
    assert len(tried) < 200  # a second, on a quiet machine
    assert len(small.fault) == 5  # two crashes, their restarts, one loss
    assert isinstance(small.workload, Script) and len(small.workload.message) == 1
    assert small.workload.message[0].at_ns == 0


def test_what_stays_large_is_reduced_without_a_word_from_hypothesis() -> None:
    """What chance did may be hundreds of faults, all of which it takes."""
    drops = tuple(Drop(pdu=PduMatch(), at_ns=number * MS, towards=("n2",)) for number in range(150))
    case = replace(base_of("cmd"), explore=None, fault=drops, workload=Script(message=()))
    small = reduce(case, lambda smaller: len(smaller.fault) == 150, math.inf, time.process_time)
    assert len(small.fault) == 150 and small != case


@pytest.mark.parametrize("matter", [{0}, {39}, {7, 9, 20}, set(range(40)), set()])
def test_what_chance_did_before_and_after_what_matters_goes_first(matter: set[int]) -> None:
    tried = 0

    def broken(case: Scenario) -> bool:
        nonlocal tried
        tried += 1
        return matter <= {fault.skip for fault in case.fault if isinstance(fault, Drop)} and case.fault[-24:] == crashes

    case = planted()
    crashes, losses = case.fault[:24], case.fault[24:]
    small = stretch(replace(case, fault=(*losses, *crashes)), len(losses), broken)
    kept = losses[min(matter) : max(matter) + 1] if matter else ()
    assert small.fault == (*kept, *crashes)
    assert tried < 14


def test_what_is_left_out_may_take_another_seed() -> None:
    def broken(case: Scenario) -> bool:
        return case == planted() or (case.seed == 3 and bool(case.fault))

    small = reduce(planted(), broken, math.inf, time.process_time, seeds=(2, 3))
    assert small.seed == 3 and len(small.fault) == 1
    assert reduce(planted(), broken, math.inf, time.process_time) == planted()


def test_a_case_of_thousands_of_losses_gets_smaller() -> None:
    losses = tuple(Drop(pdu=PduMatch(types=("DATA",), src=(1,)), towards=("n2",), skip=k) for k in range(4500))
    case = replace(base_of("cmd"), explore=None, fault=losses, workload=Script(message=()))
    turns = itertools.count().__next__
    small = reduce(
        case, lambda one: any(isinstance(fault, Drop) and fault.skip == 2727 for fault in one.fault), 20, turns
    )
    assert len(small.fault) <= 2250


def test_a_printed_rule_is_found_shrunk_written_and_fails_again(tmp_path: Path) -> None:
    base = base_of("cmd", ["cmd.printed.clock=true"])
    assert base.explore is not None
    state, failures = Hunt(base, seed=1), list[Failure]()
    while not failures:
        assert state.runs < 2000, "explore cmd --set cmd.printed.clock=true"
        failures = list(state.batch())
    found = shrunk(failures[0], base.explore, state.runs, 0.0)
    assert found.properties in (("CD-1",), ("CD-1", "PROMPT"))  # who goes before it may goes too early, too
    assert len(found.case.fault) <= 2 and len(found.case.nodes) <= 3
    path = write(found, tmp_path)
    again = load(path)
    assert {one.property for one in judged(again).against} == set(found.properties)
    assert path.read_text().startswith("# Found by")
    assert "\nprinted = { clock = true }\n" in path.read_text()  # and not the other rules, which have their defaults
    repaired = load(path, settings=["cmd.printed.clock=false"])
    assert not judged(repaired).against


def test_where_chance_passes_nothing_is_lost_to_the_end() -> None:
    """`to` promises to get somewhere once no more PDUs are lost."""
    base = base_of("to")
    assert base.explore is not None
    cases = list(drawn(base, 60))
    assert not any(one.impairment.loss or one.impairment.loss_model for case in cases for one in case.impair)
    at_first = [fault for case in cases for fault in case.fault if isinstance(fault, Change) and fault.at_ns == 0]
    assert 2 * base.explore.within_ns in {fault.for_ns for fault in at_first if fault.impairment.loss}


def test_two_searches_with_one_seed_are_one() -> None:
    def words(seed: int) -> dict[Word, int]:
        state = Hunt(base_of("delta"), seed)
        for _ in range(2):
            list(state.batch())
        return state.words

    assert words(1) == words(1) != words(2)


def test_a_milestone_is_a_way_that_one_node_goes() -> None:
    joiner_dies, alarmed = Milestone("dies", ("RCV_PACK", "crash"), ("RCV_ACK",)), Milestone("alarmed", ("ALARM",))

    def found(*tracks: str) -> list[str]:
        return [one.name for one in reached((joiner_dies, alarmed), dict(enumerate(track.split() for track in tracks)))]

    assert found("RCV RCV_PACK DATA crash") == ["dies"]
    assert found("RCV_PACK RCV_ACK crash", "crash RCV_PACK") == []
    assert found("RCV_PACK RCV_ACK RCV_PACK crash") == ["dies"]
    assert found("RCV_PACK", "crash") == []
    assert list(reached((alarmed,), {1: ["ALARM no quorum"], 2: ["ALARMS"]})) == [alarmed]
    assert not list(reached((alarmed,), {2: ["ALARMS"]}))


@pytest.mark.parametrize("name", NAMES)
def test_milestones_are_of_steps_that_a_node_can_take(name: str) -> None:
    titles = {row.title for row in all_pdu_types() if row.proto.name.lower() == name}
    known = titles | {kind.name for kind in NoteKind} | set(FAULTS) | {f"{kind} ends" for kind in FAULTS}
    assert 3 <= len(protocol(name).milestones) <= 6
    for milestone in protocol(name).milestones:
        for step in (*milestone.steps, *milestone.without):
            assert step in known or step.split()[0] in known, f"{milestone.name}: {step}"


def test_mild_cases_have_their_options_and_two_single_pdus_astray_at_most() -> None:
    base = base_of("him")
    assert base.explore is not None
    mild = [case for case in drawn(base, 3, 200) if is_mild(case, base.explore)]
    assert 25 < len(mild) < 75
    assert {(case.options.confirm, case.options.adj, case.options.q) for case in mild} == {("evidence", "ring", 3)}
    for case in mild:
        assert len(case.fault) <= 2
        for fault in case.fault:
            assert isinstance(fault, PduFault) and fault.count == 1 and len(fault.towards or ()) == 1
        assert all(impair.impairment == Impairment(delay_ns=impair.impairment.delay_ns) for impair in plain(case))
    state = Hunt(base, seed=1, parents=[Parent(mild[0], ())])
    list(state.batch())  # draws nothing of it, since changed it would be another
    assert not any(is_mild(one.case, base.explore) and len(one.case.fault) > 2 for one in state.parents)


def test_a_scenario_that_says_its_options_is_searched_with_them_alone() -> None:
    base = base_of("him/slow-line")
    assert base.explore is not None
    assert {case.options for case in drawn(base, 1, 40)} == {base.options}


def plain(case: Scenario) -> list[Impair]:
    """Its impairments without jitter."""
    return [replace(one, impairment=replace(one.impairment, jitter_ns=0)) for one in case.impair]


def test_a_third_of_the_cases_is_small() -> None:
    base = base_of("st")
    cases = drawn(base, 4, 300)
    small = [one for one in cases if len(one.fault) <= 2 and one.options == base.options and not losing(one)]
    assert 75 < len(small) < 200


def losing(case: Scenario) -> bool:
    return any(impair.impairment.loss for impair in case.impair)


def test_news_comes_on_two_ways_and_the_slowest_is_one_of_them() -> None:
    base = load(shipped()["cmd/restart-forgets"])  # where the way from n1 to n3 is slow
    ways = Counter[tuple[tuple[str, str], ...]]()

    def made(draw: Draw) -> Scenario:
        ways[tuple(dict.fromkeys(news(draw, base, list(permutations(base.nodes, 2)))))] += 1
        return base

    list(chance.drawn(made, 5, 100))
    usual, count = ways.most_common(1)[0]
    assert usual == (("n1", "n3"), ("n1", "n2"), ("n2", "n3")) and count > 60
    assert all(way[0][1] == way[2][1] and way[1] == (way[0][0], way[2][0]) for way in ways)


def test_what_a_node_says_before_it_stops_it_says_again_when_it_is_back() -> None:
    base = load(shipped()["cmd/restart-forgets"])
    space, gone = replace(Explore(), payload=(0,)), Absence("n1", 100 * MS, 120 * MS)
    both = 0

    def made(draw: Draw) -> Scenario:
        nonlocal both
        said = when_back(news_of_lives(draw, base, space, Times(100 * MS), gone), [gone])
        assert said[0].node == "n1" and said[-1].to == said[0].to
        before = {one.to for one in said if one.node == "n1" and one.at_ns < gone.begin_ns}
        after = {one.to for one in said if one.node == "n1" and one.at_ns > gone.end_ns}
        both += bool(before & after)
        return base

    list(chance.drawn(made, 5, 100))
    assert both > 90


def test_who_is_down_speaks_when_it_is_back() -> None:
    """What it says during two absences, one soon after the other, comes after both, and what follows comes later."""
    said = [Message(at_ns=at * MS, node=node, to=(), data="") for at, node in enumerate(("n1", "n1", "n2", "n1"), 9)]
    faults: list[Fault] = [Crash(at_ns=10 * MS, node=("n1",)), Restart(at_ns=15 * MS, node=("n1", "n2"))]
    faults += [Leave(at_ns=15 * MS, node=("n1",)), Restart(at_ns=20 * MS, node=("n1",))]
    later = when_back(said, absences(faults))
    assert [one.at_ns - 20 * MS - 1 for one in later] == [-11 * MS - 1, 0, MS, 2 * MS]
    assert not absences(faults[:1])  # for good


def test_an_exchange_is_sometimes_news_and_may_begin_before_its_time() -> None:
    base = load(shipped()["cmd/restart-forgets"])
    space = replace(Explore(), messages=10, delay=(MS,))
    news_of, begins = 0, set[bool]()

    def made(draw: Draw) -> Scenario:
        nonlocal news_of
        said = exchange(draw, base, space, Times(MS), 100 * MS, 4, before=2)
        ways = list(dict.fromkeys((one.node, one.to) for one in said))
        news_of += len(ways) == 3 and ways[0][1] == ways[2][1] and ways[1] == (ways[0][0], (ways[2][0],))
        begins.add(said[0].at_ns < 100 * MS)
        return base

    list(chance.drawn(made, 5, 200))
    assert 30 < news_of < 80
    assert True in begins


def test_faults_strike_who_has_just_spoken_and_who_was_told_a_time_out_ago() -> None:
    case = load(shipped()["cmd/restart-forgets"])
    times = Times(1000 * MS, waits=(400 * MS,), said=((100 * MS, "n1", ("n3",)),))
    spoken = told = 0

    def made(draw: Draw) -> Scenario:
        nonlocal spoken, told
        at_ns, node = times.strike(draw, case)
        spoken += node == "n1" and abs(at_ns - 100 * MS) <= 50 * MS
        told += node == "n3" and abs(at_ns - 500 * MS) <= 50 * MS
        return case

    list(chance.drawn(made, 5, 200))
    assert spoken > 60 and told > 10


def test_each_choice_is_as_likely_as_any_other() -> None:
    """Also the last one of many, or of several that are drawn at once."""
    numbers = [
        found
        for draw in chance.drawn(lambda draw: draw, 1, 1000)
        for found in (draw.number(0, 999), *draw.numbers(1001, 3, 16))
    ]
    for most, place in ((1000, 0), (1001, 1), (3, 2), (16, 3)):
        parts = Counter(min(number * 3 // most, 2) for number in numbers[place::4])
        assert all(280 < parts[third] < 390 for third in range(3)), (most, parts)


def test_a_search_is_at_its_plateau_when_no_state_changes_in_a_new_way_and_no_milestone_is_new() -> None:
    tally, parent = Tally(), Parent(base_of("delta"), ())

    def run(*words: Word, milestone: str = "") -> int:
        found = ((7, parent, frozenset(words)),) if words else ()
        news = News(1, 10, 0.0, 0.0, found, ((milestone, 8),) if milestone else (), (), ())
        tally.add(news, 1.0, every=False)
        return tally.newest

    step, change = ("0 ", "DATA", "1 ", ""), ("clear", "waiting", "DATA")
    assert run(step) == 0
    assert run(change, ("SENT", "DELIVERED")) == 17
    assert run(change, (*step[:3], "crash")) == 17
    assert run(milestone="an agent died again in its silence") == 38
    assert run(milestone="an agent died again in its silence") == 38
    assert tally.reached == 1 and run(("waiting", "clear", "wake")) == 57


def test_silence_is_worth_what_statistics_say() -> None:
    assert Tally(runs=0).excluded == 1.0
    assert Tally(runs=299).excluded == pytest.approx(0.01, rel=0.01)
    assert Tally(runs=2995).excluded == pytest.approx(0.001, rel=0.01)
    assert [share(part) for part in (1.0, 0.0123, 0.00038, 0.0000039)] == ["100.00%", "1.23%", "0.04%", "0.0004%"]


def test_the_command_says_whether_something_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explore", "cmd", "--runs", "40", "--jobs", "1", "--memory-only", "--json"]
    assert main([*words, "--set", "explore.most_faults=0", "--out", str(tmp_path / "quiet")]) == 0
    quiet = json.loads(capsys.readouterr().out)
    assert quiet["failures"] == [] and quiet["runs"] >= 40 and 0 < quiet["excluded_rate"] < 0.1
    assert quiet["ended"] == "enough runs" and 5 < quiet["changes"] < quiet["seen"]
    reached = {name for name, run in quiet["milestones"].items() if run is not None}
    # Losses alone make a link silent, in some search; for the others it takes a fault.
    assert "the Queue was full" in reached and reached <= {"the Queue was full", "who was silent was heard again"}
    assert main([*words[:3], "4000", *words[4:], "--set", "cmd.rules=printed", "--out", str(tmp_path / "loud")]) == 1
    loud = json.loads(capsys.readouterr().out)
    (failure,) = loud["failures"]
    assert Path(failure["file"]).is_file() and failure["network"] is None


def test_one_kind_of_pdu_at_most_is_lost_for_ever() -> None:
    """Questions of the one and answers to the other would keep both of them asking."""
    endless = [
        sum(isinstance(one, Drop) and one.count is None and one.for_ns is None for one in case.fault)
        for case in drawn(base_of("cmd", ['explore.faults=["drop"]']), 1, 300)
    ]
    assert max(endless) == 1 and sum(endless) > 20


def test_those_whom_a_fault_spares_talk_meanwhile() -> None:
    """All of them, and they alone, from its beginning on."""
    base = base_of("st", ["explore.nodes=[4]"])
    space, pause = base.explore, Pause(at_ns=100 * MS, node=("n2",), for_ns=20 * MS)
    assert space is not None
    (case,) = drawn(base, 1, 1)
    talks = 0
    for said in chance.drawn(lambda draw: said_near(draw, case, space, [pause]), 1, 1000):
        begins = bool(said) and 0 <= said[0].at_ns - pause.at_ns <= space.within_ns // 10
        talks += begins and {one.node for one in said} == {"n1", "n3", "n4"}
    assert talks > 50


def test_a_search_without_faults_changes_no_case_into_one_with_a_fault() -> None:
    hunt = Hunt(base_of("cmd", ["explore.most_faults=0"]), 1)
    for _ in range(3):
        list(hunt.batch())
    assert len(hunt.parents) >= 10
    assert not any(parent.case.fault for parent in hunt.parents)


def test_a_search_ends_at_a_plateau(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explore", "delta", "--plateau", "40", "--jobs", "1", "--memory-only", "--json", "--out", str(tmp_path)]
    words += ["--seconds", "600"]  # also on a busy machine
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ended"] == "a plateau" and 0 < told["newest_run"] <= told["runs"] - 40


def test_bad_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "nothing"]) == 64
    assert main(["explore", "cmd", "--set", "explore.options.windw=[1]"]) == 64
    assert "did you mean 'window'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ('explore.faults=["crsh"]', "did you mean"),
        ("explore.payload=[100000]", "a payload of cmd has"),
        ("explore.nodes=[0]", "at least one node"),
        ('explore.networks=["one_channel"]', "needs a channel"),
        ('explore.properties=["CD-9"]', "no property is called"),
        ("explore.options={ window = [0.5] }", "whole number"),
        ("explore.mild={ windw = [1] }", "did you mean 'window'"),
        ('explore.void={ pasue = ["CD-1"] }', "did you mean 'pause'"),
        ('explore.void={ pause = ["CD-11"] }', "no property is called"),
        ('explore.loss=["100%"]', "below 100%"),
        ('explore.within="0ms"', "above 0"),
    ],
)
def test_bounds_that_cannot_be_are_told(setting: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        base_of("cmd", [setting])


@pytest.mark.parametrize("name", NAMES)
def test_the_plain_scenario_of_a_protocol_is_free_of_failures(name: str) -> None:
    state = Hunt(base_of(name, ["explore.most_faults=0"]), seed=2)
    assert not list(state.batch()), f"tutti explore {name} --set explore.most_faults=0 --seed 2"
