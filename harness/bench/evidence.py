"""What it costs to make evidence of captures and to judge it, beside decoding them alone: a run of TO that went well.

Everything is measured in one process of its own, on one core, as CPU time; memory is what came on top of that of the
decoder, which reads in blocks and keeps nothing.
"""

from __future__ import annotations

import dataclasses
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, TypeVar

from captures import samples
from captures.columns import read_frames
from captures.evidence import Event, Evidence
from captures.load import capture_files, load_evidence
from captures.walk import RECORD_HEADER
from harness.bench.decode import environment, one_core
from harness.bench.judges import orderly
from harness.bench.row import Row
from harness.closure import ROOT
from harness.judges import judge
from nodes.protocols import protocol
from nodes.wire import ETHERTYPE, encode
from nodes.wire.note import End, NoteKind, Over
from nodes.wire.to import ToData

NODES = 5

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EvidenceResult(Row):
    """CPU time and memory for the captures of one run."""

    frames: Annotated[int, "evidence of {:,} frames"]
    deliveries: Annotated[int, "{:,} deliveries of TO"]
    decode_s: Annotated[float, "decoding alone {:.2f} s"]
    evidence_s: Annotated[float, "evidence {:.2f} s: {row.making:.2f} x (promised: 2)"]  # decoding among it
    judge_s: Annotated[float, "judging {:.2f} s: {row.judging:.2f} x (promised: 2)"]
    memory_kb: Annotated[int, "memory {row.frame_kb:.2f} KB a frame (promised: 1)"]

    @property
    def making(self) -> float:
        return self.evidence_s / self.decode_s

    @property
    def judging(self) -> float:
        return self.judge_s / self.decode_s

    @property
    def frame_kb(self) -> float:
        return self.memory_kb / self.frames


def bench_evidence(deliveries: int = 1_000_000, where: Path | None = None) -> EvidenceResult:
    """Write the captures of a run with so many deliveries, and measure."""
    with tempfile.TemporaryDirectory(prefix="tutti-evidence-", dir=where) as directory:
        write_captures(Path(directory), deliveries)
        command = [sys.executable, "-m", __name__, directory]
        done = subprocess.run(
            command, capture_output=True, check=True, text=True, cwd=ROOT, env=environment(), preexec_fn=one_core
        )
        return EvidenceResult(**json.loads(done.stdout))


def write_captures(directory: Path, deliveries: int) -> None:
    """What n1 to n5 and the channel of such a run show, and the marks of the harness."""
    record = struct.Struct("<IIII")
    assert record.size == RECORD_HEADER
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        for point in ("harness", "channel", *(f"n{node}" for node in range(1, NODES + 1))):
            files[point] = stack.enter_context((directory / f"{point}.pcap").open("wb"))
            files[point].write(samples.pcap([]))
        for time_ns, point, outgoing, pdu in _frames(deliveries):
            frame = samples.cooked(ETHERTYPE, pdu, outgoing=outgoing)
            seconds, nanoseconds = divmod(time_ns, 10**9)
            files[point].write(record.pack(seconds, nanoseconds, len(frame), len(frame)) + frame)


def _frames(deliveries: int) -> Iterator[tuple[int, str, bool, bytes]]:
    """Time, capture point, outgoing, PDU."""
    *events, over = orderly(deliveries, NODES, share=1.0).notes
    numbers = dict.fromkeys(range(1, NODES + 1), 0)

    def note(event: Event) -> tuple[int, str, bool, bytes]:
        return event.time_ns, f"n{event.node}" if event.node else "harness", False, encode(event.note)

    yield note(Event(events[0].time_ns - 1, 0, NoteKind.MARK, text="start", number=1))
    for event in events:
        numbers[event.node] = event.number
        yield note(event._replace(seq=1 << 32 | event.seq))
        if event.kind is NoteKind.SENT:
            pdu = encode(_data(event))
            yield event.time_ns, f"n{event.node}", True, pdu
            yield event.time_ns + 100, "channel", False, pdu
            for node in range(1, NODES + 1):
                yield event.time_ns + 200, f"n{node}", False, pdu
    for node, number in numbers.items():
        values = End(number + 1, 0, 0, 0)
        yield note(Event(over.time_ns, node, NoteKind.END, values=values, number=number + 1))
    yield note(Event(over.time_ns + 1, 0, NoteKind.MARK, text="end", values=Over(1), number=2))


def _data(sending: Event) -> ToData:
    everybody = tuple(range(1, NODES + 1))
    return ToData(
        src=sending.node,
        cluster=1,
        n=NODES,
        flags=0,
        epoch=0,
        tseq=sending.seq,
        buf=1000,
        dst=everybody,
        ack=(sending.seq,) * NODES,
        pseq=(sending.seq,),
        v=(2,) * NODES,
        committed=(2,) * NODES,
        payload=bytes(64),
    )


# In a process of its own.


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    begin = time.process_time()
    found = work()
    return time.process_time() - begin, found


def _memory_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _measured(directory: Path) -> EvidenceResult:
    properties = protocol("to").properties

    def decoded() -> int:
        return sum(batch.num_rows for path in capture_files(directory) for batch in read_frames(path))

    def made() -> Evidence:
        return load_evidence(directory, nodes=range(1, NODES + 1), protocol="to")

    next(read_frames(capture_files(directory)[0]))  # what is imported and found out once
    decode_s, frames = _timed(decoded)
    before_kb = _memory_kb()
    evidence_s, evidence = _timed(made)
    judge_s, verdicts = _timed(lambda: judge(evidence, properties))
    wrong = [verdict for verdict in verdicts if verdict.outcome.value != "pass"]
    if wrong:
        raise AssertionError(f"the benchmark's run went well, but {wrong[0]}")
    deliveries = len(evidence.notes.of_kind(NoteKind.DELIVERED))
    return EvidenceResult(frames, deliveries, decode_s, evidence_s, judge_s, _memory_kb() - before_kb)


if __name__ == "__main__":
    print(json.dumps(dataclasses.asdict(_measured(Path(sys.argv[1])))))
