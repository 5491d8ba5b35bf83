"""The columnar decoder against the codec: field by field, on random captures of every PDU and on damaged ones."""

from __future__ import annotations

import random
import struct
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captures import samples
from captures.columns import audit, audit_table, read_by_type, read_frames, schema, schema_of
from captures.fields import column_of, field_columns
from captures.pcap import Audit
from captures.unwrap import ETHERNET, LINUX_SLL, LINUX_SLL2
from captures.walk import Order
from nodes.wire import ETHERTYPE, all_pdu_types, decode_untrusted, encode
from nodes.wire.note import Note
from nodes.wire.raw import RawData
from nodes.wire.st import StData
from tests.helpers.agreement import columns_agree, pdu_columns, rows_of
from tests.helpers.typed import mend

ORDERS = [Order(letter, fraction) for letter in "<>" for fraction in (10**9, 10**6)]
quick = settings(max_examples=60, deadline=None, derandomize=True)


@quick
@given(st.randoms(use_true_random=False), st.sampled_from([ETHERNET, LINUX_SLL2]), st.sampled_from(ORDERS))
def test_every_pdu_of_a_random_capture_reads_as_the_codec_reads_it(
    tmp_path_factory: pytest.TempPathFactory, rng: random.Random, link_type: int, order: Order
) -> None:
    pdus = [encode(samples.random_pdu(row, rng)) for row in all_pdu_types()]
    rng.shuffle(pdus)
    path = tmp_path_factory.mktemp("random") / "x.pcap"
    path.write_bytes(samples.pcap([samples.carry(pdu, rng, link_type) for pdu in pdus], link_type, order))
    rows = rows_of(path, batch_frames=rng.choice([1, 7, 100]))
    assert [row["frame"] for row in rows] == list(range(1, len(pdus) + 1))
    for row, pdu in zip(rows, pdus, strict=True):
        columns_agree(row, pdu)
    assert audit(path).findings == []


@quick
@given(st.randoms(use_true_random=False))
def test_a_changed_byte_gives_the_codec_and_the_decoder_the_same_doubt(
    tmp_path_factory: pytest.TempPathFactory, rng: random.Random
) -> None:
    """Half of the changed PDUs get a check that fits again, so that the fields themselves are wrong."""
    changed = []
    for row in all_pdu_types():
        data = bytearray(encode(samples.random_pdu(row, rng)))
        for _ in range(rng.randint(0, 3)):
            data[rng.randrange(len(data))] = rng.choice([0, 1, 0xFF, rng.randrange(256)])
        if rng.random() < 0.5:
            data += bytes(rng.randrange(9))
        elif rng.random() < 0.5:
            del data[rng.randrange(len(data)) :]
            if len(data) >= 12:
                data[6:8] = len(data).to_bytes(2, "big")
        if rng.random() < 0.7 and len(data) >= 12:
            mend(data)
        changed.append(bytes(data))
    path = tmp_path_factory.mktemp("changed") / "x.pcap"
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, data) for data in changed]))
    for found, carried in zip(rows_of(path), changed, strict=True):
        columns_agree(found, carried)


# Bytes typed by hand: a shared table cannot reveal its own mistake.
NOTE_BYTES = bytes.fromhex(
    "7475 20 01 0002 0039 f8ea6957"  # magic, version 2 and protocol 0, type 1, src 2, length 57, check
    "07 0001 00000009"  # DELIVERED, incarnation 1, number 9
    "0000000000000f42"  # local_ns 3906
    "0003 0000000100000005"  # about node 3's message 1 << 32 | 5
    "0002 01"  # two peers, one value
    "0001 0004"
    "ffffffffffffffff"  # -1
    "6f6bc3a42e"  # "okä."
)
NOTE = Note(
    src=2,
    kind=7,
    incarnation=1,
    number=9,
    local_ns=3906,
    about=3,
    seq=1 << 32 | 5,
    npeers=2,
    nvalues=1,
    peers=(1, 4),
    values=(-1,),
    text="okä.".encode(),
)
RAW_BYTES = bytes.fromhex(
    "7475 21 01 0001 0018 b8c1c527"  # magic, version 2 and protocol 1, type 1, src 1, length 24, check
    "00000007 0002"  # seq 7, two destinations
    "0002 0003"
    "6869"  # "hi"
)
RAW = RawData(src=1, seq=7, ndest=2, dest=(2, 3), payload=b"hi")


def test_golden_bytes_of_note_and_raw(tmp_path: Path) -> None:
    assert encode(NOTE) == NOTE_BYTES
    assert encode(RAW) == RAW_BYTES
    assert decode_untrusted(NOTE_BYTES + bytes(3)) == NOTE
    path = tmp_path / "n2.pcap"
    frames = [samples.cooked(ETHERTYPE, data, interface=1) for data in (NOTE_BYTES, RAW_BYTES)]
    path.write_bytes(samples.pcap(frames, start_ns=5_000_000_007))
    note, raw = rows_of(path)
    columns_agree(note, NOTE_BYTES)
    columns_agree(raw, RAW_BYTES)
    common = ["time_ns", "captured", "original", "interface", "direction", "link_src", "ethertype", "ip_src"]
    assert [note[name] for name in common] == [
        5_000_000_007,
        77,
        77,
        1,
        "out",
        bytes.fromhex("020000000001"),
        0x88B5,
        None,
    ]
    assert raw["raw_dest"] == [2, 3]
    assert (raw["frame"], raw["offset"]) == (2, 24 + 16 + 77)


def notes(path: Path) -> list[dict[str, Any]]:
    """The NOTEs of a capture."""
    return [row for batch in read_frames(path, types=["note.NOTE"]) for row in batch.to_pylist()]


def test_of_notes_only_right_ones_come(tmp_path: Path) -> None:
    path = tmp_path / "n2.pcap"
    broken = NOTE_BYTES[:-1] + b"!"
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, data) for data in (RAW_BYTES, NOTE_BYTES, broken)]))
    (row,) = notes(path)
    assert (row["frame"], row["src"], row["note_kind"], row["note_seq"]) == (2, 2, 7, 1 << 32 | 5)
    assert (row["note_peers"], row["note_values"], row["note_text"]) == ([1, 4], [-1], "okä.")


def test_text_that_is_not_utf8_is_shown_with_replacement_characters(tmp_path: Path) -> None:
    path = tmp_path / "n1.pcap"
    wrong = Note(**{field.name: getattr(NOTE, field.name) for field in fields(NOTE)} | {"text": b"a\xffb"})
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, encode(note)) for note in (wrong, NOTE)]))
    assert [row["note_text"] for row in notes(path)] == ["a\ufffdb", "okä."]


# What stands around a PDU.


def hop_by_hop(packet: bytes) -> bytes:
    """The same IPv6 packet with a router alert between its header and UDP."""
    length = int.from_bytes(packet[4:6], "big") + 8
    return packet[:4] + struct.pack("!HB", length, 0) + packet[7:40] + bytes.fromhex("1100050200000100") + packet[40:]


def test_ipv6_udp_vlan_and_the_old_cooked_header_are_taken_off(tmp_path: Path) -> None:
    packet = samples.udp6(RAW_BYTES)
    tagged = samples.ethernet(0x8100, bytes.fromhex("000586dd") + packet)
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([samples.ethernet(0x86DD, hop_by_hop(packet)), tagged], ETHERNET))
    for row in rows_of(path):
        columns_agree(row, RAW_BYTES)
        assert (row["next_header"], row["port"], row["direction"], row["interface"]) == (17, 0x88B5, None, None)
        assert row["ip_dst"] == bytes.fromhex("ff150000000000000000000000000001")
    old = struct.pack("!HHH8sH", 4, 1, 6, b"\2\0\0\0\0\1\0\0", ETHERTYPE) + RAW_BYTES
    path.write_bytes(samples.pcap([old], LINUX_SLL))
    [row] = rows_of(path)
    columns_agree(row, RAW_BYTES)
    assert (row["direction"], row["interface"]) == ("out", None)


def test_foreign_frames_are_rows_without_a_pdu(tmp_path: Path) -> None:
    frames = [
        samples.ethernet(0x0806, bytes(28)),  # ARP
        samples.ethernet(0x86DD, samples.udp6(RAW_BYTES, port=53)),
        samples.ethernet(0x86DD, samples.udp6(RAW_BYTES)[:40].replace(b"\x11", b"\x2c", 1) + bytes(8)),  # a fragment
        b"\0" * 13,  # shorter than its own header
        b"",
    ]
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap(frames, ETHERNET))
    rows = rows_of(path)
    assert len(rows) == len(frames)
    for row in rows:
        assert {name for name in pdu_columns() | {"check_ok", "error"} if row[name] is not None} == set()
    assert [row["ethertype"] for row in rows] == [0x0806, 0x86DD, 0x86DD, None, None]
    assert [row["next_header"] for row in rows] == [None, 17, 44, None, None]
    path.write_bytes(samples.pcap(frames, link_type=147))  # reserved for private use
    assert [row["ethertype"] for row in rows_of(path)] == [None] * 5


def test_a_wrong_pdu_is_counted_and_shown_and_never_half_parsed(tmp_path: Path) -> None:
    def changed(at: int, value: int) -> bytes:
        return RAW_BYTES[:at] + bytes([value]) + RAW_BYTES[at + 1 :]

    no_type, misfit = bytearray(changed(3, 200)), bytearray(changed(17, 9))
    mend(no_type)
    mend(misfit)
    wrong = {
        "shorter than the header": RAW_BYTES[:11],
        "another magic number": changed(0, 0),
        "another version": changed(2, 0x11),
        "length does not fit the frame": changed(7, 99),
        "check failed": changed(23, 0),
        "no such PDU type": bytes(no_type),
        "the fields do not fit the length": bytes(misfit),
    }
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, data) for data in wrong.values()]))
    rows = rows_of(path)
    assert [row["error"] for row in rows] == list(wrong)
    assert [row["check_ok"] for row in rows] == [None, None, None, None, False, True, True]
    for row, data in zip(rows, wrong.values(), strict=True):
        columns_agree(row, data)


@pytest.mark.parametrize("n", [3, 32, 33])
def test_a_destination_beyond_the_cluster_is_an_error(tmp_path: Path, n: int) -> None:
    zeroes = (0,) * n
    right = StData(
        src=1, cluster=1, n=n, flags=0, epoch=0, tseq=1, buf=9, dst=(1, n), ack=zeroes, pseq=zeroes, payload=b""
    )
    wrong = bytearray(encode(right))
    bitmap = len(wrong) - 8 * n - 4 * -(-n // 32)
    wrong[bitmap] |= 0x80  # entity 32 or 64
    mend(wrong)
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, bytes(data)) for data in (encode(right), wrong)]))
    first, second = rows_of(path)
    columns_agree(first, encode(right))
    columns_agree(second, bytes(wrong))
    assert second["error"] == (None if n == 32 else "an entity beyond the cluster")


def test_words_that_changed_places_fail_the_check(tmp_path: Path) -> None:
    """A sum would not see this; the check must."""
    swapped = RAW_BYTES[:18] + RAW_BYTES[20:22] + RAW_BYTES[18:20] + RAW_BYTES[22:]
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, data) for data in (RAW_BYTES, swapped)]))
    assert [row["check_ok"] for row in rows_of(path)] == [True, False]


def test_the_schema_is_a_function_of_the_table_and_no_column_stands_twice() -> None:
    names = schema().names
    assert len(names) == len(set(names))
    for row in all_pdu_types():
        for field in row.fields:
            assert column_of(row, field.name).name in names
    assert {column.family for column in field_columns()} >= {"integer", "vector", "members", "records", "text"}


def test_chosen_columns_and_types_only(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([samples.cooked(ETHERTYPE, data) for data in (NOTE_BYTES, RAW_BYTES)]))
    [batch] = list(read_frames(path, ["raw_payload", "frame"], types=["raw.DATA"]))
    assert batch.schema == schema_of(["raw_payload", "frame"])
    assert batch.to_pylist() == [{"raw_payload": b"hi", "frame": 2}]


def test_audit_table_has_a_row_per_finding_and_one_per_sound_file(tmp_path: Path) -> None:
    sound, empty = tmp_path / "a.pcap", tmp_path / "b.pcap"
    sound.write_bytes(samples.pcap([b"x" * 20]))
    empty.write_bytes(b"")
    table = audit_table([audit(sound), audit(empty), audit(tmp_path / "absent.pcap")]).to_pylist()
    assert [(row["frames"], row["kind"]) for row in table] == [(1, None), (0, "empty"), (0, "unreadable")]


def test_reading_fills_the_audit_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(samples.pcap([b"x" * 20, b"y" * 20])[:-1])
    found = Audit(str(path))
    assert len(list(read_frames(path, ["frame"], audit=found))) == 1
    assert (found.frames, [finding.kind for finding in found.findings]) == (1, ["truncated"])


# By type.


def test_fields_by_type_are_those_of_the_columns(tmp_path: Path) -> None:
    """All types mixed, every fifth frame damaged: what is no PDU is in no table."""
    rng = random.Random(11)
    frames = [frame for _ in range(6) for frame in samples.sample_frames(all_pdu_types(), rng)]
    rng.shuffle(frames)
    frames = [frame[:-1] if number % 5 == 0 else frame for number, frame in enumerate(frames)]
    path = tmp_path / "all.pcap"
    path.write_bytes(samples.pcap(frames))
    wide = [row for batch in read_frames(path) for row in batch.to_pylist()]
    found: dict[str, list[dict[str, Any]]] = {}
    for batch, by_type in read_by_type(path, ["type", "frame"], Audit("all.pcap")):
        assert batch["frame"].to_pylist() == [row["frame"] for row in wide]
        for kind, table in by_type.items():
            found.setdefault(all_pdu_types()[kind].name, []).extend(table.to_pylist())
    assert len(found) == len(all_pdu_types())
    assert any(row["type"] is None for row in wide)
    for row in all_pdu_types():
        columns = {field.name: column_of(row, field.name) for field in row.fields}
        names = {f"{name}_length" if one.is_payload else name: one for name, one in columns.items()}
        expected = [
            {name: seen[f"{one.name}_length" if one.is_payload else one.name] for name, one in names.items()}
            for seen in wide
            if seen["type"] == row.name
        ]
        assert found[row.name] == expected, row.name
