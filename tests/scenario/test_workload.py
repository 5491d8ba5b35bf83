"""What nodes submit: a function of the scenario, each node's draws its own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from harness.scenario import loads
from harness.workload import schedule
from nodes.shell import Submission

BASE = 'name = "w"\nprotocol = "raw"\ntopology = { kind = "lan", nodes = %d }\nseed = %d\n[workload]\n'


def planned(workload: str, nodes: int = 4, seed: int = 1) -> Mapping[str, tuple[Submission, ...]]:
    return schedule(loads(BASE % (nodes, seed) + workload))


STEADY = 'kind = "steady"\nrate = "100/s"\nfor = "10s"\npayload = 20\n'
BURSTS = 'kind = "bursts"\nrounds = 5\nevery = "20ms"\nsize = 2\nstart = "1s"\ndestinations = { fraction = 0.5 }\n'


@pytest.mark.parametrize("workload", [STEADY, STEADY + 'arrivals = "poisson"\n', BURSTS])
def test_equal_seeds_are_equal_and_others_differ(workload: str) -> None:
    assert planned(workload) == planned(workload)
    assert planned(workload, seed=2) != planned(workload)


@pytest.mark.parametrize("workload", [STEADY, STEADY + 'arrivals = "poisson"\n', BURSTS])
def test_one_node_more_leaves_instants_and_bytes_alone(workload: str) -> None:
    before, after = planned(workload), planned(workload, nodes=5)
    for node, submissions in before.items():
        assert [(one.at_ns, one.number, one.data) for one in submissions] == [
            (one.at_ns, one.number, one.data) for one in after[node]
        ]


def test_numbers_count_from_one_in_the_order_of_time() -> None:
    for workload in (STEADY, STEADY + 'arrivals = "poisson"\n', BURSTS):
        for submissions in planned(workload).values():
            assert [one.number for one in submissions] == list(range(1, len(submissions) + 1))
            assert all(a.at_ns <= b.at_ns for a, b in pairwise(submissions))


def test_bursts_are_simultaneous() -> None:
    instants = {tuple(one.at_ns for one in submissions) for submissions in planned(BURSTS).values()}
    (shared,) = instants
    assert shared == tuple(1_000_000_000 + turn * 20_000_000 for turn in range(5) for _ in range(2))


def test_periodic_senders_are_regular_but_not_in_step() -> None:
    plan = planned(STEADY)
    assert {len(submissions) for submissions in plan.values()} == {1000}
    assert len({submissions[0].at_ns for submissions in plan.values()}) == 4
    for submissions in plan.values():
        gaps = {b.at_ns - a.at_ns for a, b in pairwise(submissions)}
        assert gaps <= {9_999_999, 10_000_000, 10_000_001}
        assert 100_000_000 <= submissions[0].at_ns < submissions[-1].at_ns < 10_100_000_000


def test_poisson_arrivals_have_their_mean_and_spread() -> None:
    (submissions, *_) = planned(STEADY.replace("10s", "60s") + 'arrivals = "poisson"\n').values()
    gaps = [b.at_ns - a.at_ns for a, b in pairwise(submissions)]
    assert fmean(gaps) == pytest.approx(1e7, rel=0.05)
    assert pstdev(gaps) == pytest.approx(1e7, rel=0.05)


def test_destinations() -> None:
    def sets(destinations: str, nodes: int = 4) -> list[tuple[int, ...]]:
        plan = planned(STEADY + f"destinations = {destinations}\n", nodes)
        return [one.to for one in plan["n2"]]

    assert set(sets('"all"')) == {(1, 2, 3, 4)}
    assert set(sets('"others"')) == {(1, 3, 4)}
    assert set(sets('{ nodes = ["n3", "n1"] }')) == {(1, 3)}
    assert {len(to) for to in sets("{ fraction = 0.5 }", 5)} == {3}, "half of five, rounded up"
    assert {len(to) for to in sets("{ fraction = 0.01 }")} == {1}, "never nobody"
    unicast = sets('{ count = 1, among = "others" }')
    assert set(unicast) == {(1,), (3,), (4,)}
    assert all(unicast.count((one,)) == pytest.approx(333, abs=60) for one in (1, 3, 4))
    mixed = sets('{ count = 1, among = "others", multicast = "30%" }')
    assert mixed.count((1, 3, 4)) == pytest.approx(300, abs=60)
    assert {(1,), (3,), (4,), (1, 3, 4)} == set(mixed)


def test_payloads_are_told_apart_and_have_their_size() -> None:
    plan = planned(STEADY)
    everything = [one.data for submissions in plan.values() for one in submissions]
    assert {len(data) for data in everything} == {20}
    assert len(set(everything)) == len(everything)
    assert plan["n3"][16].data.startswith(b"n3#17 ")
    assert {one.data for one in planned(STEADY.replace("= 20", "= 2"))["n1"]} == {b"n1"}
    assert {one.data for one in planned(STEADY.replace("= 20", "= 0"))["n1"]} == {b""}


def test_only_senders_send() -> None:
    plan = planned(BURSTS + 'senders = ["n2", "n4"]\n')
    assert [bool(submissions) for submissions in plan.values()] == [False, True, False, True]


def test_a_script_is_followed() -> None:
    plan = planned(
        """kind = "script"
message = [
  { at = "2s", node = "n1", data = "c" },
  { at = "1s", node = "n1", to = ["n3", "n2"], data = "a" },
  { at = "1s", node = "n2", data = "é" },
  { at = "1s", node = "n1", to = "n4", data = "b" },
]
"""
    )
    assert plan["n1"] == (
        Submission(1_000_000_000, 1, (2, 3), b"a"),
        Submission(1_000_000_000, 2, (4,), b"b"),
        Submission(2_000_000_000, 3, (1, 2, 3, 4), b"c"),
    )
    assert plan["n2"] == (Submission(1_000_000_000, 1, (1, 2, 3, 4), "é".encode()),)
    assert plan["n3"] == plan["n4"] == ()


def test_no_workload_is_silence() -> None:
    assert set(schedule(loads((BASE % (3, 1)).replace("[workload]", ""))).values()) == {()}
