"""Faults: what each kind does to the stage and which words it says, and how these are read back."""

from __future__ import annotations

from typing import Any

import pytest

from harness.scenario import ScenarioError, dump, loads
from harness.scenario.faults import Fault
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.link import LinkState
from harness.scenario.faults.partition import Partition
from harness.scenario.faults.pause import Pause, Resume
from harness.scenario.faults.restart import Restart
from harness.scenario.faults.slow_reader import SlowReader
from harness.scenario.faults.when import Awaited, Way
from nodes.wire import Pdu
from nodes.wire.fault import FaultNote, read_fault
from nodes.wire.note import Note, NoteKind
from nodes.wire.raw import RawData
from tests.helpers.stage import MS, WrittenDown

LAN = """
name = "a"
protocol = "raw"
[topology]
kind = "lan"
nodes = 3
outsiders = 1
"""


def happens(tables: str) -> list[str]:
    """What becomes of [[fault]] tables, one line each."""
    text = LAN + "".join(f"[[fault]]\n{table}\n" for table in tables.split("---"))
    return WrittenDown().all(loads(text).fault)


# What FAULT NOTEs say is in all captures that there are: these words do not change.
DEEDS = [
    (
        'at = "1ms"\nkind = "crash"\nnode = ["n1", "n2"]\n---at = "2ms"\nkind = "restart"\nnode = "n2"',
        ["1 'crash' 1", "1 kill n1", "1 'crash' 2", "1 kill n2", "2 'restart' 2", "2 start n2"],
    ),
    ('kind = "leave"\nnode = "n3"', ["0 'leave' 3", "0 dismiss n3"]),
    (
        'kind = "pause"\nnode = ["n1", "n3"]\nfor = "5ms"',
        ["0 'pause' 1 3", "0 pause n1", "0 pause n3", "5 'resume' 1 3", "5 resume n1", "5 resume n3"],
    ),
    ('kind = "pause"\nnode = "n1"\n---at = "1ms"\nkind = "resume"\nnode = "n1"', ["0 'pause' 1", "0 pause n1"]),
    (
        'kind = "partition"\ngroups = [["n1"]]\nfor = "3ms"',
        [
            "0 'partition n1>n2 n1>n3 n2>n1 n3>n1'",
            "0 sever n1>n2 n1>n3 n2>n1 n3>n1",
            "3 'heal partition'",
            "3 sever",
        ],
    ),
    (
        'kind = "partition"\nfrom = "n1"\nto = "n2"\n---at = "4ms"\nkind = "heal"',
        ["0 'partition n1>n2'", "0 sever n1>n2", "4 'heal'", "4 sever"],
    ),
    (
        'kind = "link"\nlink = ["n1-s1", "n2-s1"]\nfor = "2ms"',
        [
            "0 'link down n1-s1 n2-s1'",
            "0 link n1-s1 down",
            "0 link n2-s1 down",
            "2 'link up n1-s1 n2-s1'",
            "2 link n1-s1 up",
            "2 link n2-s1 up",
        ],
    ),
    (
        'kind = "impair"\non = "n1-s1"\nloss = "50%"\nfor = "2ms"',
        ["0 impair n1-s1 50%", "0 'impair n1-s1'", "2 'impair ends n1-s1'", "2 restore"],
    ),
    ('kind = "clock"\nnode = "n2"\nstep = "-3ms"', ["0 'clock' 2", "0 clock n2 None -3000000 None"]),
    (
        'kind = "slow_reader"\nnode = "n2"\nread_delay = "1ms"\nfor = "9ms"',
        ["0 'slow_reader' 2", "0 reads n2 1000000 4194304", "9 'reader' 2", "9 reads n2 0 4194304"],
    ),
    ('kind = "drop"\npdu = {}', []),
    ('at = "1ms"\nkind = "forge"\nfrom = "n4"\nraw = "00"\ncount = 3\nevery = "2ms"', ["5 goes on"]),
]


@pytest.mark.parametrize(("tables", "lines"), DEEDS, ids=[tables.split('kind = "')[1][:7] for tables, _ in DEEDS])
def test_what_a_fault_does_and_says(tables: str, lines: list[str]) -> None:
    assert happens(tables)[: len(lines)] == lines
    assert bool(lines) == bool(happens(tables))


# Of two that overlap the end of one is not that of the other.
OVERLAPS: list[tuple[list[Fault], str]] = [
    (
        [Pause(node=("n1", "n2"), for_ns=5 * MS), Pause(at_ns=3 * MS, node=("n2",), for_ns=6 * MS)],
        "0 'pause' 1 2; 0 pause n1; 0 pause n2; 3 'pause' 2; 5 'resume' 1; 5 resume n1; 9 'resume' 2; 9 resume n2",
    ),
    (
        [Pause(node=("n1",), for_ns=5 * MS), Pause(at_ns=1 * MS, node=("n1",)), Resume(at_ns=2 * MS, node=("n1",))],
        "0 'pause' 1; 0 pause n1; 1 'pause' 1; 2 'resume' 1; 2 resume n1; 5 'resume' 1",
    ),
    (  # the later life is stopped by the later pause alone
        [
            Pause(node=("n1",), for_ns=5 * MS),
            Crash(at_ns=1 * MS, node=("n1",)),
            Restart(at_ns=2 * MS, node=("n1",)),
            Pause(at_ns=3 * MS, node=("n1",), for_ns=1 * MS),
        ],
        "0 'pause' 1; 0 pause n1; 1 'crash' 1; 1 kill n1; 2 'restart' 1; 2 start n1; "
        "3 'pause' 1; 3 pause n1; 4 'resume' 1; 4 resume n1; 5 'resume' 1",
    ),
    (
        [LinkState(link=("n1-s1", "n2-s1"), for_ns=5 * MS), LinkState(at_ns=3 * MS, link=("n2-s1",), for_ns=4 * MS)],
        "0 'link down n1-s1 n2-s1'; 0 link n1-s1 down; 0 link n2-s1 down; 3 'link down n2-s1'; "
        "5 'link up n1-s1'; 5 link n1-s1 up; 7 'link up n2-s1'; 7 link n2-s1 up",
    ),
    (  # it replaces the one before it
        [
            Partition(from_=("n1",), to=("n2",), for_ns=5 * MS),
            Partition(at_ns=3 * MS, from_=("n2",), to=("n1",), for_ns=6 * MS),
        ],
        "0 'partition n1>n2'; 0 sever n1>n2; 3 'partition n2>n1'; 3 sever n2>n1; 9 'heal partition'; 9 sever",
    ),
    (
        [
            SlowReader(node=("n1",), read_delay_ns=1, buffer_bytes=4096, for_ns=9 * MS),
            SlowReader(at_ns=3 * MS, node=("n1",), read_delay_ns=2, for_ns=2 * MS),
        ],
        "0 'slow_reader' 1; 0 reads n1 1 4096; 3 'slow_reader' 1; 3 reads n1 2 4096; 5 reads n1 1 4096; "
        "9 'reader' 1; 9 reads n1 0 4194304",
    ),
]


@pytest.mark.parametrize(("faults", "lines"), OVERLAPS, ids=[faults[0].KIND for faults, _ in OVERLAPS])
def test_of_two_faults_that_overlap_each_ends_alone(faults: list[Fault], lines: str) -> None:
    assert "; ".join(WrittenDown().all(faults)) == lines


@pytest.mark.parametrize(
    ("text", "peers", "note"),
    [
        ("crash", (3,), FaultNote("crash", (3,))),
        ("restart", (3,), FaultNote("restart", (3,), ends=("crash", "leave"))),
        ("pause", (1, 2), FaultNote("pause", (1, 2))),
        ("resume", (1, 2), FaultNote("resume", (1, 2), ends=("pause",))),
        ("partition n1>n2 n2>n1", (), FaultNote("partition", about="n1>n2 n2>n1")),
        ("heal partition", (), FaultNote("partition", ends=("partition",))),
        ("heal", (), FaultNote("heal", ends=("partition", "link"))),
        ("link down n1-s1 n3-s1", (), FaultNote("link", about="n1-s1 n3-s1")),
        ("link up n1-s1", (), FaultNote("link", about="n1-s1", ends=("link",))),
        ("impair receivers", (), FaultNote("impair", about="receivers")),
        ("impair ends receivers", (), FaultNote("impair", about="receivers", ends=("impair",))),
        ("slow_reader", (2,), FaultNote("slow_reader", (2,))),
        ("reader", (2,), FaultNote("slow_reader", (2,), ends=("slow_reader",))),
        ("drop DATA from n1 towards n2", (2,), FaultNote("drop", (2,), "DATA from n1 towards n2")),
        ("never heard of", (), FaultNote("never", about="heard of")),
        ("blink ends", (2,), FaultNote("blink", (2,), ends=("blink",))),
    ],
)
def test_the_words_of_a_note_are_read_back(text: str, peers: tuple[int, ...], note: FaultNote) -> None:
    assert read_fault(text, peers) == note
    assert note.text == text


def test_whom_a_fault_concerns() -> None:
    assert read_fault("link down n12-s1 n3-s1").nodes == (3, 12)
    assert read_fault("crash", (2,)).nodes == read_fault("crash", (2,)).stopped == read_fault("crash", (2,)).killed
    assert (read_fault("leave", (2,)).stopped, read_fault("leave", (2,)).killed) == ((2,), ())
    assert read_fault("heal").nodes == read_fault("heal").stopped == ()
    assert read_fault("drop towards n2", (2,)).of_one_pdu and not read_fault("forge from n4 raw", (4,)).of_one_pdu


# Moments.


def test_what_waits_for_a_moment_is_no_part_of_the_order_in_time() -> None:
    """A restart may come after a crash whose time nobody knows; what is known stays known."""
    triggered = 'kind = "crash"\nnode = "n1"\nwhen = { pdu = { src = 1 } }\n---'
    assert happens(f'{triggered}kind = "restart"\nnode = "n1"\nat = "1ms"') == ["0 waits for 1"]
    assert happens(f'{triggered}kind = "crash"\nnode = "n2"\nat = "1ms"')[1:] == ["1 'crash' 2", "1 kill n2"]
    with pytest.raises(ScenarioError, match="n2 runs"):
        happens(f'{triggered}kind = "restart"\nnode = "n2"\nat = "1ms"')
    cut = 'kind = "link"\nlink = "n1-s1"\nwhen = { pdu = {} }\n---'
    assert happens(f'{cut}kind = "heal"\nat = "1ms"')[1:] == ["1 'heal'", "1 sever"]


def note(kind: NoteKind, src: int, **fields: Any) -> Note:
    numbers = dict.fromkeys(("incarnation", "number", "local_ns", "about", "seq", "npeers", "nvalues"), 0)
    return Note(src=src, kind=kind, **{**numbers, "peers": (), "values": (), "text": b"", **fields})


def data(src: int, seq: int) -> RawData:
    return RawData(src=src, seq=seq, ndest=0, dest=(), payload=b"")


@pytest.mark.parametrize(
    ("when", "seen"),
    [
        (
            "pdu = { src = 3 }, count = 2",
            [("n3", "in", data(3, 1)), ("n3", "out", data(3, 2)), ("n3", "out", data(3, 3))],
        ),
        ("pdu = { seq = 7 }", [("n1", "out", data(1, 6)), ("n1", "in", data(2, 7)), ("n2", "out", data(2, 7))]),
        (
            'pdu = { src = 3 }, towards = "n1"',
            [("n3", "out", data(3, 1)), ("n2", "in", data(3, 1)), ("n1", "in", data(3, 1))],
        ),
        (
            'note = { kind = "VIEW", src = 2, text = "stop" }',
            [
                ("n2", "out", note(NoteKind.LEFT, 2, text=b"stop")),
                ("n2", "out", note(NoteKind.VIEW, 2, text=b"join")),
                ("n3", "out", note(NoteKind.VIEW, 3, text=b"stop")),
                ("n2", "out", note(NoteKind.VIEW, 2, text=b"stop")),
            ],
        ),
        (
            "note = { about = 2 }, count = 3",
            [(f"n{src}", "out", note(NoteKind.DELIVERED, src, about=2)) for src in (1, 2, 3)],
        ),
    ],
)
def test_a_moment_comes_with_the_last_of_these_and_only_once(when: str, seen: list[tuple[str, Way, Pdu]]) -> None:
    scenario = loads(f'{LAN}[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = {{ {when} }}')
    (crash,) = scenario.fault
    assert crash.when is not None and loads(dump(scenario)) == scenario
    awaited = Awaited(crash.when, crash.when.places(scenario.nodes))
    assert [awaited.has_come(*one) for one in (*seen, seen[-1])] == [False] * (len(seen) - 1) + [True, False]


def test_the_pdus_of_a_stream_are_no_moments() -> None:
    text = LAN.replace("raw", "tcp") + '[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = '
    with pytest.raises(ScenarioError, match="the PDUs of tcp cannot be seen in its streams: take a note"):
        loads(text + "{ pdu = {} }")
    loads(text + '{ note = { kind = "DELIVERED" } }')


def test_nothing_is_done_to_a_node_that_is_not_there_and_nothing_said() -> None:
    """What comes at a moment may find a node gone, running or stopped already."""
    gone = 'kind = "crash"\nnode = "n1"\n---'
    unknown = '---kind = "crash"\nnode = "n1"\nwhen = { pdu = {} }'
    for late in ("crash", "pause", "leave"):
        lines = happens(f'{gone}at = "1ms"\nkind = "{late}"\nnode = "n1"{unknown}')
        assert lines == ["0 waits for 1", "0 'crash' 1", "0 kill n1"]
    stopped = 'kind = "pause"\nnode = "n1"\n---at = "1ms"\nkind = "leave"\nnode = "n1"'
    assert happens(stopped + unknown) == ["0 waits for 1", "0 'pause' 1", "0 pause n1"]
    assert happens(f'kind = "restart"\nnode = "n1"{unknown}') == ["0 waits for 1"]
