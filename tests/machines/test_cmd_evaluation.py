"""The tags of cmd: as many records as expected, far fewer than N², and what the baselines need instead."""

from __future__ import annotations

import math
import os

import pytest

from nodes.cmd.evaluation import TAG_SIZES, TagSize, arbitrary_reordering, bound, matrix_bytes, tag_bytes
from nodes.cmd.options import CmdOptions, Printed
from nodes.wire import encode
from nodes.wire.cmd import CmdData, CmdMatrix

RUNS = 12
MESSAGES = 1200
SIGMAS = 4
TABLE_ERROR = 0.05  # of the table itself, which is one simulation


def records(processes: int, seed: int, options: CmdOptions | None = None, messages: int = MESSAGES) -> list[int]:
    """Of every message but the first ones, when little is under way."""
    counts = [
        copy.nrec for copy, _ in arbitrary_reordering(processes, messages, seed, options) if isinstance(copy, CmdData)
    ]
    return counts[messages // 6 :]


def measure(processes: int, options: CmdOptions | None = None) -> tuple[TagSize, float]:
    """The mean over independent runs, its standard error, and the largest tag."""
    runs = [records(processes, seed, options) for seed in range(RUNS)]
    means = [sum(run) / len(run) for run in runs]
    mean = sum(means) / RUNS
    error = math.sqrt(sum((each - mean) ** 2 for each in means) / (RUNS - 1) / RUNS)
    return TagSize(mean, max(max(run) for run in runs)), error


SIZES = [3, 5, 10, 20, 40] if os.environ.get("TUTTI_THOROUGH") else [3, 5, 10]


@pytest.mark.parametrize("processes", SIZES)
def test_the_table(processes: int) -> None:
    measured, error = measure(processes)
    expected = TAG_SIZES[processes]
    assert abs(measured.mean - expected.mean) <= SIGMAS * error + TABLE_ERROR * expected.mean, (measured, error)
    assert expected.greatest / 1.5 <= measured.greatest <= expected.greatest * 1.5
    assert measured.greatest <= bound(processes)


def test_another_row_is_off_the_table() -> None:
    measured, error = measure(5)
    for other in (3, 10):
        assert abs(measured.mean - TAG_SIZES[other].mean) > SIGMAS * error + TABLE_ERROR * TAG_SIZES[other].mean


def test_the_printed_rules_have_small_tags_because_they_lose_records() -> None:
    right, _ = measure(5)
    for printed in (Printed(clock=True), Printed(sequence=True)):
        assert measure(5, CmdOptions(printed=printed))[0].mean < right.mean


@pytest.mark.parametrize("printed", [Printed(skip=True), Printed(repeat=True)], ids=["D-CM-5", "D-CM-6"])
def test_the_wasteful_rules_have_larger_tags(printed: Printed) -> None:
    assert measure(5, CmdOptions(printed=printed))[0].mean > 1.1 * measure(5)[0].mean


def test_without_pruning_tags_grow_with_every_message() -> None:
    """004 §3.1: what a process knows of is never forgotten, so a tag is as long as the history behind it."""
    counts = records(5, 1, CmdOptions(scheme="unpruned"), messages=600)
    early, late = counts[:50], counts[-50:]
    assert sum(early) / 50 < 150 and sum(late) / 50 > 400


def test_bytes_beside_the_matrix() -> None:
    """N = 10: s-records are a third of the matrix on average, and the formula is what goes over the wire."""
    copies = [copy for copy, _ in arbitrary_reordering(10, 600, 1)]
    matrices = [copy for copy, _ in arbitrary_reordering(10, 50, 1, CmdOptions(scheme="matrix"))]
    for copy in copies:
        assert isinstance(copy, CmdData)
        assert len(encode(copy)) == 12 + 9 + tag_bytes(10, copy.nrec)  # header and sub-layer; n stands for the source
    for matrix in matrices:
        assert isinstance(matrix, CmdMatrix)
        assert len(encode(matrix)) == 12 + 9 + 4 + 2 + matrix_bytes(10)
    mean = sum(map(len, map(encode, copies))) / len(copies)
    assert mean < 0.5 * len(encode(matrices[0]))
