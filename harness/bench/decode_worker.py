"""One way of reading a capture, timed, in a process of its own, so that every way starts equal and sits on one core.

`python -m harness.bench.decode_worker WAY CAPTURE FEW` reads the capture FEW to warm up, then CAPTURE, and prints
frames, CPU nanoseconds and the largest memory in kilobytes.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from nodes.wire import ETHERTYPE, UDP_PORT, all_pdu_types, decode_untrusted


def columns(path: str) -> int:
    """Every column of every frame as Arrow batches, checks verified; all but payload bytes."""
    from captures.columns import read_frames

    return sum(batch.num_rows for batch in read_frames(path))


def types(path: str) -> int:
    """One column, the PDU's type; for that, every PDU is verified and its fields are laid out."""
    from captures.columns import read_frames

    return sum(batch.num_rows for batch in read_frames(path, ["type"]))


def count(path: str) -> int:
    """What the C program does and no more: frames and bytes per type, as the PDUs claim, nothing verified."""
    from captures.pcap import Audit, blocks
    from captures.unwrap import unwrap

    total = 0
    frames_of = np.zeros(1 << 16, dtype=np.int64)
    bytes_of = np.zeros(1 << 16)
    for block in blocks(path, Audit(path)):
        for low in range(0, len(block.records), 32_768):
            frames = unwrap(block.data, block.records[low : low + 32_768], block.order, block.link_type)
            rows = np.flatnonzero(frames.pdu_at)
            kind = frames.read.half(frames.pdu_at[rows] + 2)
            frames_of += np.bincount(kind, minlength=1 << 16)
            bytes_of += np.bincount(kind, weights=frames.captured[rows], minlength=1 << 16)
            total += len(frames.records)
    return total


def scapy(path: str) -> int:
    """Scapy's PcapReader, every layer dissected."""
    from captures.dissectors.packets import read_packets

    return sum(1 for _ in read_packets(path))


def dpkt(path: str) -> int:
    """dpkt: cooked header, IPv6 and UDP; the PDU stays bytes."""
    return _dpkt(path, lambda data: data)


def dpkt_codec(path: str) -> int:
    """dpkt, and the PDU by the nodes' codec."""
    return _dpkt(path, decode_untrusted)


def _dpkt(path: str, take: Callable[[bytes], object]) -> int:
    from dpkt.ip6 import IP6
    from dpkt.pcap import Reader
    from dpkt.sll2 import SLL2
    from dpkt.udp import UDP

    frames = 0
    with open(path, "rb") as stream:  # noqa: PTH123  (what dpkt wants)
        for _, data in Reader(stream):
            frame = SLL2(data)
            inner: Any = frame.data
            if frame.ethtype == ETHERTYPE:
                take(inner)
            elif isinstance(inner, IP6) and isinstance(inner.data, UDP) and inner.data.dport == UDP_PORT:
                take(inner.data.data)
            frames += 1
    return frames


WAYS: dict[str, Callable[[str], int]] = {way.__name__: way for way in (columns, types, count, scapy, dpkt, dpkt_codec)}


def main(way: str, path: str, empty: str) -> None:
    """Read the capture once; imports and tables are paid before, with a capture of a few frames."""
    all_pdu_types()
    WAYS[way](empty)
    begin = time.process_time_ns()
    frames = WAYS[way](path)
    spent = time.process_time_ns() - begin
    print(frames, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    main(*sys.argv[1:])
