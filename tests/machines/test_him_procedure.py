"""HIM, one situation at a time: what it costs when all is well, and what it says when something is not.

Where the printed procedure goes wrong it is run beside the repaired one, and is seen to go wrong.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from captures.metrics import measure
from nodes.him.evaluation import completion_ns, packets, packets_one_dead, packets_with_tree
from nodes.him.machine import Him
from nodes.him.options import HimOptions
from nodes.him.seal import hash_of
from nodes.wire.him import HAVE, SUCCESS, HimAnswer, HimData, HimEnd, HimPdu, HimQuery, HimReport, Reason
from nodes.wire.note import NoteKind
from tests.helpers.group import MS, SLOW, Group, options

PRINTED = options(rules="printed")


# Nothing is wrong


@pytest.mark.parametrize("rules", ["repaired", "printed"])
@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_loss_free_ring(n: int, rules: str) -> None:
    group = Group(n, options(rules=rules), one_way_ns=10 * MS, frames=True)
    begin = group.world.now
    group.submit()
    group.world.run()
    assert group.packets() == packets(n)
    assert dict(group.sent()) == {"DATA": 1, "QUERY": n, "ANSWER": n, "END": 1}
    assert sum(count for (node, _), count in group.received.items() if node == 1) == 2
    last = max(one.time_ns for one in group.history().frames if one.title == "him.ANSWER")
    assert last - begin == completion_ns(20 * MS)
    assert measure(group.history(), "completion_max_ms") == 30
    assert group.holders(1, 1) == set(group.members)
    assert group.results() == ["SUCCESS"]
    assert not group.alarms()
    assert not group.violations()


def test_up_to_three_nodes_need_no_silence() -> None:
    """The originator hears from both neighbours: one round trip decides, 190 of them are T_dec."""
    for n in (2, 3):
        group = Group(n, SLOW, one_way_ns=10 * MS)
        group.submit()
        group.world.run()
        assert group.confirmation_ns() == [20 * MS]
        silent = Group(n, options(confirm="silence"), one_way_ns=10 * MS)
        silent.submit()
        silent.world.run()
        assert silent.confirmation_ns() == [3800 * MS]
        assert silent.packets() == group.packets() == packets(n)


@pytest.mark.parametrize(
    ("n", "fanout", "trips"), [(5, 4, 1.0), (10, 4, 1.5), (50, 4, 2.0), (50, 49, 1.0), (50, 2, 3.0)]
)
def test_tree_confirms_in_a_few_round_trips(n: int, fanout: int, trips: float) -> None:
    group = Group(n, options(confirm="tree", fanout=fanout), one_way_ns=10 * MS)
    group.submit()
    group.world.run()
    assert group.confirmation_ns() == [trips * 20 * MS]
    assert group.packets() == packets_with_tree(n)
    assert group.received[1, "CONFIRM"] == fanout
    assert not group.violations("HI-1", "HI-2", "HI-3", "HI-5")


def test_alone_is_success_at_once() -> None:
    group = Group(1)
    group.submit()
    group.world.run()
    assert group.results() == ["SUCCESS"]
    assert not group.world.sent


def test_several_originators_and_several_messages_each_at_once() -> None:
    group = Group(6, SLOW, one_way_ns=10 * MS, frames=True)
    for number in (1, 3, 6):
        for text in (b"a", b"b", b"c"):
            group.submit(number, text)
    group.world.run()
    assert group.results() == ["SUCCESS"] * 9
    assert group.packets() == 9 * packets(6)
    assert not group.violations()


# A node is dead


def test_dead_node_is_found_and_disjoined() -> None:
    group = Group(10, SLOW, dead=[5])
    group.submit()
    group.world.run()
    (result,) = group.notes(NoteKind.RESULT)
    assert (result.text, result.peers) == ("FAIL", (5,))
    assert group.alarms() == [("unreached", (5,))]
    assert all(group.view(node) == (1, 2, 3, 4, 6, 7, 8, 9, 10) for node in (1, 2, 4, 6, 10))
    assert group.holders(1, 1) == set(group.members) - {5}
    group.submit()
    group.submit(4)
    group.world.run()
    assert group.results() == ["FAIL", "SUCCESS", "SUCCESS"], "without it the ring closes"
    assert not group.violations("HI-1", "HI-2", "HI-3", "HI-4", "HI-5")


def test_nobody_is_disjoined_but_by_a_person_if_that_is_wanted() -> None:
    """The alarm is the same, message after message, and the view stays as it is."""
    group = Group(5, options(disjoin=False), dead=[3])
    for _ in range(3):
        group.submit()
        group.world.run()
    assert group.results() == ["FAIL"] * 3
    assert [result.peers for result in group.notes(NoteKind.RESULT, 1)] == [(3,)] * 3
    assert group.alarms(1).count(("unreached", (3,))) == 3
    assert len(group.notes(NoteKind.VIEW)) == 4, "only the first, of those that live"


def test_what_a_dead_node_costs_as_printed() -> None:
    group = Group(10, options(PRINTED, q=1, hasten=False), dead=[5])
    group.submit()
    group.world.run()
    assert group.packets() == packets_one_dead(10, 3) == 76
    repaired = Group(10, options(hasten=False), dead=[5])
    repaired.submit()
    repaired.world.run()
    # of which 3 REPORTs a round, and six questions to the suspect before it goes
    assert repaired.packets() == packets_one_dead(10, 3, q=3, reports=3) + 6


def test_the_originators_own_neighbour_is_dead() -> None:
    group = Group(5, SLOW, dead=[2])
    group.submit()
    group.world.run()
    assert group.results() == ["FAIL"]
    assert group.sent()["REPORT"] == 0
    assert group.view(1) == (1, 3, 4, 5)


def test_adjacent_dead_nodes_take_a_message_each() -> None:
    """D-HI-17: the tester of the second is dead too; |adj| = 2 sees both."""
    group = Group(8, SLOW, dead=[4, 5])
    for _ in range(3):
        group.submit()
        group.world.run()
    assert [(event.text, event.peers) for event in group.notes(NoteKind.RESULT)] == [
        ("FAIL", (4,)),
        ("FAIL", (5,)),
        ("SUCCESS", ()),
    ]
    both = Group(8, options(neighbours=2), dead=[4, 5])
    both.submit()
    both.world.run()
    assert [(event.text, event.peers) for event in both.notes(NoteKind.RESULT)] == [("FAIL", (4, 5))]
    assert both.view(1) == (1, 2, 3, 6, 7, 8)


def test_all_others_are_gone() -> None:
    group = Group(4, SLOW, dead=[2, 3, 4])
    for _ in range(4):
        group.submit()
        group.world.run()
    assert group.results() == ["FAIL", "FAIL", "FAIL", "SUCCESS"]
    assert group.view(1) == (1,)
    assert not group.violations("HI-1", "HI-2", "HI-5")


def test_originator_dies_and_the_others_fall_silent() -> None:
    group = Group(6, SLOW, dead=[4])
    group.submit()
    group.world.run(group.world.now + 5 * MS)
    group.world.kill(1)
    group.world.run()
    assert all(group.world.machine(node).settled() for node in (2, 3, 5, 6))
    # n3 about n4, and n6 about n1 itself: three times, and after each of three more tests
    assert group.sent()["REPORT"] == 2 * 3 * 4


def test_a_dead_node_among_messages_in_flight_fails_them_all() -> None:
    """What was sent to it and is decided without it must not be called a success."""
    group = Group(6, SLOW, dead=[4])
    for _ in range(3):
        group.submit()
    group.submit(2)
    group.world.run()
    assert group.results() == ["FAIL"] * 4
    assert not group.violations("HI-1", "HI-2", "HI-3", "HI-5")


# D-HI-6: a path is cut between two healthy neighbours


@pytest.mark.parametrize("victim", [3, 4, 5])
def test_cut_between_neighbours(victim: int) -> None:
    tester = victim - 1

    def cut(pdu: HimPdu, receiver: int, now: int) -> bool:
        return {pdu.src, receiver} == {tester, victim} and not isinstance(pdu, HimData)

    repaired, printed = Group(6, SLOW), Group(6, options(printed_disjoin=True))
    for group in (repaired, printed):
        group.dropped = cut
        group.submit()
        group.world.run()
    assert repaired.view(1) == repaired.members
    assert repaired.alarms(1) == [("path", (tester, victim))]
    assert repaired.results() == ["SUCCESS"], "everybody has it, and the suspect said so"
    assert not repaired.violations("HI-1", "HI-2", "HI-5")
    assert any(victim not in view.peers for view in printed.notes(NoteKind.VIEW, 1))
    assert ("unreached", (victim,)) in printed.alarms(1)
    assert "HI-5" in printed.violations()


# D-HI-4: a REPORT is lost


def test_lost_report() -> None:
    """n3 misses the DATA, n2 says so once: one lost packet makes a false success."""
    lost = {"DATA": 1, "REPORT": 1}

    def lose(pdu: HimPdu, receiver: int, now: int) -> bool:
        title = pdu.TYPE.title
        if lost.get(title, 0) and (receiver == 3 or title == "REPORT"):
            lost[title] -= 1
            return True
        return False

    for rules, false in ((options(printed_report=True, printed_test=True), 1), (options(printed_test=True), 0)):
        lost.update(DATA=1, REPORT=1)
        group = Group(5, rules)
        group.dropped = lose
        group.submit()
        group.world.run()
        assert group.results() == ["SUCCESS"]
        assert group.false_successes() == false
        assert ("HI-1" in group.violations()) == bool(false)
        assert not any(lost.values())


def test_missed_message_is_noticed_by_who_missed_it() -> None:
    """END says SUCCESS, and the one who has not got the message is the only one who can know better."""
    group = Group(5, options(printed_report=True, printed_test=True))
    group.dropped = lambda pdu, receiver, now: (
        (isinstance(pdu, HimData) and receiver == 3) or (isinstance(pdu, HimReport) and pdu.src == 2)
    )
    group.submit()
    group.world.run()
    assert group.alarms() == [("missed", (3,)), ("late report", (3,))]


# D-HI-5: a tester misses the repetition


@pytest.mark.parametrize("hasten", [True, False])
def test_tester_misses_the_repetition(hasten: bool) -> None:
    """n4 is dead and n3 its tester; n3 gets round 0 only. Printed: round 1 is clean."""

    def lose(pdu: HimPdu, receiver: int, now: int) -> bool:
        return isinstance(pdu, HimData) and receiver == 3 and pdu.round > 0

    for rules, result in ((options(printed_test=True, hasten=hasten), "SUCCESS"), (options(hasten=hasten), "FAIL")):
        group = Group(6, rules, dead=[4])
        group.dropped = lose
        group.submit()
        group.world.run()
        assert group.results() == [result]
        assert ("HI-1" in group.violations()) == (result == "SUCCESS")


def test_persistent_test_alone_finds_it_too() -> None:
    """5a without 5b: the questions of n3's own tester are lost as well."""

    def lose(pdu: HimPdu, receiver: int, now: int) -> bool:
        return receiver == 3 and pdu.round > 0 and isinstance(pdu, HimData | HimQuery)

    group = Group(6, SLOW, dead=[4])
    group.dropped = lose
    group.submit()
    group.world.run()
    assert group.results() == ["FAIL"]
    assert 4 in {node for _, pdu in group.world.sent if isinstance(pdu, HimReport) for node, _ in pdu.suspects}


# D-HI-8: chosen at random, a dead node hardly ever fails often enough within one message


def _messages_until_disjoined(rules: HimOptions, seed: int, most: int) -> int | None:
    group = Group(10, rules, dead=[4], seed=seed)
    for count in range(1, most + 1):
        group.submit()
        group.world.run(group.world.now + 15_000 * MS)
        if 4 not in group.view(1):
            return count
    return None


def test_random_neighbours_and_a_dead_node() -> None:
    chosen = options(adj="random", decide_ns=3000 * MS, count_window_ns=600_000 * MS)
    # 5a keeps a tester on a suspect it has found, so it is turned off too: what is compared is the counting alone
    printed = [_messages_until_disjoined(options(chosen, rules="printed"), seed, 12) for seed in range(12)]
    counting = [_messages_until_disjoined(options(chosen, printed_test=True), seed, 12) for seed in range(12)]
    assert sum(one is not None for one in counting) == 12, counting
    assert sum(one is None for one in printed) >= 2, printed
    both = sorted(one for one in counting if one is not None)
    assert both[len(both) // 2] <= 4


def test_first_failure_of_a_random_test_is_told_at_once() -> None:
    group = Group(10, options(adj="random", printed_test=True), dead=[4], seed=3)
    while not group.alarms(1):
        group.submit()
        group.world.run(group.world.now + 3000 * MS)
    assert group.alarms(1)[0] == ("no answer", (4,))


# D-HI-10, 11: somebody holds something else


def _altered(group: Group, victim: int) -> None:
    """Node `victim` gets other bytes, with the right hash of them, in round 0."""

    def alter(pdu: HimPdu, receiver: int, now: int) -> bool:
        if receiver == victim and isinstance(pdu, HimData) and pdu.round == 0 and pdu.payload == b"m":
            other = replace(pdu, payload=b"x", hash=hash_of(b"x"))
            group.world.at(now + 10 * MS, lambda: group.world.receive(victim, other))
            return True
        return False

    group.dropped = alter


def test_one_neighbour_cannot_tell_who_is_right() -> None:
    group = Group(6, SLOW)
    _altered(group, 4)
    group.submit()
    group.world.run()
    reports = [pdu for _, pdu in group.world.sent if isinstance(pdu, HimReport) and pdu.round == 0]
    assert {(pdu.src, pdu.suspects) for pdu in reports} >= {(3, ((4, Reason.MISMATCH),))}
    assert ("mismatch", (4,)) in group.alarms(4), "the originator repeats, and his word counts"
    assert group.results() == ["SUCCESS"]
    assert group.violations("HI-3", "HI-4").keys() == {"HI-4"}, "what was delivered cannot be taken back"


def test_majority_convicts_the_one_who_differs() -> None:
    group = Group(8, options(neighbours=3, hasten=False))
    _altered(group, 6)
    group.submit()
    group.world.run()
    reports = [pdu for _, pdu in group.world.sent if isinstance(pdu, HimReport) and pdu.round == 0]
    assert (6, ((6, Reason.MISMATCH),)) in {(pdu.src, pdu.suspects) for pdu in reports}, "it names itself"
    assert group.alarms(6) == [("mismatch", (6,))]
    assert group.results() == ["SUCCESS"]


def test_originators_predecessor_holds_something_else() -> None:
    """It finds the originator different from itself; the originator knows who is right (D-HI-19)."""
    group = Group(5, SLOW)
    _altered(group, 5)
    group.submit()
    group.world.run()
    (result,) = group.notes(NoteKind.RESULT)
    assert (result.text, result.values) == ("SUCCESS", (1,))


def test_data_whose_hash_is_wrong_is_not_taken() -> None:
    group = Group(5, SLOW)

    def damage(pdu: HimPdu, receiver: int, now: int) -> bool:
        if receiver == 3 and isinstance(pdu, HimData) and pdu.round == 0 and pdu.payload == b"m":
            group.world.at(now + 10 * MS, lambda: group.world.receive(3, replace(pdu, payload=b"n")))
            return True
        return False

    group.dropped = damage
    group.submit()
    group.world.run()
    assert group.refused(3) == ["hash"]
    assert group.results() == ["SUCCESS"]
    assert not group.violations("HI-1", "HI-4")


# Time-outs that nothing was lost for


@pytest.mark.parametrize("jitter_us", [100, 300, 900])
def test_jitter_is_no_loss(jitter_us: int) -> None:
    """A question often overtakes its DATA, and round trips vary; still hardly anything is asked or sent twice."""
    group = Group(5, HimOptions(), one_way_ns=MS, jitter_ns=jitter_us * 1000, seed=9)
    for step in range(100):
        for number in (1, 3):
            group.world.at(group.world.now + step * 20 * MS, lambda number=number: group.submit(number))  # type: ignore[misc]
    group.world.run()
    assert group.sent()["DATA"] <= 202
    assert group.packets() <= 200 * packets(5) * 1.02


# D-HI-18: everybody complains


@pytest.mark.parametrize("n", [20, 50])
def test_storm_of_reports_is_damped(n: int) -> None:
    """Every second node misses the first multicast: all their testers want to report at once.

    Without the random delay (spread 0) all n/2 REPORTs are sent; with it the first ones bring the repetition, and
    that cancels the others.
    """
    sent = {}
    for spread in (0.0, 1.0):
        group = Group(n, options(spread=spread), one_way_ns=10 * MS)
        group.dropped = lambda pdu, receiver, now: isinstance(pdu, HimData) and pdu.round == 0 and receiver % 2 == 1
        group.submit()
        group.world.run()
        assert group.results() == ["SUCCESS"]
        assert group.sent()["DATA"] == 2
        sent[spread] = group.sent()["REPORT"]
    assert sent[0.0] >= n // 2 - 1
    assert sent[1.0] <= sent[0.0] // 2, sent


# D-HI-12: T_dec must be made of the slowest tester's time-outs, not of the originator's own


def _two_sites(a: int, b: int) -> int:
    """Nodes 1 to 4 here, 5 to 8 behind a slow line."""
    return 1 * MS if (a <= 4) == (b <= 4) else 150 * MS


def test_slow_line_behind_a_fast_neighbour() -> None:
    """The originator's neighbour answers within 2 ms; n4 needs 3 questions of 0.4 s to find n5 dead.

    With T_dec from the originator's own time-outs (20 ms: 0.38 s) that REPORT comes after SUCCESS.
    """
    for pace, result in (("own", "SUCCESS"), ("group", "FAIL")):
        group = Group(8, options(pace=pace), one_way_ns=_two_sites)
        for _ in range(12):  # round trips become known
            group.submit()
            group.world.run()
        assert set(group.results()) == {"SUCCESS"}
        known = group.confirmation_ns()[-1]
        group.world.kill(5)
        group.submit()
        group.world.run()
        assert group.results()[-1] == result
        assert ("late report" in {text for text, _ in group.alarms(1)}) == (pace == "own")
        assert ("HI-1" in group.violations()) == (pace == "own")
        # 19 times: the minimum, or the time-out of a round trip of 300 ms
        assert known == 380 * MS if pace == "own" else 19 * 300 * MS < known < 19 * 600 * MS


def test_pace_arrives_after_n_messages() -> None:
    group = Group(6, options(rto_initial_ns=500 * MS), one_way_ns=5 * MS)
    for _ in range(20):
        group.submit()
        group.world.run()
    took = group.confirmation_ns()
    assert took[:5] == [19 * 500 * MS] * 5
    assert took[-1] == 19 * 20 * MS


# D-HI-13: views


def test_restarted_node_is_taken_in_again() -> None:
    group = Group(5, SLOW)
    group.submit()
    group.world.run()
    group.world.kill(3)
    group.submit(1)
    group.world.run()
    assert group.view(1) == (1, 2, 4, 5)
    group.world.restart(3, group.made(3, incarnation=2))
    group.world.run()
    assert all(group.view(node) == group.members for node in group.members)
    group.submit(3)
    group.submit(1)
    group.world.run()
    assert group.results() == ["SUCCESS", "FAIL", "SUCCESS", "SUCCESS"]
    assert group.notes(NoteKind.SENT, 3)[-1].seq == (1 << 24) + 1, "no number is used twice"
    assert not group.violations("HI-1", "HI-2", "HI-3", "HI-4", "HI-5")


def test_restart_before_anybody_noticed() -> None:
    group = Group(5, SLOW)
    group.submit()
    group.world.run(group.world.now + 15 * MS)  # delivered everywhere, decided nowhere
    group.world.kill(3)
    group.world.restart(3, group.made(3, incarnation=2))
    group.world.run()
    assert group.view(1) == group.members
    assert group.results() == ["SUCCESS"]
    assert [event.incarnation for event in group.notes(NoteKind.DELIVERED, 3)] == [1, 2], "its memory was lost"


def test_all_others_are_gone_when_a_node_restarts() -> None:
    group = Group(3, SLOW, dead=[1, 2])
    group.world.kill(3)
    group.world.restart(3, group.made(3, incarnation=2))
    group.world.run()
    assert group.alarms(3) == [("alone", (1, 2))]
    group.submit(3)
    group.world.run()
    assert group.results(3) == ["SUCCESS"]


def test_view_lost_at_a_member_is_asked_for() -> None:
    group = Group(6, SLOW, dead=[5])
    group.dropped = lambda pdu, receiver, now: pdu.TYPE.title == "VIEW" and receiver == 3 and pdu.src == 1
    group.submit()
    group.world.run()
    assert group.view(3) == group.members
    group.submit()
    group.world.run()
    assert group.view(3) == (1, 2, 3, 4, 6), "a question of the new view came, and n2 told it"
    assert group.results() == ["FAIL", "SUCCESS"]


def test_two_views_proposed_at_once() -> None:
    """n1 finds n2 dead and n4 finds n5 dead, at the same time."""
    group = Group(6, SLOW, dead=[2, 5])
    for _ in range(4):
        group.submit(1)
        group.submit(4)
        group.world.run()
    views = {group.notes(NoteKind.VIEW, node)[-1].seq for node in (1, 3, 4, 6)}
    assert len(views) == 1
    assert group.view(1) == (1, 3, 4, 6)
    assert group.results()[-2:] == ["SUCCESS", "SUCCESS"]
    assert not group.violations("HI-1", "HI-2", "HI-3", "HI-5")


@pytest.mark.parametrize("seed", range(5))
def test_join_and_disjoin_under_load(seed: int) -> None:
    group = Group(7, HimOptions(), one_way_ns=1 * MS, jitter_ns=MS // 2, loss=0.02, seed=seed)
    world, begin = group.world, group.world.now
    for step in range(60):
        for number in (1, 4, 6):
            world.at(begin + step * 5 * MS + number * 100_000, lambda number=number: group.submit(number))  # type: ignore[misc]
    world.at(begin + 80 * MS, lambda: group.world.kill(3))
    world.at(begin + 220 * MS, lambda: world.restart(3, group.made(3, incarnation=2)))
    world.run()
    assert world.settled()
    assert all(group.view(node) == group.members for node in group.members)
    assert len(group.results()) == len(group.notes(NoteKind.SENT))
    assert not group.violations("HI-1", "HI-2", "HI-3", "HI-4", "HI-5"), f"seed {seed}"


def test_wrongly_disjoined_node_comes_back() -> None:
    """It was cut off for a while; with the repaired rules it notices and asks to be taken in again."""
    group = Group(5, options(alive_ns=500 * MS))
    world = group.world
    group.cut_off(3)
    group.submit()
    world.run(world.now + 20_000 * MS)
    assert group.view(1) == (1, 2, 4, 5)
    world.link(3, True)
    world.run(world.now + 20_000 * MS)
    assert ("disjoined", (3,)) in group.alarms(3)
    assert [event.text for event in group.notes(NoteKind.LEFT)] == ["disjoined"]
    assert all(group.view(node) == group.members for node in group.members)


# D-HI-14: silence


def test_who_is_cut_off_says_so() -> None:
    group = Group(4, options(alive_ns=1000 * MS))
    world = group.world
    world.run(world.now + 5000 * MS)
    assert not group.alarms()
    world.link(3, False)
    cut = world.now
    world.run(world.now + 8000 * MS)
    assert group.alarms(3) == [("silent", (1, 2, 4))]
    assert group.alarms(1) == [("silent", (3,))]
    assert group.notes(NoteKind.ALARM, 3)[0].time_ns - cut <= 5000 * MS
    without = Group(4, SLOW)
    without.world.link(3, False)
    without.world.run()
    assert not without.alarms(), "nobody expects anything, nobody notices"


# Sizes


def test_one_byte_too_many_is_refused_at_the_sender() -> None:
    group = Group(3)
    group.submit(data=bytes(1185))
    group.submit(data=bytes(1184))
    group.world.run()
    (refusal,) = group.notes(NoteKind.REFUSED)
    assert refusal.text == "payload of 1185 bytes; one packet of 1,280 holds 1184"
    assert refusal.values == (1,)
    assert group.results() == ["SUCCESS"]


def test_an_old_message_is_not_delivered_again() -> None:
    group = Group(3, HimOptions())
    group.submit()
    group.world.run()  # to the last timer: the message is forgotten
    (data,) = [pdu for _, pdu in group.world.sent if isinstance(pdu, HimData)]
    group.world.receive(2, data)
    assert group.refused(2) == ["old"]
    assert not group.violations("HI-3")


def test_who_missed_the_end_hears_it_though_the_group_is_quick() -> None:
    """It asks after the longest time-out that there may be (D-HI-20); the originator must still know by then."""
    group = Group(5, options(HimOptions(), rto_initial_ns=20 * MS), one_way_ns=5 * MS)
    came: list[int] = []

    def first_end(pdu: HimPdu, receiver: int, now: int) -> bool:
        if not isinstance(pdu, HimEnd) or receiver != 3:
            return False
        came.append(now)
        return len(came) == 1

    group.dropped = first_end
    group.submit()
    group.world.run(group.world.now + 60_000 * MS)
    assert group.results() == ["SUCCESS"] and len(came) == 2
    assert group.alarms() == []


# Who is removed, and who finds the others again (rules of ours)


def test_who_is_reported_while_others_are_asked_is_not_removed_unheard() -> None:
    """n3 is dead. n4 does not reach n5, and its REPORT comes when T_dec is over and n3 is being asked."""
    chosen = options(maxfail=0)
    t_dec_ns, asked_ns = 19 * 200 * MS, 6 * 200 * MS
    late_ns = t_dec_ns - 900 * MS
    group = Group(6, chosen, one_way_ns=lambda src, to: late_ns if (src, to) == (4, 1) else 10 * MS, dead=[3])
    group.dropped = lambda pdu, receiver, now: {pdu.src, receiver} == {4, 5}
    began = group.world.now
    group.submit()
    group.world.run()
    (decided,) = group.notes(NoteKind.RESULT)
    assert began + t_dec_ns + asked_ns <= decided.time_ns < began + t_dec_ns + asked_ns + 100 * MS
    assert decided.peers == (3, 5), "it cannot be told that n5 has the message"
    assert group.view(1) == (1, 2, 4, 5, 6)
    assert not group.notes(NoteKind.LEFT)


def test_who_is_asked_again_says_that_it_has_nothing() -> None:
    """It may wait for a message that was overtaken, but not until it is taken for dead."""
    group = Group(3, HimOptions(maxfail=1), one_way_ns=MS)
    group.submit()
    group.world.run()
    group.world.kill(2)
    group.world.restart(2, group.made(2, incarnation=2))  # it knows no round trip, and so waits for up to 50 ms
    group.world.run()
    group.dropped = lambda pdu, receiver, now: receiver == 2 and isinstance(pdu, HimData) and pdu.seq == 2
    group.submit()
    group.world.run(group.world.now + 20 * MS)
    answers = [pdu for _, pdu, *_ in group.world.sent if isinstance(pdu, HimAnswer) and pdu.src == 2 and pdu.seq == 2]
    assert answers, "asked twice, after 7 ms and after 14 ms more"


def test_two_who_are_alone_find_each_other_again() -> None:
    group = Group(2)
    group.dropped = lambda pdu, receiver, now: True
    for _ in range(2):
        group.submit(1)
        group.submit(2)
        group.world.run()
    assert group.view(1) == (1,)
    assert group.view(2) == (2,)
    group.dropped = lambda pdu, receiver, now: False
    group.submit(1)
    group.world.run()
    assert group.view(1) == group.view(2) == (1, 2)


def test_no_number_of_a_view_is_used_again_in_a_later_life() -> None:
    """n2 takes n1 in again; then all but n3, which is cut off and has that view, come back and know nothing of it."""
    group = Group(3)
    group.world.kill(1)
    group.world.restart(1, group.made(1, incarnation=2))
    group.world.run()
    group.cut_off(3)
    for node, incarnation in ((1, 3), (2, 2)):
        group.world.kill(node)
        group.world.restart(node, group.made(node, incarnation))
    group.world.run()
    group.submit(1)
    group.world.run()
    views = {(view.seq, view.peers) for view in group.notes(NoteKind.VIEW)}
    assert (131074, (1, 2, 3)) in views
    assert len(views) == len({number for number, _ in views})


def test_what_is_told_of_messages_that_never_come_is_forgotten() -> None:
    """n3 gets no DATA: CONFIRMs of its child, and an END, are all it hears."""
    group = Group(4, options(confirm="tree", fanout=1, disjoin=False))
    group.dropped = lambda pdu, receiver, now: receiver == 3 and isinstance(pdu, HimData)
    group.submit()
    group.world.run(group.world.now + 1000 * MS)
    machine = group.world.machine(3)
    assert isinstance(machine, Him)
    tester = machine._tester
    end = HimEnd(src=1, flags=SUCCESS, round=0, origin=1, view=1 << 16, seq=1, tsval=0, seal=b"")
    group.world.receive(3, end)
    assert tester._missed
    assert tester._tree._of
    group.world.run(group.world.now + 1000_000 * MS)
    assert not tester._missed
    assert not tester._tree._of


def test_what_was_sent_before_a_message_that_is_forgotten_may_still_come() -> None:
    group = Group(3)
    group.world.run(group.world.now + MS)
    head = {"src": 1, "flags": 0, "round": 0, "origin": 1, "view": 1 << 16, "tsval": 0}
    first, second = (HimData(**head, seq=seq, hash=hash_of(b"x"), payload=b"x") for seq in (1, 2))
    group.world.receive(3, second)
    group.world.run()
    assert group.world.machine(3).settled()
    group.world.run(group.world.now + 1000_000 * MS)  # it is forgotten
    for data in (first, second, first):
        group.world.receive(3, data)
    assert [event.seq for event in group.notes(NoteKind.DELIVERED, 3)] == [2, 1]
    assert group.refused(3) == ["old"]


def test_an_answer_to_an_earlier_question_does_not_answer_the_last_one() -> None:
    """A suspect that has got a copy meanwhile is not removed for what it said before."""
    group = Group(2, options(maxfail=0, q=1))
    group.dropped = lambda pdu, receiver, now: True
    group.submit()
    asked: list[int] = []  # when n2 was asked: by the test, then twice by the originator
    while len(asked) < 3:
        group.world.run(group.world.now + MS)
        asked = [pdu.tsval for _, pdu, *_ in group.world.sent if isinstance(pdu, HimQuery) and pdu.src == 1]
    head = {"src": 2, "round": 0, "origin": 1, "view": 1 << 16, "seq": 1, "tsval": 0}
    group.world.receive(1, HimAnswer(**head, flags=0, hash=bytes(20), tsecr=asked[1], seal=b""))
    group.world.run(group.world.now + MS)
    assert group.sent()["DATA"] == 2, "it got a copy"
    assert not group.results()
    group.world.receive(1, HimAnswer(**head, flags=HAVE, hash=hash_of(b"m"), tsecr=asked[2], seal=b""))
    group.world.run(group.world.now + MS)
    assert group.results() == ["SUCCESS"]
