"""cmd on the wire: bytes typed by hand."""

from __future__ import annotations

import pytest

from nodes.wire import Pdu, encode
from nodes.wire.cmd import CmdAck, CmdData, CmdHello, CmdMatrix, CmdWelcome
from tests.helpers.typed import golden

GOLDEN: list[tuple[Pdu, str, str]] = [
    (
        CmdData(
            src=2,
            incarnation=1,
            to_incarnation=3,
            link=9,
            repeated=2,
            t=4,
            n=3,
            nrec=2,
            v=(1, 4, 0),
            r=((1, 3, 1), (2, 1, 3)),
            payload=b"\xab\xcd",
        ),
        "7475 25 01 0002 003b",
        "0001 0003 00000009 02"  # incarnations 1 -> 3, copy 9, sent for the third time
        "00000004 0003 0002"  # t = 4, N = 3, two records
        "00000001 00000004 00000000"  # V(m)
        "0001 0003 00000001"  # <1, 3, 1>
        "0002 0001 00000003"  # <2, 1, 3>
        "abcd",
    ),
    (
        CmdMatrix(
            src=1, incarnation=1, to_incarnation=1, link=2, repeated=0, t=7, n=2, sent=(0, 3, 1, 0), payload=b"\x01"
        ),
        "7475 25 02 0001 002c",
        "0001 0001 00000002 00 00000007 0002 00000000 00000003 00000001 00000000 01",
    ),
    (
        CmdAck(src=3, incarnation=2, to_incarnation=1, upto=6, link=8, repeated=1),
        "7475 25 03 0003 0019",
        "0002 0001 00000006 00000008 01",
    ),
    (CmdHello(src=3, incarnation=2), "7475 25 04 0003 000e", "0002"),
    (
        CmdWelcome(src=1, incarnation=1, to_incarnation=2, mark=5),
        "7475 25 05 0001 0014",
        "0001 0002 00000005",
    ),
]


@pytest.mark.parametrize(("pdu", "before", "after"), GOLDEN, ids=[pdu.TYPE.title for pdu, _, _ in GOLDEN])
def test_golden_bytes(pdu: Pdu, before: str, after: str) -> None:
    golden(pdu, before, after)


@pytest.mark.parametrize(("n", "records", "size"), [(10, 12, 144), (3, 2, 36), (10, 90, 768)])
def test_size_is_that_of_the_paper(n: int, records: int, size: int) -> None:
    """4N + 8 nrec + 8, where the 8 are the source, t and the number of records; the source stands in our header."""
    tag = CmdData(
        src=1,
        incarnation=1,
        to_incarnation=1,
        link=1,
        repeated=0,
        t=1,
        n=n,
        nrec=records,
        v=(0,) * n,
        r=((1, 2, 3),) * records,
        payload=b"",
    )
    header, sub_layer, n_itself, source = 12, 9, 2, 2
    assert len(encode(tag)) - header - sub_layer - n_itself + source == size
