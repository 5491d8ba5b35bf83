"""delta on the wire: bytes typed by hand."""

from __future__ import annotations

import pytest

from nodes.wire import WireError, decode_untrusted, encode
from nodes.wire.delta import DeltaData
from tests.helpers.typed import golden, mend

BEFORE_CHECK = "7475 24 01 0002 0046"
AFTER_CHECK = (
    "00000001 00000005"  # seq: incarnation 1, number 5
    "0000000000000bb8"  # TS = 3000
    "0002 0001 0003"  # dest = {1, 3}
    "0003 01 00 02"  # N = 3; |CB[1]| = 1, |CB[2]| = 0, |CB[3]| = 2
    "0003 00000000000003e8"  # CB[1]: (3, 1000)
    "0001 00000000000007d0"  # CB[3]: (1, 2000)
    "0003 00000000000007d1"  # CB[3]: (3, 2001)
    "ab"
)
DATA = DeltaData(
    src=2,
    seq=1 << 32 | 5,
    ts=3000,
    ndest=2,
    dest=(1, 3),
    n=3,
    counts=(1, 0, 2),
    cb=((3, 1000), (1, 2000), (3, 2001)),
    payload=b"\xab",
)


def test_golden_bytes() -> None:
    golden(DATA, BEFORE_CHECK, AFTER_CHECK)


def test_size_is_that_of_the_paper_and_a_little() -> None:
    """The worst case for N = 10 and MAX_CB = 4 is 10 (1 + 40) bytes of tag; ours adds N itself."""
    tag = DeltaData(src=1, seq=1, ts=1, ndest=1, dest=(2,), n=10, counts=(4,) * 10, cb=((1, 1),) * 40, payload=b"")
    bare = DeltaData(src=1, seq=1, ts=1, ndest=1, dest=(2,), n=0, counts=(), cb=(), payload=b"")
    assert len(encode(tag)) - len(encode(bare)) == 410


@pytest.mark.parametrize("length", range(12, 0x45))
def test_every_cut_is_refused(length: int) -> None:
    cut = bytearray(encode(DATA)[:length])
    cut[6:8] = length.to_bytes(2, "big")
    mend(cut)
    with pytest.raises(WireError):
        decode_untrusted(bytes(cut))
