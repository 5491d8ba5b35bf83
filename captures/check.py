"""The PDU header and its check, verified for a batch of frames at a time.

The check of a PDU is its bytes as one big-endian number modulo P = 2^32 - 5, its own field zero. For a batch: PDUs of
about one size are read as rows of 32-bit words *ending* at the PDU's end, so that what stands too far left is only
masked away; word i from the end weighs 2^(32 i) = 5^i mod P. Weights are cut into three limbs of 11 bits: products
below 2^43, and up to 512 of them are summed exactly by a product of doubles, which is the fastest thing
numpy has. The check field is not zeroed: check * 2^(8 (length - 12)) is what it adds to the number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from captures.gather import Bools, Bytes8, Offsets, column_at, groups, rows_at
from nodes.wire import CHECK_MODULUS, HEADER, MAGIC, VERSION
from nodes.wire.table import CHECK_OFFSET

Doubles = npt.NDArray[np.float64]
Residues = npt.NDArray[np.uint64]

P = np.uint64(CHECK_MODULUS)
_LIMB = 11
_PIECE = 512  # words that one matrix product may sum: 2^32 * 2^11 * 2^9 = 2^52
_CHECK_END = CHECK_OFFSET + 4
_LONGEST = 0xFFFF  # what a header's length can say
_CLASSES = (_LONGEST >> 2) + 64  # words; the largest class and some
_ROWS = 4096  # rows of one matrix: they should stay in the processor's cache

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
    check = column_at(rows, CHECK_OFFSET, ">u4").view(np.uint64)
    if error.any():
        whole = np.flatnonzero(error == OK)
        good = check_holds(data, pdu_at[whole], length[whole], check[whole])
        error[whole[~good]] = CHECK_FAILED
    else:
        error[~check_holds(data, pdu_at, length, check)] = CHECK_FAILED
    length[error != OK] = 0
    return Headers(error, length, kind & 0x0FFF, column_at(rows, 4, ">u2"))


def check_holds(data: Bytes8, pdu_at: Offsets, length: Offsets, check: Residues) -> Bools:
    """Whether each PDU's bytes give the check that stands in it."""
    if not len(pdu_at):
        return np.zeros(0, dtype=bool)
    number = residues(data, pdu_at, length)
    claimed = check * (_power(int(length.max()))[length - _CHECK_END] + np.uint64(1)) % P
    found: Bools = (number == claimed) & (check < P)
    return found


def residues(data: Bytes8, start: Offsets, length: Offsets) -> Residues:
    """Each data[start:start+length], as a big-endian number, modulo P."""
    found = np.empty(len(start), dtype=np.uint64)
    end = start + length
    for words, rows in groups(_size_classes()[length], _CLASSES):
        for low in range(0, len(rows), _ROWS):
            part = rows[low : low + _ROWS]
            found[part] = _residues_of_size(data, end[part], length[part], words)
    return found


@cache
def _size_classes() -> npt.NDArray[np.uint16]:
    """How many words are read for a PDU of each length: rounded up so that few classes exist and little is masked."""
    words = -(-np.arange(_LONGEST + 1) >> 2)
    step = 1 << np.clip(np.frexp(words.astype(np.float64))[1] - 3, 2, 5).astype(np.int64)
    classes: npt.NDArray[np.uint16] = ((words + step - 1) & -step).astype(np.uint16)
    return classes


def _residues_of_size(data: Bytes8, end: Offsets, length: Offsets, words: int) -> Residues:
    matrix = rows_at(data, end - 4 * words, 4 * words).view(np.uint32)
    skip = 4 * words - length
    most = -(-int(skip.max()) // 4)
    if most:
        matrix[:, :most] &= _masks(most)[skip]
    numbers = matrix.view(">u4").astype(np.float64)
    total = np.zeros(len(end), dtype=np.uint64)
    for low in range(0, words, _PIECE):
        piece = numbers[:, low : low + _PIECE]
        # Three products with a vector: one with a matrix of three columns takes twice as long.
        first, second, third = [(piece @ limb).astype(np.uint64) for limb in _weights(words - low, piece.shape[1])]
        total += ((third % P << np.uint64(2 * _LIMB)) + (second << np.uint64(_LIMB)) + first) % P
    return total % P


@cache
def _weights(words_left: int, count: int) -> Doubles:
    """The weights of `count` words, the first of which has words_left - 1 words behind it, in three limbs."""
    weights = [pow(2, 32 * (words_left - 1 - i), CHECK_MODULUS) for i in range(count)]
    mask = (1 << _LIMB) - 1
    return np.array([[w >> shift & mask for w in weights] for shift in (0, _LIMB, 2 * _LIMB)], dtype=np.float64)


@cache
def _masks(words: int) -> npt.NDArray[np.uint32]:
    """Row i masks the first i bytes of `words` words, as they lie in memory."""
    rows = np.zeros((4 * words + 1, 4 * words), dtype=np.uint8)
    rows[np.arange(4 * words)[None, :] >= np.arange(4 * words + 1)[:, None]] = 0xFF
    return rows.view(np.uint32)


_powers: list[Residues] = [np.ones(1, dtype=np.uint64)]


def _power(most: int) -> Residues:
    """256^i mod P for i up to at least `most`."""
    while len(_powers[0]) <= most:
        known = _powers[0]
        factor = np.uint64(pow(256, len(known), CHECK_MODULUS))
        _powers[0] = np.concatenate([known, known * factor % P])
    return _powers[0]
