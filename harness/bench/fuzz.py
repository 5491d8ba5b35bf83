"""A million wrong inputs for what reads bytes from the network: the codec, the pcap reader and the columnar decoder.

PDUs of all types are changed (bits, cuts, joins, extreme counts; mostly with a check that fits again, so that the
damage gets past it) and fed to the codec, which may raise WireError and nothing else. The same bytes as frames must
give an error in exactly those rows. Every tenth capture is then damaged as a file: no exception, and every frame that
is left or skipped is accounted for.
"""

from __future__ import annotations

import random
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from captures import samples
from captures.columns import read_frames
from captures.pcap import Audit
from harness.bench.row import Row
from nodes.wire import HEADER, Pdu, WireError, all_pdu_types, check_of, decode_untrusted, encode
from nodes.wire.table import CHECK

_PER_CAPTURE = 1000
_EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)


@dataclass(frozen=True, slots=True)
class FuzzResult(Row):
    """What the inputs led to."""

    inputs: Annotated[int, "{:,} changed PDUs"]
    accepted: Annotated[int, "{:,} accepted, all others refused"]
    files: Annotated[int, "{:,} captures, every tenth also damaged as a file"]
    findings: Annotated[tuple[str, ...], "FINDINGS: {}"]


def bench_fuzz(
    inputs: int = 1_000_000, *, seed: int = 1, decode: Callable[[bytes], Pdu] = decode_untrusted
) -> FuzzResult:
    """Feed so many inputs. A finding names the seed and the capture's number, with which it comes again."""
    accepted = files = 0
    findings: list[str] = []
    all_pdu_types()
    with tempfile.TemporaryDirectory(prefix="tutti-fuzz-") as directory:
        path = Path(directory) / "x.pcap"
        for number in range(-(-inputs // _PER_CAPTURE)):
            rng = random.Random(f"{seed} {number}")
            changed = [changed_pdu(rng) for _ in range(min(_PER_CAPTURE, inputs - number * _PER_CAPTURE))]
            again = f"seed {seed}, capture {number}"
            verdicts: list[bool] = []
            for data in changed:
                try:
                    decode(data)
                    verdicts.append(True)
                except WireError:
                    verdicts.append(False)
                except Exception:
                    verdicts.append(False)
                    findings.append(f"{again}: the codec on {data.hex()}:\n{traceback.format_exc()}")
            accepted += sum(verdicts)
            files += 1
            capture = samples.pcap([samples.carry(data, rng) for data in changed])
            path.write_bytes(capture)
            findings += _disagreements(path, changed, verdicts, again)
            if number % 10 == 0:
                path.write_bytes(damaged(capture, rng))
                findings += _damaged_file(path, again)
    return FuzzResult(inputs, accepted, files, tuple(findings))


def changed_pdu(rng: random.Random) -> bytes:
    """A PDU with something wrong in it."""
    rows = all_pdu_types()
    data = bytearray(encode(samples.random_pdu(rng.choice(rows), rng)))
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        match rng.randrange(6):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice(_EXTREMES)
            case 2:
                data[at : at + 4] = bytes([rng.choice(_EXTREMES)]) * len(data[at : at + 4])
            case 3:
                del data[at + 1 :]
            case 4:
                data[at:at] = rng.randbytes(rng.randint(1, 8))
            case _:
                data += encode(samples.random_pdu(rng.choice(rows), rng))[at % 12 :]
    if len(data) >= HEADER.size and rng.random() < 0.8:
        data[6:8] = min(len(data), 0xFFFF).to_bytes(2, "big")
        data[CHECK] = check_of(bytes(data)).to_bytes(4, "big")
    return bytes(data)


def damaged(capture: bytes, rng: random.Random) -> bytes:
    """The capture with bytes changed, cut out or put in."""
    data = bytearray(capture)
    for _ in range(rng.randint(1, 20)):
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randint(1, 300)]
            case 2:
                data[at:at] = rng.randbytes(rng.randint(1, 300))
            case _:
                data[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\x03\x00"])
        if not data:
            break
    return bytes(data)


def _disagreements(path: Path, changed: Sequence[bytes], verdicts: Sequence[bool], again: str) -> list[str]:
    try:
        rows = [row for batch in read_frames(path, ["type", "error"]) for row in batch.to_pylist()]
        full = sum(batch.num_rows for batch in read_frames(path))
    except Exception:
        return [f"{again}: the decoder:\n{traceback.format_exc()}"]
    if len(rows) != len(changed) or full != len(changed):
        return [f"{again}: {len(rows)} rows for {len(changed)} frames"]
    return [
        f"{again}: codec {'accepts' if right else 'refuses'}, decoder says {row} of {data.hex()}"
        for row, right, data in zip(rows, verdicts, changed, strict=True)
        if (row["type"] is not None, row["error"] is None) != (right, right)
    ]


def _damaged_file(path: Path, again: str) -> list[str]:
    audit = Audit(str(path))
    try:
        rows = sum(batch.num_rows for batch in read_frames(path, audit=audit))
    except Exception:
        return [f"{again}: the damaged file:\n{traceback.format_exc()}"]
    return [] if rows == audit.frames else [f"{again}: {rows} rows, but the audit counts {audit.frames}"]


if __name__ == "__main__":
    print(bench_fuzz())
