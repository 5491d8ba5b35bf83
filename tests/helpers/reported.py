"""Small run directories for the tests of the report: who sent what, who captured it, written as captures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

from captures.evidence import Event, Evidence, Notes
from harness.scenario import dump, loads
from nodes.wire.note import NoteKind
from nodes.wire.raw import RawData
from tests.helpers.captured import Frame, leave_manifest, write_captures

NODES = (1, 2, 3)
SCENARIO = """
name = "small"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "10mbit", delay = "100us" }
[workload]
kind = "bursts"
rounds = 1
"""
US = 1_000
START = 1_000_000_000


def data(src: int, seq: int, payload: bytes = b"hello") -> RawData:
    """A message to all."""
    return RawData(src=src, seq=seq, ndest=len(NODES), dest=NODES, payload=payload)


def broadcast(
    pdu: RawData, at_us: int, *, lost: Sequence[int] = (), unseen: bool = False, took_us: int = 200
) -> list[Frame]:
    """A PDU on its way from its sender over the channel; `unseen`: it never gets there."""
    start = START + at_us * US
    frames = [Frame(start, f"n{pdu.src}", pdu)]
    if not unseen:
        frames.append(Frame(start + took_us // 2 * US, "channel", pdu))
        arrives = start + took_us * US
        frames += [Frame(arrives, f"n{node}", pdu, outgoing=False) for node in NODES if node not in lost]
    return frames


def events(extra: Iterable[Event] = (), end_us: int = 100_000) -> Evidence:
    """The NOTEs that every run has, and some more."""
    found = [Event(START, 0, NoteKind.MARK, text="start", number=1)]
    found += [Event(START, node, NoteKind.READY, values=(START,), number=1, local_ns=START) for node in NODES]
    numbers = dict.fromkeys((0, *NODES), 1)
    for event in extra:
        numbers[event.node] += 1
        local_ns = event.local_ns or event.time_ns
        found.append(event._replace(number=numbers[event.node], local_ns=local_ns))
    end = START + end_us * US
    found += [
        Event(end, node, NoteKind.END, values=(numbers[node] + 1, 0, 0, 0), number=numbers[node] + 1, local_ns=end)
        for node in NODES
    ]
    found.append(Event(end, 0, NoteKind.MARK, text="end", values=(1,), number=numbers[0] + 1))
    return Evidence(NODES, Notes(sorted(found, key=lambda event: event.time_ns)))


EVIL = '<script>window.broken = 1<img src=x onerror="window.broken = 2">'
WORSE = f"</script></script><script>window.broken = 3</script>{EVIL}"


def evil_run(directory: Path) -> Path:
    """A run whose name, description, NOTEs and payloads would be scripts if they were not escaped."""
    note = Event(START + 50 * US, 1, NoteKind.ALARM, text=WORSE, peers=(2,))
    frames = broadcast(data(1, 1, WORSE.encode()), 100, lost=(2,))
    return write_run(directory, frames, [note], name=EVIL, description=WORSE)


def write_run(
    directory: Path, frames: Iterable[Frame], extra: Iterable[Event] = (), *, name: str = "small", description: str = ""
) -> Path:
    """A whole run directory."""
    directory.mkdir(parents=True, exist_ok=True)
    scenario = dataclasses.replace(loads(SCENARIO), name=name, description=description)
    (directory / "scenario.toml").write_text(dump(scenario))
    write_captures(directory, events(extra), frames)
    leave_manifest(directory)
    return directory
