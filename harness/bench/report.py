"""How large and how quick the report of 100,000 events is: made, opened in headless Chromium, and measured there.

The run is synthetic, because a real one of this size takes minutes; but it is a whole run directory with captures that
the decoder, the judges and the report read as they read any other. Two deliveries are exchanged in the middle, so that
there is something to find.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from captures.recorded import Recorded
from captures.samples import LITTLE_NS, cooked, ethernet, pcap
from captures.unwrap import ETHERNET, LINUX_SLL2
from harness.bench.browser import Browser
from harness.bench.row import Row
from harness.manifest import Findings, Kernel, Manifest, write_manifest
from harness.report import write_report
from harness.rundir import RunDir
from harness.runs import open_run
from harness.scenario import dump, identity, loads
from harness.verdict import judge_run
from nodes.machine import Log
from nodes.wire import ETHERTYPE, Pdu, encode
from nodes.wire.note import End, NoteKind, Over, Ready, Sent
from nodes.wire.st import RETX, StData

_ORIGIN_NS = 1_700_000_000_000_000_000
_FLIGHT_NS = 180_000
_ACKS = 3  # ACK PDUs per message
_ZOOMS = 24
_SCENARIO = """
name = "{events} events"
protocol = "st"
seed = {seed}
[topology]
kind = "one_channel"
nodes = {nodes}
channel = {{ rate = "10mbit", delay = "200us" }}
[[impair]]
on = "receivers"
loss = "2%"
[workload]
kind = "steady"
rate = "100/s"
for = "10s"
[[expect]]
property = "ST-3"
verdict = "fail"
"""


class _Recording:
    """Captures in the making."""

    def __init__(self) -> None:
        self._frames: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self._notes: dict[int, int] = defaultdict(int)
        self.events = 0

    def frame(self, at: str, time_ns: int, pdu: Pdu, *, outgoing: bool = False) -> None:
        data = encode(pdu)
        whole = ethernet(ETHERTYPE, data) if at == "channel" else cooked(ETHERTYPE, data, outgoing=outgoing)
        self._frames[at].append((time_ns, whole))

    def note(self, node: int, time_ns: int, log: Log) -> None:
        self._notes[node] += 1
        note = log.note(node, 1, self._notes[node], time_ns)
        self.frame(f"n{node}" if node else "harness", time_ns, note)
        self.events += bool(node)

    def notes_of(self, node: int) -> int:
        return self._notes[node]

    def write(self, captures: Path) -> dict[str, int]:
        """All pcaps; how many frames each has."""
        captures.mkdir(parents=True)
        for at, frames in self._frames.items():
            frames.sort(key=lambda frame: frame[0])
            parts = [pcap((), ETHERNET if at == "channel" else LINUX_SLL2)]
            for time_ns, data in frames:
                parts.append(LITTLE_NS.header.pack(*divmod(time_ns, 10**9), len(data), len(data)) + data)
            (captures / f"{at}.pcap").write_bytes(b"".join(parts))
        return {at: len(frames) for at, frames in self._frames.items()}


class _Cluster:
    """Nodes on one channel that lose 2% and send again at once: all that a report must show, none of the protocol."""

    def __init__(self, nodes: int, seed: int) -> None:
        self.nodes = tuple(range(1, nodes + 1))
        self.recording = _Recording()
        self._draws = random.Random(seed)
        self._now = _ORIGIN_NS
        self._tseq = dict.fromkeys(self.nodes, 1)
        self._sent = {node: [1] * nodes for node in self.nodes}

    def run(self, events: int) -> None:
        """At least so many events."""
        self.recording.note(0, self._now, Log(NoteKind.MARK, text="start"))
        for node in self.nodes:
            self.recording.note(node, self._now, Log(NoteKind.READY, values=Ready(self._now)))
        swap: tuple[int, int] | None = None
        exchanged = False
        number = 0
        while self.recording.events < events:
            number += 1
            source = self.nodes[number % len(self.nodes)]
            seq = self._message(source, number, withheld=2 if swap is None and not exchanged else 0, events=events)
            if swap is not None:
                self._deliver(2, *swap)
                swap, exchanged = None, True
            elif not exchanged and 2 * self.recording.events > events:
                swap = (source, seq)
            for _ in range(_ACKS):
                self._put(self._draws.choice(self.nodes), b"", (), 0)
        self._now += 50_000_000
        for node in self.nodes:
            count = self.recording.notes_of(node) + 1
            end = End(notes=count, sent=0, received=0, settled=1)
            self.recording.note(node, self._now, Log(NoteKind.END, values=end))
        self.recording.note(0, self._now, Log(NoteKind.MARK, text="end", values=Over(quiet=1)))

    def _message(self, source: int, number: int, *, withheld: int, events: int) -> int:
        """One message to all; node `withheld` delivers the one in the middle of the run only after the next one."""
        recording = self.recording
        late = withheld and 2 * (recording.events + 28) > events
        seq = self._tseq[source]
        recording.note(source, self._now, Log(NoteKind.SUBMITTED, source, number, self.nodes))
        recording.note(source, self._now, Log(NoteKind.SENT, source, seq, self.nodes, Sent(number)))
        payload = b"message %d of %d " % (number, source) * 8
        lost = self._put(source, payload, self.nodes, 0)
        if lost:
            self._now += 3 * _FLIGHT_NS
            self._put(source, payload, self.nodes, RETX, tseq=seq, only=lost)
        for kind, text in (
            (NoteKind.ACCEPTED, "E4.4a"),
            (NoteKind.PREACKED, "acknowledged"),
            (NoteKind.CONFIRMED, "everybody"),
        ):
            self._now += 40_000
            for node in self.nodes:
                recording.note(node, self._now + node, Log(kind, source, seq, text=text))
        for node in self.nodes:
            if not (late and node == withheld):
                self._deliver(node, source, seq)
        return seq

    def _deliver(self, node: int, source: int, seq: int) -> None:
        self.recording.note(node, self._now + 100 + node, Log(NoteKind.DELIVERED, source, seq))

    def _put(
        self, source: int, payload: bytes, to: tuple[int, ...], flags: int, tseq: int = 0, only: tuple[int, ...] = ()
    ) -> tuple[int, ...]:
        """One PDU on the channel; who has lost it."""
        if not tseq:
            tseq, self._tseq[source] = self._tseq[source], self._tseq[source] + 1
        count = len(self.nodes)
        pdu = StData(
            src=source,
            cluster=1,
            n=count,
            flags=flags,
            epoch=0,
            tseq=tseq,
            buf=1024 - tseq % 7,
            dst=to,
            ack=tuple(self._tseq[node] for node in self.nodes),
            pseq=tuple(self._sent[source]),
            payload=payload,
        )
        if to and not flags:
            self._sent[source] = [number + 1 for number in self._sent[source]]
        recording, lost = self.recording, []
        recording.frame(f"n{source}", self._now, pdu, outgoing=True)
        recording.frame("channel", self._now + _FLIGHT_NS // 2, pdu)
        recording.events += 1 + count
        for node in self.nodes:
            if self._draws.random() < 0.02 and node not in only:
                lost.append(node)
            else:
                recording.frame(f"n{node}", self._now + _FLIGHT_NS + 150 * node, pdu)
        self._now += _FLIGHT_NS + self._draws.randrange(200_000)
        return tuple(lost)


def synthetic_run(directory: Path, events: int = 100_000, nodes: int = 5, seed: int = 1) -> Path:
    """A run directory with about so many events."""
    cluster = _Cluster(nodes, seed)
    cluster.run(events)
    directory.mkdir(parents=True, exist_ok=True)
    scenario = loads(_SCENARIO.format(events=f"{events:,}", nodes=nodes, seed=seed))
    (directory / "scenario.toml").write_text(dump(scenario))
    written = cluster.recording.write(directory / "captures")
    counted = {at: Recorded(written=count, received=count) for at, count in written.items()}
    manifest = Manifest(
        identity=identity(scenario),
        engine=scenario.engine,
        kernel=Kernel("synthetic"),
        findings=Findings(captures=counted, t0_ns=_ORIGIN_NS),
    )
    write_manifest(RunDir(directory), manifest)
    return directory


@dataclass(frozen=True, slots=True)
class PageTimes(Row):
    """What a page took: by its own clock, and of the processor (its main thread), which no neighbour can disturb."""

    events: Annotated[int, "{:,} events"]
    paint_ms: Annotated[float, "first paint after {:.0f} ms"]  # from the beginning of the navigation
    paint_cpu_ms: Annotated[float, "{:.0f} ms of processor"]
    # From a new range to the end of the frame that shows it.
    zoom_ms: Annotated[
        tuple[float, ...], "a zoom frame takes {row.zoom_median_ms:.0f} ms, at most {row.zoom_most_ms:.0f}"
    ]
    zoom_cpu_ms: Annotated[float, "{:.0f} ms of processor in the mean"]

    @property
    def zoom_median_ms(self) -> float:
        return statistics.median(self.zoom_ms)

    @property
    def zoom_most_ms(self) -> float:
        return max(self.zoom_ms)


@dataclass(frozen=True, slots=True)
class ReportResult(Row):
    """What was measured."""

    made_s: Annotated[float, "report made in {:.2f} s"]
    megabytes: Annotated[float, "{:.2f} MB"]
    page: Annotated[PageTimes, "{}"]


ZOOM = """(async () => {
  const { diagram } = tutti.explorers[0], taken = [];
  const [low, high] = diagram.whole, frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  for (let i = 0; i < %d; i++) {
    const span = (high - low) * .62 ** i, middle = low + (high - low) * .41;
    const begin = performance.now();
    diagram.setRange(middle - span / 2, middle + span / 2);
    await frame();  // the scene is laid out
    await new Promise((done) => {  // and painted: what a frame's callbacks post comes behind it
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = done;
      requestAnimationFrame(() => port2.postMessage(0));
    });
    taken.push(performance.now() - begin);
  }
  return taken;
})()"""


def measure_page(browser: Browser, page: Path) -> PageTimes:
    """First paint and zoom frames of a report, in a browser that has opened nothing before."""
    browser.open(page)
    loaded = browser.main_thread_ms()
    events = int(browser.run("tutti.explorers[0].model.events"))
    paint = float(browser.run("tutti.timing.painted"))
    before = browser.main_thread_ms()
    zooms = tuple(browser.run(ZOOM % _ZOOMS))
    return PageTimes(events, paint, loaded, zooms, (browser.main_thread_ms() - before) / _ZOOMS)


def bench_report(events: int = 100_000) -> ReportResult:
    """Make the report of a large run and open it."""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as name:
        directory = synthetic_run(Path(name) / "run", events)
        result = judge_run(open_run(directory))
        begin = time.perf_counter()
        page = write_report(result)
        made_s = time.perf_counter() - begin
        with Browser() as browser:
            return ReportResult(made_s, page.stat().st_size / 1e6, measure_page(browser, page))
