"""Cutting a capture into ranges: both ways agree, also where a capture lies inside payloads."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from captures import samples, split
from captures.columns import read_frames
from captures.pcap import MISPLACED, Audit
from captures.walk import Order
from nodes.wire import ETHERTYPE, all_pdu_types


def offsets(path: Path, part: split.Range) -> tuple[list[int], list[int], Audit]:
    audit = Audit(str(path))
    where = {"start": part.start, "stop": part.stop, "first_frame": part.first_frame or 1}
    rows = [
        row
        for batch in read_frames(path, ["offset", "frame"], audit=audit, **where)  # type: ignore[arg-type]
        for row in batch.to_pylist()
    ]
    return [row["offset"] for row in rows], [row["frame"] for row in rows], audit


def capture(path: Path, order: Order = samples.LITTLE_NS, size: int = 3_000_000) -> Path:
    rng = random.Random(9)
    frames: list[bytes] = []
    while sum(map(len, frames)) < size:
        frames += samples.sample_frames(all_pdu_types(), rng) * 20
    rng.shuffle(frames)
    path.write_bytes(samples.pcap(frames, order=order))
    return path


@pytest.mark.parametrize("order", [Order("<", 10**9), Order(">", 10**6)])
def test_both_ways_of_cutting_find_the_same_ranges_and_lose_no_frame(tmp_path: Path, order: Order) -> None:
    path = capture(tmp_path / "x.pcap", order)
    every = offsets(path, split.Range(24, None, 1))[0]
    cuts = list(range(100_000, 3_000_000, 370_001))
    walked = split.by_walking(path, cuts)
    synchronised = split.by_resynchronising(path, cuts)
    assert synchronised is not None
    assert [(part.start, part.stop) for part in walked] == [(part.start, part.stop) for part in synchronised]
    assert len(walked) == len(cuts) + 1
    read = [offsets(path, part) for part in walked]
    assert [offset for part in read for offset in part[0]] == every
    assert [frame for part in read for frame in part[1]] == list(range(1, len(every) + 1))
    assert [part[2].findings for part in read] == [[]] * len(read)


def test_captures_inside_payloads_do_not_mislead_resynchronisation(tmp_path: Path) -> None:
    rng = random.Random(5)
    inner = samples.pcap([rng.randbytes(rng.randint(20, 90)) for _ in range(600)])
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, inner[rng.choice([0, 24]) :]) for _ in range(60)]))
    cuts = [rng.randrange(100_000, path.stat().st_size) for _ in range(40)]
    synchronised = split.by_resynchronising(path, sorted(cuts))
    assert synchronised is not None
    assert [part.start for part in synchronised] == [part.start for part in split.by_walking(path, sorted(cuts))]


def test_without_a_chain_the_file_is_walked(tmp_path: Path) -> None:
    """Frames of no bytes are no plausible chain; the index walk needs none."""
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([b""] * 90_000))
    cuts = [700_000, 1_200_000]
    assert split.by_resynchronising(path, cuts) is None
    parts = split.ranges(path, 600_000, numbered=False)
    assert [part.first_frame for part in parts] == [1, 37_501, 75_001]


def test_a_range_that_ends_inside_a_record_is_reported(tmp_path: Path) -> None:
    path = capture(tmp_path / "x.pcap", size=600_000)
    right = split.by_walking(path, [300_000])[0]
    assert right.stop is not None
    assert offsets(path, right)[2].findings == []
    wrong = split.Range(24, right.stop + 1, 1)
    assert [finding.kind for finding in offsets(path, wrong)[2].findings] == [MISPLACED]


def test_small_and_absent_files_are_one_range(tmp_path: Path) -> None:
    whole = [split.Range(24, None, 1)]
    assert split.ranges(tmp_path / "absent.pcap", 100, numbered=False) == whole
    path = tmp_path / "x.pcap"
    path.write_bytes(b"#!/bin/sh\n" * 100)
    assert split.ranges(path, 100, numbered=False) == whole
    assert split.ranges(path, 100, numbered=True) == whole
    assert split.ranges(path, 10_000, numbered=True) == whole
