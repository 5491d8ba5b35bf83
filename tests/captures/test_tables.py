"""Tables of evidence: what columns say and what rows say is the same, whichever of the two there was first."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captures import samples
from captures.columns import read_frames
from captures.evidence import Frames, Notes, facets
from captures.load import capture_files, load_evidence
from captures.tables import ListColumn, codes
from captures.tally import Tally
from nodes.delta.notes import Sent
from nodes.delta.options import DeltaOptions
from nodes.wire import all_pdu_types
from nodes.wire.note import NoteKind
from nodes.wire.table import Proto
from tests.helpers.captured import Frame, stopped, write_captures
from tests.helpers.notation import history

_LINE = "start 2@7 1+a>2,3#4 2^a 2~a 2=a 3%a,2 2[1,2#3 2!1,late 1$a:2,3 x3 r3 3+b 1-b end"


def captured(directory: Path, seed: int = 1) -> Path:
    """Captures with the NOTEs of a history, and frames of all types at two nodes and a channel."""
    rng = random.Random(seed)
    rows = [row for row in all_pdu_types() if row.proto is not Proto.NOTE]
    frames = [
        Frame(10**9 + rng.randrange(10**6), rng.choice(("n1", "n2", "r1", "channel")), pdu, rng.random() < 0.5)
        for pdu in (samples.random_pdu(row, rng, most=4) for row in rows for _ in range(3))
    ]
    return write_captures(directory, stopped(history(_LINE, options=DeltaOptions())), frames)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_captures_make_the_same_columns_again(tmp_path: Path, seed: int) -> None:
    loaded = load_evidence(captured(tmp_path, seed))
    assert len(loaded.notes) > 15
    again = Notes(loaded.notes)
    for name in ("time_ns", "node", "kind", "about", "seq", "incarnation", "number", "local_ns", "frame"):
        assert getattr(again, name).tolist() == getattr(loaded.notes, name).tolist(), (name, seed)
    everything = np.arange(len(again))
    assert again.peers_of(everything).tuples() == loaded.notes.peers_of(everything).tuples()
    assert again.values_of(everything).tuples() == loaded.notes.values_of(everything).tuples()
    frames, copied = loaded.frames, Frames(loaded.frames)
    assert len(frames) == 3 * (len(all_pdu_types()) - 1)
    columns = ("time_ns", "node", "direction", "src", "type", "length", "frame", "about", "seq", "entries", "payload")
    for name in (*columns, "sent", "came"):
        assert getattr(copied, name).tolist() == getattr(frames, name).tolist(), (name, seed)
    rows = list(frames)
    assert frames.rows(frames.came) == [one for one in rows if one.direction == "in" and one.at.startswith("n")]
    assert frames.rows(frames.sent) == [one for one in rows if one.at == "channel"]


def test_single_rows_slices_and_all_rows_are_the_same(tmp_path: Path) -> None:
    notes = load_evidence(captured(tmp_path)).notes
    rows = list(notes)
    assert [notes[at] for at in range(len(notes))] == rows
    assert notes[-1] == rows[-1] and notes[2:5] == rows[2:5]
    assert [one for one in rows if one.kind in (NoteKind.SENT, NoteKind.DELIVERED)] == notes.events(
        NoteKind.SENT, NoteKind.DELIVERED
    )
    with pytest.raises(IndexError):
        notes[len(notes)]


def test_fields_of_pdus_come_as_the_codec_gives_them(tmp_path: Path) -> None:
    rng = random.Random(5)
    for number, facet in enumerate(facets().values()):
        pdus = [samples.random_pdu(facet.pdu.TYPE, rng, most=4) for _ in range(4)]
        frames = [Frame(10**9 + index, f"n{1 + index % 2}", pdu) for index, pdu in enumerate(pdus)]
        found = load_evidence(write_captures(tmp_path / str(number), history("start end"), frames)).frames
        for name in (*facet.fields, *([facet.tag] if facet.tag else [])):
            expected = [getattr(pdu, name) for pdu in pdus]
            assert found.said(np.arange(4), name) == expected, (facet.pdu, name)


def test_bytes_of_pdus_come_from_the_captures(tmp_path: Path) -> None:
    directory = captured(tmp_path)
    (directory / "a1.pcap").write_bytes(b"")  # whatever else is there
    loaded = load_evidence(directory).frames
    sizes = loaded.length.tolist()
    assert [len(pdu) for pdu in loaded.pdus(np.arange(len(loaded)))] == sizes
    assert all(pdu[:2] == loaded.pdus(np.array([0]))[0][:2] for pdu in loaded.pdus(np.arange(len(loaded))))


def test_what_many_notes_say_is_what_each_of_them_says() -> None:
    one = history("1+a>2,3#4 1+b>2#5 1&c 2%a,1,3 2-b end", options=DeltaOptions())
    rows = np.arange(len(one.notes))
    saying, told = one.columns(Sent, rows)
    each = {at: one.said(Sent, event) for at, event in enumerate(one.notes)}
    wanted = {at: sent for at, sent in each.items() if sent is not None}
    assert saying.tolist() == list(wanted)
    assert list(zip(told.submission.tolist(), told.ts.tolist(), told.entries.tolist(), strict=True)) == [
        tuple(sent) for sent in wanted.values()
    ]


def test_all_frames_are_counted_by_what_they_carry(tmp_path: Path) -> None:
    directory = captured(tmp_path)
    (directory / "r1.pcap").write_bytes(samples.pcap([samples.cooked(0x86DD, b"nothing of ours")]))
    counted: Counter[tuple[Any, ...]] = Counter()
    for path in capture_files(directory):
        for batch in read_frames(path):
            for row in batch.to_pylist():
                counted[path.stem, row["type"], row["direction"], row["error"]] += row["captured"]
    found = load_evidence(directory).traffic
    assert {(one.capture, one.type, one.direction, one.error): one.bytes for one in found} == counted
    assert sum(one.frames for one in found) == sum(
        1 for path in capture_files(directory) for b in read_frames(path) for _ in range(b.num_rows)
    )


def test_counts_of_one_capture_add_up(tmp_path: Path) -> None:
    tally = Tally()
    (batch,) = read_frames(captured(tmp_path) / "n2.pcap")
    for _ in range(3):
        tally.add("n2", batch)
    assert sum(one.frames for one in tally.traffic()) == 3 * batch.num_rows
    assert sum(one.bytes for one in tally.traffic()) == 3 * int(batch.column("captured").to_numpy().sum())


def test_lists() -> None:
    column = ListColumn.of([(), (1, 2, 3), (), (4,)])
    assert column.counts.tolist() == [0, 3, 0, 1]
    assert column.tuples() == [(), (1, 2, 3), (), (4,)]
    assert column.at(0).tolist() == [0, 1, 0, 4]
    assert column.at(2).tolist() == [0, 3, 0, 0]
    assert column.at(np.array([0, 1, -1, 0])).tolist() == [0, 2, 0, 4]


def test_codes_count_up_as_values_appear() -> None:
    rng = random.Random(3)
    pairs = [(rng.randrange(4), rng.randrange(5) << 32) for _ in range(200)]
    first: dict[tuple[int, int], int] = {}
    wanted = [first.setdefault(pair, len(first)) for pair in pairs]
    assert codes(*np.array(pairs, np.int64).T).tolist() == wanted
    assert codes(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
