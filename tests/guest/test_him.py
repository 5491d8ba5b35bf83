"""HIM on the emulated network: what a person is told who gives it a bad key or too long a message."""

from __future__ import annotations

import json
from pathlib import Path

from captures.columns import read_frames
from captures.load import capture_files
from nodes.wire.note import NoteKind
from tests.helpers.guests import run, tutti

FRAGMENT = 44  # next header of a piece of an IPv6 packet
SMALLEST_MTU = 1280  # of IPv6

KEYED = """
name = "keyed"
protocol = "him"
[topology]
kind = "lan"
nodes = 3
[him]
auth = "hmac"
key_file = "{file}"
[workload]
kind = "bursts"
rounds = 2
"""

LONG = """
name = "long-messages"
protocol = "him"
[topology]
kind = "line"
nodes = 4
routers = 4
[workload]
kind = "script"
[[workload.message]]
at = "100ms"
node = "n1"
data = "{fits}"
[[workload.message]]
at = "600ms"
node = "n1"
data = "{long}"
[[workload.message]]
at = "600ms"
node = "n3"
data = "{fits}"
[[expect]]
metric = "success_share"
at_least = 1
[[expect]]
metric = "refused"
near = 1
tolerance = "0%"
"""


def test_a_key_that_others_may_read_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file, scenario = tmp_path / "key", tmp_path / "keyed.toml"
    file.write_bytes(b"a key of the group, 32 bytes lng")
    scenario.write_text(KEYED.format(file=file))

    file.chmod(0o644)
    readable = tutti("run", str(scenario), "--out", str(tmp_path / "readable"))
    assert readable.returncode == 2
    assert f"{file}: others may read or write the key; allow its owner alone (chmod 600)" in readable.stderr
    assert "Traceback" not in readable.stderr

    file.chmod(0o600)
    safe = tutti("run", str(scenario), "--out", str(tmp_path / "safe"))
    assert safe.returncode == 0, safe.stdout + safe.stderr
    verdict = json.loads((tmp_path / "safe/verdict.json").read_text())
    assert {one["property"] for one in verdict["properties"]} >= {f"HI-{number}" for number in range(1, 8)}

    file.write_bytes(b"short")
    short = tutti("run", str(scenario), "--out", str(tmp_path / "short"))
    assert short.returncode == 2 and f"{file}: a key has at least 16 bytes, not 5" in short.stderr


def test_one_byte_more_than_a_packet_holds_is_refused_at_its_sender(tmp_path: Path) -> None:
    text = LONG.format(fits="x" * 1184, long="y" * 1185)
    where, result = run(text, tmp_path / "run")
    assert result.status == 0
    (refusal,) = [event for event in result.evidence.notes if event.kind is NoteKind.REFUSED]
    assert (refusal.node, refusal.values) == (1, (2,)), "the second submission of n1"
    assert refusal.text == "payload of 1185 bytes; one packet of 1,280 holds 1184"
    delivered = [event for event in result.evidence.notes if event.kind is NoteKind.DELIVERED]
    assert len(delivered) == 2 * 4 and {event.about for event in delivered} == {1, 3}, "several may send at once"

    largest: dict[str, int] = {}
    for path in capture_files(where.captures):
        for batch in read_frames(path, ("original", "next_header", "type")):
            for original, header, kind in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                assert header != FRAGMENT, f"{path.stem} saw a piece of a packet"
                if kind == "him.DATA":
                    largest[path.stem] = max(largest.get(path.stem, 0), original - 20)  # without the cooked header
    assert set(largest) == {"n1", "n2", "n3", "n4", "r1", "r2", "r3", "r4"}
    assert set(largest.values()) == {SMALLEST_MTU}, "one message, one packet, unchanged through every router"


def test_a_payload_that_never_fits_is_no_scenario(tmp_path: Path) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(KEYED.format(file="/dev/null").replace("rounds = 2", "rounds = 2\npayload = 1185"))
    refused = tutti("run", str(scenario), "--out", str(tmp_path / "run"))
    assert refused.returncode == 64
    assert refused.stderr.strip().endswith("long.toml:13: a payload of him has 0 to 1184 bytes")
    assert not (tmp_path / "run").exists()
