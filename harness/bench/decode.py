"""How fast captures are decoded, beside other programs that read the same capture in the same run on the same core.

Figures are frames per second of CPU time, best of several rounds in which all take turns: what else the machine does
then touches all alike. Start-up is not counted: workers warm up first, and of tshark a run on a few frames is
subtracted.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from captures import samples
from captures.dissectors.lua import write_lua
from captures.walk import RECORD_HEADER
from harness.bench.row import Row
from harness.closure import ROOT
from nodes.wire import Proto, all_pdu_types, encode

_WALK = Path(__file__).with_name("walk.c")
_DISTINCT = 2000  # different frames per protocol; the rest repeats them in random order
_NOTES = 0.3  # the share of NOTEs
_TEXT, _PAYLOAD = 20, 200  # bytes at most
# The slow ones read the first part only; a frame costs them the same wherever it stands.
_SHARES = {"scapy": 200, "dpkt": 20, "dpkt_codec": 20, "tshark": 20}
_FIELDS = (
    "frame.number",
    "frame.time_epoch",
    "tutti.type",
    "tutti.src",
    "tutti.length",
    "tutti.error",
    "tutti.st_tseq",
    "tutti.st_ack",
    "tutti.note_kind",
)
# Frames per second of `columns` over that of others: what was promised.
_MEANINGS = {
    "c": "C: records walked, PDUs counted by type",
    "count": "count: the same in numpy",
    "types": "types: one column, every PDU verified",
    "columns": "columns: every field, every PDU verified",
    "shuffled": "columns, all protocols mixed in every batch",
    "dpkt": "dpkt: link, IPv6, UDP",
    "dpkt_codec": "dpkt_codec: dpkt, and the PDUs' fields by the nodes' codec",
    "tshark": "tshark -T fields",
    "scapy": "scapy: PcapReader",
}
TARGETS = {"scapy": 200.0, "dpkt_codec": 10.0, "tshark": 20.0, "c": 0.25}


@dataclass(frozen=True, slots=True)
class Reading(Row):
    """One way of reading the capture, of all fields if nothing else is said."""

    way: str
    meaning: Annotated[str, "{}"]
    frames_per_s: Annotated[float, "{:,.0f} frames/s"]
    columns_over_it: Annotated[float, "columns / it = {:.2f}"]
    promised: Annotated[float | None, "promised {:g}"] = None


@dataclass(frozen=True, slots=True)
class Decoded(Row):
    """The capture, what was missing to compare with, and how the memory of `columns` grows with the file."""

    frames: Annotated[int, "{:,} frames of mixed PDUs, one core"]
    bytes: Annotated[int, "{:,} bytes"]
    missing: Annotated[tuple[str, ...], "{} MISSING on this machine"]
    count_over_c: Annotated[float | None, "the question that the C program answers, answered by numpy: {:.2f}"]
    memory_small_kb: Annotated[int, "memory {:,} KB"]
    large_bytes: Annotated[int, "of {:,} bytes"]
    memory_large_kb: Annotated[int, "{:,} KB"]


def bench_decode(
    frames: int = 1_000_000, *, rounds: int = 3, large_bytes: int = 5 << 30, seed: int = 1, where: Path | None = None
) -> list[Row]:
    """Make the capture in a temporary directory (which needs large_bytes of room) and measure."""
    with tempfile.TemporaryDirectory(prefix="tutti-decode-", dir=where) as directory:
        place = Path(directory)
        capture = write_capture(place / "all.pcap", frames, seed)
        tiny = write_capture(place / "tiny.pcap", 50, seed)
        shuffled = write_capture(place / "shuffled.pcap", frames, seed, shuffled=True)
        parts = {way: write_capture(place / f"{way}.pcap", max(50, frames // n), seed) for way, n in _SHARES.items()}
        commands = {
            way: _worker(way, parts.get(way, capture), tiny)
            for way in ("columns", "types", "count", "scapy", "dpkt", "dpkt_codec")
        }
        commands["shuffled"] = _worker("columns", shuffled, tiny)
        missing = [name for name in ("gcc", "tshark") if shutil.which(name) is None]
        if "gcc" not in missing:
            subprocess.run(["gcc", "-O2", "-o", place / "walk", _WALK], check=True)
            commands["c"] = [str(place / "walk"), str(capture)]
        script = write_lua(place / "tutti.lua")
        rates: dict[str, float] = {}
        memory = 0
        for _ in range(rounds):
            for way, command in commands.items():
                numbers = _numbers(command)
                spent_ns = numbers[3] if way == "c" else numbers[1]
                rates[way] = max(rates.get(way, 0.0), numbers[0] * 1e9 / spent_ns)
                if way == "columns":
                    memory = numbers[2]
            if "tshark" not in missing:
                rates["tshark"] = max(rates.get("tshark", 0.0), _tshark_rate(parts["tshark"], tiny, script))
        size = capture.stat().st_size
        large = _enlarge(capture, large_bytes)
        large_memory = _numbers(_worker("columns", large, tiny))[2]
        readings = [
            Reading(way, _MEANINGS[way], rate, rates["columns"] / rate, TARGETS.get(way))
            for way, rate in sorted(rates.items(), key=lambda item: -item[1])
        ]
        over_c = rates["count"] / rates["c"] if "c" in rates else None
        return [
            *readings,
            Decoded(frames, size, tuple(missing), over_c, memory, large.stat().st_size, large_memory),
        ]


def write_capture(path: Path, frames: int, seed: int, *, shuffled: bool = False) -> Path:
    """Random PDUs of all types, in a cluster of 8, payloads up to 200 bytes, on both ways PDUs travel.

    As in captures of runs, PDUs of one protocol stand together, with NOTEs among them; `shuffled` mixes all protocols
    in every batch, which no run does and which is the worst case for columns: most rows of each are null.
    """
    rng = random.Random(seed)
    different = {proto: _different_frames(proto, rng) for proto in Proto if proto is not Proto.NOTE}
    everything = [frame for some in different.values() for frame in some]
    record = struct.Struct("<IIII")
    assert record.size == RECORD_HEADER
    with path.open("wb") as stream:
        stream.write(samples.pcap([]))
        for number in range(frames):
            some = everything if shuffled else different[list(different)[len(different) * number // frames]]
            frame = some[rng.randrange(len(some))]
            seconds, nanoseconds = divmod(10**18 + 100_000 * number, 10**9)
            stream.write(record.pack(seconds, nanoseconds, len(frame), len(frame)) + frame)
    return path


def _different_frames(proto: Proto, rng: random.Random) -> list[bytes]:
    rows = [row for row in all_pdu_types() if row.proto in (proto, Proto.NOTE)]
    weights = [_NOTES * (len(rows) - 1) / (1 - _NOTES) if row.proto is Proto.NOTE else 1.0 for row in rows]
    drawn = rng.choices(rows, weights, k=_DISTINCT)
    payloads = [_TEXT if row.proto is Proto.NOTE else _PAYLOAD for row in drawn]
    pdus = [
        samples.random_pdu(row, rng, most=8, payload=payload, cluster=8)
        for row, payload in zip(drawn, payloads, strict=True)
    ]
    return [samples.carry(encode(pdu), rng) for pdu in pdus]


def _enlarge(capture: Path, size: int) -> Path:
    """The same records again and again, in the same file, until it has this size."""
    records = capture.read_bytes()[24:]
    with capture.open("ab") as stream:
        while stream.tell() < size:
            stream.write(records)
    return capture


def _worker(way: str, capture: Path, tiny: Path) -> list[str]:
    return [sys.executable, "-m", "harness.bench.decode_worker", way, str(capture), str(tiny)]


def one_core() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _numbers(command: Sequence[str]) -> list[int]:
    done = subprocess.run(
        command, capture_output=True, check=True, text=True, cwd=ROOT, env=environment(), preexec_fn=one_core
    )
    return [int(number) for number in done.stdout.split()]


def _tshark_rate(capture: Path, tiny: Path, script: Path) -> float:
    """Frames per second of `tshark -T fields` with our dissector, start-up subtracted."""
    spent, few, all_of_them = [], 0, 0
    for path in (tiny, capture):
        command = ["tshark", "-n", "-X", f"lua_script:{script}", "-r", str(path), "-T", "fields"]
        command += [part for field in _FIELDS for part in ("-e", field)]
        before = os.times()
        done = subprocess.run(command, capture_output=True, check=True, env=environment(), preexec_fn=one_core)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
        few, all_of_them = all_of_them, done.stdout.count(b"\n")
    return (all_of_them - few) / max(spent[1] - spent[0], 0.01)  # 10 ms: what the kernel counts in


if __name__ == "__main__":
    print(bench_decode())
