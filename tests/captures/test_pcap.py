"""The pcap reader: where records begin, and files that are cut, damaged, foreign or not there."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captures import samples
from captures.columns import read_frames
from captures.pcap import BLOCK, Audit, blocks
from captures.walk import Order, Walk, walk
from nodes.wire import ETHERTYPE

ORDERS = [Order(letter, fraction) for letter in "<>" for fraction in (10**9, 10**6)]
quick = settings(max_examples=40, deadline=None, derandomize=True)


def plain(data: bytes, start: int, order: Order) -> list[int]:
    """The walk through a file without damage, all of it in memory."""
    places = []
    while start + 16 <= len(data):
        captured = order.header.unpack_from(data, start)[2]
        if start + 16 + captured > len(data):
            break
        places.append(start)
        start += 16 + captured
    return places


def walked(data: bytes, order: Order) -> Walk:
    return walk(np.frombuffer(data, dtype=np.uint8), 24, len(data), order)


@quick
@given(st.randoms(use_true_random=False), st.sampled_from(ORDERS), st.booleans())
def test_every_whole_record_is_found(rng: random.Random, order: Order, cut: bool) -> None:
    sizes = rng.choice([(0, 40), (60, 200), (60, 1500), (1000, 9000)])
    frames = [rng.randbytes(rng.randint(*sizes)) for _ in range(rng.choice([3, 60, 400]))]
    data = samples.pcap(frames, order=order)
    if cut:
        data = data[: -rng.randint(1, len(frames[-1]) + 15)]
    found = walked(data, order)
    assert found.records.tolist() == plain(data, 24, order)
    assert found.damages == ()


def test_a_pcap_inside_payloads_does_not_mislead_the_walk() -> None:
    rng = random.Random(7)
    inner = samples.pcap([rng.randbytes(rng.randint(20, 90)) for _ in range(40)])
    data = samples.pcap([inner[24:] for _ in range(300)])
    found = walked(data, samples.LITTLE_NS)
    assert found.records.tolist() == plain(data, 24, samples.LITTLE_NS)


def some_frames(count: int, seed: int) -> list[bytes]:
    rng = random.Random(seed)
    return [samples.cooked(ETHERTYPE, rng.randbytes(rng.randint(12, 400))) for _ in range(count)]


def read(path: Path, **options: int) -> tuple[list[int], Audit]:
    """Offsets of all records, and the audit."""
    audit = Audit(str(path))
    offsets: list[int] = []
    for block in blocks(path, audit, **options):
        offsets += (block.records + block.origin).tolist()
    return offsets, audit


def test_blocks_join_without_a_seam(tmp_path: Path) -> None:
    data = samples.pcap(some_frames(6000, 1))
    path = tmp_path / "x.pcap"
    path.write_bytes(data)
    one, audit = read(path, block_bytes=BLOCK)
    many, _ = read(path, block_bytes=1)  # raised to the least possible, which is five blocks here
    assert len(data) > 4 * 262_144
    assert one == many == plain(data, 24, samples.LITTLE_NS)
    assert (audit.frames, audit.findings) == (6000, [])


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_ranges_of_a_file_hold_each_record_once(tmp_path: Path, parts: int) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap(some_frames(2000, 2)))
    every, _ = read(path)
    cuts = [every[len(every) * part // parts] for part in range(parts)] + [1 << 62]
    found: list[int] = []
    for start, stop in pairwise(cuts):
        found += read(path, start=start, stop=stop)[0]
    assert found == every


def test_every_truncation_is_a_finding(tmp_path: Path) -> None:
    data = samples.pcap(some_frames(3, 3))
    starts = plain(data, 24, samples.LITTLE_NS)
    ends = [*starts[1:], len(data)]
    path = tmp_path / "x.pcap"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        offsets, audit = read(path)
        assert offsets == [start for start, end in zip(starts, ends, strict=True) if end <= length]
        kinds = [finding.kind for finding in audit.findings]
        if length in (0, 24):
            assert kinds == ["empty"]
        elif length in ends:
            assert kinds == []
        else:
            assert kinds == (["truncated"] if length >= 4 else ["foreign"])


def test_a_damaged_middle_is_skipped_and_reported(tmp_path: Path) -> None:
    for count in (40, 8000):  # one block, and several
        data = bytearray(samples.pcap(some_frames(count, 4)))
        starts = plain(bytes(data), 24, samples.LITTLE_NS)
        hurt = starts[count // 2]
        data[hurt + 8 : hurt + 12] = b"\xff\xff\xff\x7f"
        path = tmp_path / "x.pcap"
        path.write_bytes(data)
        offsets, audit = read(path, block_bytes=1)
        assert offsets == [start for start in starts if start != hurt]
        assert walked(bytes(data), samples.LITTLE_NS).records.tolist() == offsets
        [finding] = audit.findings
        assert (finding.kind, finding.offset) == ("damaged", hurt)
        assert "2147483647 bytes is impossible" in finding.reason


def test_damage_up_to_the_end_of_the_file_is_reported(tmp_path: Path) -> None:
    data = samples.pcap(some_frames(5, 5))
    path = tmp_path / "x.pcap"
    path.write_bytes(data + b"\xff" * 600_000)
    offsets, audit = read(path, block_bytes=1)
    assert len(offsets) == 5
    assert audit.findings[0].kind == "damaged"
    assert audit.findings[0].offset == len(data)


def test_foreign_and_absent_files(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(bytes.fromhex("0a0d0d0a") + bytes(100))
    _, audit = read(path)
    assert [(finding.kind, finding.reason) for finding in audit.findings] == [("foreign", "pcapng, not pcap")]
    path.write_bytes(b"#!/bin/sh\n" * 9)
    assert [finding.kind for finding in read(path)[1].findings] == ["foreign"]
    assert [finding.kind for finding in read(tmp_path)[1].findings] == ["unreadable"]
    assert [finding.kind for finding in read(tmp_path / "absent")[1].findings] == ["unreadable"]


@quick
@given(st.binary(max_size=300), st.integers(0, 3), st.randoms(use_true_random=False))
def test_nothing_that_is_in_a_file_raises(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, kind: int, rng: random.Random
) -> None:
    data = bytearray(samples.pcap(some_frames(8, 6), rng.choice([1, 113, 276, 5]), rng.choice(ORDERS)))
    if kind == 0:
        data[24:] = junk
    elif kind == 1:
        data[rng.randrange(len(data)) :] = junk
    else:
        for _ in range(rng.randint(1, 30)):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
    path = tmp_path_factory.mktemp("junk") / "x.pcap"
    path.write_bytes(data)
    audit = Audit(str(path))
    rows = sum(batch.num_rows for batch in read_frames(path, audit=audit))
    assert rows == audit.frames
