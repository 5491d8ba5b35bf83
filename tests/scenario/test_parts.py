"""The parts of a scenario: where its keys stand, which PDUs and which nodes its faults mean."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest

from harness.scenario import Scenario, loads
from harness.scenario.document import parse
from harness.scenario.faults.partition import Partition
from harness.scenario.pdus import PduMatch
from nodes.wire.raw import RawData
from nodes.wire.st import NEED, RETX, StData

LINES = '''\
# a comment with [brackets] and "quotes"
top = "a # b"
"quoted key" . sub = 1   # dotted

[table]
list = [
  1,  # one
  { x = 'it''s', y = [2, 3] },
  "]",
]
text = """
[no table]
"""
raw = \'\'\'x = 1\'\'\'
date = 1979-05-27 07:32:00Z

[[many]]
a = 1
[many.inner]
b = {c=1,d={e=2}}
[[many]]
a = 2
[[many.deep]]
f = true
'''


def test_lines_of_keys() -> None:
    document = parse(LINES.replace("'it''s'", "'its'"), "x")
    tomllib.loads(LINES.replace("'it''s'", "'its'"))
    wanted = {
        ("top",): 2,
        ("quoted key", "sub"): 3,
        ("table",): 5,
        ("table", "list"): 6,
        ("table", "list", 1): 8,
        ("table", "list", 1, "y", 1): 8,
        ("table", "list", 2): 9,
        ("table", "text"): 11,
        ("table", "raw"): 14,
        ("table", "date"): 15,
        ("many", 0): 17,
        ("many", 0, "a"): 18,
        ("many", 0, "inner", "b", "d", "e"): 20,
        ("many", 1): 21,
        ("many", 1, "a"): 22,
        ("many", 1, "deep", 0, "f"): 24,
    }
    assert {path: document.lines.get(path) for path in wanted} == wanted
    assert document.locate(("many", 1, "deep", 0, "none"), "").place == "x:23"


def test_chosen_pdus() -> None:
    pdu = StData(
        src=3,
        cluster=1,
        n=3,
        flags=NEED,
        epoch=0,
        tseq=4,
        buf=9,
        dst=(1, 3),
        ack=(1, 4, 2),
        pseq=(1, 1, 1),
        payload=b"c",
    )
    assert PduMatch().matches(pdu)
    wanted: list[tuple[PduMatch, bool]] = [
        (PduMatch(types=("DATA", "RST")), True),
        (PduMatch(types=("RST",)), False),
        (PduMatch(src=(1, 3)), True),
        (PduMatch(src=(1,)), False),
        (PduMatch(fields=(("flags", "NEED"),)), True),
        (PduMatch(fields=(("flags", ("NEED", "!RETX")),)), True),
        (PduMatch(fields=(("flags", "RETX"),)), False),
        (PduMatch(fields=(("flags", "!NEED"),)), False),
        (PduMatch(fields=(("dst", ("n1", 3)),)), True),
        (PduMatch(fields=(("dst", ("n1",)),)), False),
        (PduMatch(fields=(("tseq", 4),)), True),
        (PduMatch(fields=(("tseq", (3, 4)),)), True),
        (PduMatch(fields=(("tseq", 5),)), False),
        (PduMatch(fields=(("ack", (1, 4, 2)),)), True),
        (PduMatch(fields=(("ack", (1, 4)),)), False),
        (PduMatch(fields=(("payload", "c"),)), True),
        (PduMatch(fields=(("payload", "cc"),)), False),
        (PduMatch(fields=(("seq", 4),)), False),
    ]
    assert [match.matches(pdu) for match, _ in wanted] == [want for _, want in wanted]
    assert not PduMatch(fields=(("flags", "RETX"),)).matches(RawData(src=1, seq=1, ndest=0, dest=(), payload=b""))
    assert PduMatch(fields=(("flags", "RETX"),)).matches(dataclasses.replace(pdu, flags=RETX | NEED))


def test_partitions() -> None:
    nodes = ("n1", "n2", "n3", "n4")
    assert Partition(groups=(("n1",),)).severed(nodes) == {
        (a, b) for a in nodes for b in nodes if a != b and "n1" in (a, b)
    }
    overlapping = Partition(groups=(("n1", "n2"), ("n2", "n3", "n4"))).severed(nodes)
    assert overlapping == {("n1", "n3"), ("n3", "n1"), ("n1", "n4"), ("n4", "n1")}
    assert Partition(from_=("n1", "n2"), to=("n2",)).severed(nodes) == {("n1", "n2")}


@pytest.mark.parametrize(
    ("partition", "heard"),
    [
        (Partition(shape="one", first="n3"), "1245 1245 3 1245 1245"),
        (Partition(shape="one", way="in"), "1 12345 12345 12345 12345"),
        (Partition(shape="one", way="out"), "12345 2345 2345 2345 2345"),
        (Partition(shape="halves"), "123 123 123 45 45"),
        (Partition(shape="halves", first="n4", way="out"), "12345 23 23 12345 12345"),
        (Partition(shape="bridge"), "12345 123 123 145 145"),
        (Partition(shape="majority_ring"), "125 123 234 345 145"),
    ],
    ids=str,
)
def test_shapes_of_partitions(partition: Partition, heard: str) -> None:
    """Whom each of five nodes hears."""
    nodes = tuple(f"n{number}" for number in range(1, 6))
    severed = partition.severed(nodes)
    assert " ".join("".join(a[1] for a in nodes if (a, b) not in severed) for b in nodes) == heard


def test_in_a_ring_of_majorities_each_hears_one_and_no_two_the_same() -> None:
    for count in range(4, 20):
        nodes = tuple(f"n{number}" for number in range(1, count + 1))
        severed = Partition(shape="majority_ring").severed(nodes)
        heard = [frozenset(a for a in nodes if (a, b) not in severed) for b in nodes]
        assert all(2 * len(one) > count for one in heard) and len(set(heard)) == count and severed


def test_a_scenario_knows_its_network() -> None:
    scenario = loads('name = "a"\nprotocol = "raw"\ntopology = { kind = "two_sites", nodes = 4, first_site = 1 }')
    assert isinstance(scenario, Scenario)
    assert scenario.plan().lan_of("n4").hosts == ("n2", "n3", "n4")
    assert scenario.nodes == ("n1", "n2", "n3", "n4")
