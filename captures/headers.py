"""The PDU header, read and verified for a batch of frames at a time."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from captures.gather import Bytes8, Offsets, column_at, rows_at
from nodes.wire import HEADER, MAGIC, VERSION
from nodes.wire.table import CHECK

# Why a frame that should carry a PDU does not. 0 is no error; the order is the codec's.
ERRORS = (
    "",
    "shorter than the header",
    "another magic number",
    "another version",
    "length does not fit the frame",
    "check failed",
    "no such PDU type",
    "the fields do not fit the length",
    "an entity beyond the cluster",
)
OK, SHORT, MAGIC_WRONG, VERSION_WRONG, LENGTH_WRONG, CHECK_FAILED, NO_TYPE, MISFIT, BEYOND = range(len(ERRORS))


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of a batch of PDUs, and what is wrong with them."""

    error: Offsets
    length: Offsets  # 0 where there is an error
    kind: Offsets  # protocol nibble << 8 | type
    src: Offsets


def verify(data: Bytes8, pdu_at: Offsets, room: Offsets) -> Headers:
    """The headers of the PDUs at these places; checks verified."""
    rows = rows_at(data, pdu_at, HEADER.size)
    length = column_at(rows, 6, ">u2")
    kind = column_at(rows, 2, ">u2")
    error = np.zeros(len(pdu_at), dtype=np.int64)
    error[(length < HEADER.size) | (length > room)] = LENGTH_WRONG
    error[kind >> 12 != VERSION] = VERSION_WRONG
    error[column_at(rows, 0, ">u2") != MAGIC] = MAGIC_WRONG
    error[room < HEADER.size] = SHORT
    whole = np.flatnonzero(error == OK)
    claimed = column_at(rows, CHECK.start, ">u4")[whole]
    error[whole[_checks(data, pdu_at[whole], length[whole]) != claimed]] = CHECK_FAILED
    length[error != OK] = 0
    return Headers(error, length, kind & 0x0FFF, column_at(rows, 4, ">u2"))


def _checks(data: Bytes8, start: Offsets, length: Offsets) -> Offsets:
    """`nodes.wire.check_of` of each PDU, without copying it."""
    view, before, behind = data.data, CHECK.start, CHECK.stop
    places = zip(start.tolist(), (start + length).tolist(), strict=True)
    return np.array([crc32(view[at + behind : end], crc32(view[at : at + before])) for at, end in places], np.int64)
