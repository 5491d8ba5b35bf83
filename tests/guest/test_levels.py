"""What waits in a network is lost on both levels when its link goes down, or another impairment takes its place."""

from __future__ import annotations

import pytest

from harness.bench.levels import bench_levels, in_memory, on_the_network
from harness.scenario import loads
from harness.scenario.explore import Explore

CHANNEL = 'channel = { rate = "10mbit", delay = "100us" }'
DOWN = 'kind = "link"\nat = "12.9ms"\nlink = "{}"\nstate = "down"\nfor = "2ms"'
OTHER = 'kind = "impair"\nat = "12.9ms"\non = "{}"\ndelay = "1ms"\nfor = "3ms"'
BOTH = OTHER + "\n[[fault]]\n" + OTHER.replace('"1ms"', '"2ms"').replace('"3ms"', '"5.5ms"')  # they overlap
CASES = [
    ("lan", "receivers", 'delay = "5ms"', OTHER.format("receivers")),
    ("one_channel", "senders", 'delay = "5ms"', DOWN.format("n1-s1")),  # what is on the channel is gone, too
    ("one_channel", "s1>n2", 'rate = "500kbit"', OTHER.format("s1>n2")),
    ("mesh", "n2>n1", 'delay = "5ms"', OTHER.format("n2>n1")),
    ("lan", "receivers", 'delay = "5ms"', BOTH.replace("{}", "receivers")),
    ("mesh", "n2>n1", 'delay = "5ms"', DOWN.format("n1-s1")),  # what comes meanwhile does not wait
    ("two_sites", "receivers", 'rate = "500kbit"', DOWN.format("n1-s1")),
    ("two_sites", "senders", 'delay = "5ms"', DOWN.format("r1-r2")),
]


def _stream(topology: str, on: str, impairment: str, fault: str) -> str:
    """Everybody sends to all, all the time."""
    channel = CHANNEL if topology == "one_channel" else ""
    messages = "".join(
        f'[[workload.message]]\nat = "{1700 * turn + 230 * node}us"\nnode = "n{node}"\nto = "all"\n'
        for turn in range(12)
        for node in (1, 2, 3)
    )
    return f"""
name = "levels"
protocol = "raw"
settle = "100ms"
[topology]
kind = "{topology}"
nodes = 3
{channel}
[[impair]]
on = "{on}"
{impairment}
[[fault]]
{fault}
[workload]
kind = "script"
{messages}"""


@pytest.mark.parametrize(("topology", "on", "impairment", "fault"), CASES)
def test_what_waits_is_lost_on_both_levels(topology: str, on: str, impairment: str, fault: str) -> None:
    case, whole = (loads(_stream(topology, on, impairment, one)) for one in (fault, fault.replace("12.9ms", "90ms")))
    delivered = in_memory(case, Explore()).delivered
    assert delivered == on_the_network(case, Explore()).delivered
    assert sum(map(len, delivered.values())) < sum(map(len, in_memory(whole, Explore()).delivered.values()))


def test_cases_of_the_search_are_judged_the_same() -> None:
    *_, levels = bench_levels(protocol="cmd", count=2)
    found = levels.document()
    assert (found["cases"], found["broken"]) == (2, 0)
