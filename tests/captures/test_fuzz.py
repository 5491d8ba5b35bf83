"""Fuzzing in small (`tutti bench` does the same with a million inputs), and the benchmarks on small captures."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from harness.bench.decode import Reading, bench_decode, write_capture
from harness.bench.decode_worker import WAYS
from harness.bench.fuzz import bench_fuzz
from nodes.wire import Pdu, decode_untrusted


def test_changed_pdus_and_damaged_captures_give_errors_of_one_kind() -> None:
    result = bench_fuzz(3000, seed=5)
    assert result.findings == ()
    assert 300 < result.accepted < 2900


def test_a_decoder_that_lets_another_error_through_is_found() -> None:
    def careless(data: bytes) -> Pdu:
        pdu = decode_untrusted(data)
        if len(data) > 200:
            raise IndexError("not caught")
        return pdu

    result = bench_fuzz(1000, seed=5, decode=careless)
    assert any("IndexError: not caught" in finding for finding in result.findings)
    assert any("codec refuses, decoder says" in finding for finding in result.findings)


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_way_of_reading_reads_all_frames(tmp_path: Path, shuffled: bool) -> None:
    path = write_capture(tmp_path / "x.pcap", 700, 3, shuffled=shuffled)
    assert {name: way(str(path)) for name, way in WAYS.items()} == dict.fromkeys(WAYS, 700)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing: apt-get install gcc")
def test_the_benchmark_runs_and_says_what_it_measured(tmp_path: Path) -> None:
    rows = bench_decode(4_000, rounds=1, large_bytes=1 << 22, seed=random.Random(1).randrange(9), where=tmp_path)
    rates = {row.way: row.frames_per_s for row in rows if isinstance(row, Reading)}
    assert set(rates) >= {"c", "columns", "count", "scapy", "dpkt", "dpkt_codec"}
    assert all(rate > 0 for rate in rates.values())
    assert any("columns: every field" in str(row) for row in rows)
    assert rows[-1].document()["frames"] == 4_000
    assert list(tmp_path.iterdir()) == []
