"""The emulated network is what the scenario says: one order on the single channel; loss, delay and skew as asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

from captures.columns import read_frames
from captures.metrics import measure
from nodes.wire.note import NoteKind
from tests.helpers.guests import run

AS_FAST_AS_THEY_CAN = """
name = "one-order"
protocol = "raw"
seed = 5
[topology]
kind = "one_channel"
nodes = 5
channel = { rate = "100mbit", delay = "100us" }
[[impair]]
on = "receivers"
loss = "3%"
[workload]
kind = "bursts"
rounds = 200
every = "20us"
payload = 40
"""

LOSS = """
name = "loss"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 5
channel = { rate = "100mbit" }
[[impair]]
on = "receivers"
loss = "7%"
[workload]
kind = "bursts"
rounds = 400
every = "5ms"
payload = 20
"""

DELAY_AND_SKEW = """
name = "delay"
protocol = "raw"
[topology]
kind = "lan"
nodes = 3
[[impair]]
on = "s1>n3"
delay = "7ms"
[[impair]]
on = "s1>n2"
delay = "20ms"
jitter = "5ms"
distribution = "uniform"
[workload]
kind = "steady"
rate = "500/s"
for = "2s"
payload = 20
[[clock]]
node = "n2"
offset = "30ms"
[[clock]]
node = "n3"
drift = "200ppm"
"""

MANY = """
name = "many"
protocol = "raw"
[topology]
kind = "lan"
nodes = 170
[workload]
kind = "bursts"
rounds = 1
senders = "n1"
start = "0ms"
"""


def _arrivals(capture: Path) -> Iterator[tuple[int, int]]:
    """(source, number) of the RAW PDUs that came in, in order."""
    for batch in read_frames(capture, ["direction", "type", "src", "raw_seq"], types=["raw.DATA"]):
        for row in batch.to_pylist():
            if row["direction"] == "in":
                yield row["src"], row["raw_seq"]


def test_the_single_channel_has_one_order_for_all(tmp_path: Path) -> None:
    where, _ = run(AS_FAST_AS_THEY_CAN, tmp_path / "run")
    logs = {node: list(_arrivals(where.captures / f"n{node}.pcap")) for node in range(1, 6)}
    for node, log in logs.items():
        own = sum(src == node for src, _ in log)
        assert 170 <= own <= 200, f"n{node} heard {own} of its own 200 frames"
        assert 920 <= len(log) <= 1000
        changes = sum(a[0] != b[0] for a, b in pairwise(log))
        assert changes > len(log) // 5, "senders take turns on the channel"
    for a, b in combinations(logs, 2):
        place = {frame: at for at, frame in enumerate(logs[b])}
        shared = [place[frame] for frame in logs[a] if frame in place]
        assert len(shared) > 850
        assert shared == sorted(shared), f"n{a} and n{b} disagree on the order of frames that both got"


def test_loss_is_what_was_asked(tmp_path: Path) -> None:
    _, result = run(LOSS, tmp_path / "run")
    copies = 400 * 5 * 5  # 10,000
    share = measure(result.evidence, "loss_share")
    assert share is not None
    assert abs(share - 0.07) < 4 * math.sqrt(0.07 * 0.93 / copies)


def test_delay_and_skew_are_what_was_asked(tmp_path: Path) -> None:
    where, result = run(DELAY_AND_SKEW, tmp_path / "run")
    sent: dict[tuple[int, int], int] = {}
    came: dict[int, dict[tuple[int, int], int]] = {}
    for node in (1, 2, 3):
        came[node] = {}
        for batch in read_frames(
            where.captures / f"n{node}.pcap", ["time_ns", "direction", "src", "raw_seq"], types=["raw.DATA"]
        ):
            for row in batch.to_pylist():
                key = (row["src"], row["raw_seq"])
                (came[node] if row["direction"] == "in" else sent)[key] = row["time_ns"]
    from_1_to_3 = [(at - sent[key]) / 1e6 for key, at in came[3].items() if key[0] == 1]
    assert len(from_1_to_3) == 1000
    assert all(7.0 <= delay < 7.01 for delay in from_1_to_3), "to 10 microseconds"
    from_3_to_2 = [(at - sent[key]) / 1e6 for key, at in came[2].items() if key[0] == 3]
    assert all(15.0 <= delay < 25.01 for delay in from_3_to_2)
    mean = sum(from_3_to_2) / len(from_3_to_2)
    assert abs(mean - 20) < 4 * 10 / math.sqrt(12 * len(from_3_to_2))
    # n2 is 30 ms ahead all the time; n3 gains 200 us a second, and was behind before the run began.
    skew = measure(result.evidence, "clock_skew_max_ms")
    assert skew is not None and 29.9 < skew < 30.7


def test_a_link_that_comes_back_carries_at_once(tmp_path: Path) -> None:
    """Whichever it is: Linux would put off by a second what comes up where both ends have the same number."""
    cuts = [(f"n{number}", 100 * number) for number in (1, 2, 3)]
    text = """
name = "links"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "100mbit" }
[workload]
kind = "bursts"
rounds = 40
every = "10ms"
start = "5ms"
payload = 20
"""
    for node, at in cuts:
        text += f'[[fault]]\nat = "{at}ms"\nkind = "link"\nlink = "{node}-s1"\nfor = "50ms"\n'
    _, result = run(text, tmp_path / "run")
    events = result.evidence.notes
    healed = [event.time_ns for event in events if event.kind is NoteKind.FAULT and event.text.startswith("link up")]
    for (node, _), since in zip(cuts, healed, strict=True):
        soon = [e for e in events if e.kind is NoteKind.DELIVERED and since < e.time_ns < since + 10_000_000]
        assert {e.about for e in soon if e.node == int(node[1:])} == {1, 2, 3}


def test_the_first_message_of_many_nodes_comes_to_all(tmp_path: Path) -> None:
    where, _ = run(MANY, tmp_path)
    for number in range(2, 171):
        assert list(_arrivals(where.captures / f"n{number}.pcap")) == [(1, 1)], number
