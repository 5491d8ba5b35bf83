"""The process around a machine: it owns the sockets, the timer and the clocks, and nothing of the protocol.

One loop: what is due from the schedule, what the network brought, the machine's deadline; then sleep until the next
of them. Time is read once per turn (every reading takes virtual time), and the socket is drained before
anything else is asked of the kernel.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nodes.clock import Clock
from nodes.links import Attachment, Loopback, attach
from nodes.machine import Farewell, Input, Log, Machine, Received, Send, Setting, Submit, Wake
from nodes.protocols import protocol
from nodes.streams import Streams
from nodes.tally import Tally
from nodes.waiting import readable
from nodes.wire import RangeError, WireError, decode_untrusted, encode
from nodes.wire.note import ClockSet, End, NoteKind, Ready, Submitted, digest_of

_PR_SET_NAME, _PR_SET_TIMERSLACK = 15, 29
# Turns in a row without sleeping after which a machine is taken for stuck: with a clock that moves only while
# everybody sleeps, a deadline that never gets past now would hang the run for ever.
_TURNS_MAX = 100_000


class NotReady(RuntimeError):
    """A node did not come to work in time, which says nothing against it: its network may have been cut."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One line of a node's workload."""

    at_ns: int  # true time
    number: int
    to: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """Everything a node process is told when it begins."""

    protocol: str
    options: Any
    setting: Setting
    attachment: Attachment
    schedule: Sequence[Submission]
    clock: Clock
    state_file: Path  # where the incarnation survives a crash
    run_dir: Path  # for what it leaves there beside captures, and what was brought along
    read_delay_ns: int = 0


def next_incarnation(path: Path) -> int:
    """Count this start of the node in stable storage: an incarnation is never used twice."""
    incarnation = int(path.read_text()) + 1 if path.exists() else 1
    partial = path.with_suffix(".new")
    with partial.open("w") as file:
        file.write(str(incarnation))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    return incarnation


def run_node(config: NodeConfig, tally: Tally, control: socket.socket) -> NoReturn:
    """A node process from here to its end. `control` brings JSON commands and takes word of what happened."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    prctl(_PR_SET_NAME, f"n{config.setting.me}".encode(), 0, 0, 0)  # as ps and top show it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Shell(config, tally, control).run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Shell:
    """One node."""

    def __init__(self, config: NodeConfig, tally: Tally, control: socket.socket) -> None:
        self._tally = tally
        self._control = control
        self._clock = config.clock
        self._incarnation = config.setting.incarnation
        self._me = config.setting.me
        where = config.attachment
        self._link = Streams(where) if where.transport == "tcp" else attach(where)
        self._padded = where.transport == "channel"  # Ethernet fills short frames up, UDP adds nothing
        self._loopback = Loopback()
        spec = protocol(config.protocol)
        self._machine: Machine = spec.machine(config.setting, config.options)
        self._timer = config.clock.of(spec.clock)  # what the machine lives by; NOTEs always have the local clock
        now = time.time_ns()
        self._schedule = [one for one in config.schedule if one.at_ns >= now]
        self._read_delay_ns = config.read_delay_ns
        self._read_at = 0  # true time before which a slow reader does not read
        self._next = 0
        self._stopped = False
        self._asked = False  # whether I am still behind
        self._notes: list[bytes] = []  # encoded, not yet sent; never both these ...
        self._pdus: list[tuple[bytes, tuple[int, ...] | None]] = []  # ... and these, so that order is kept
        self._noted = self._sent = self._received = self._malformed = self._not_sent = self._out_of_range = 0

    def run(self) -> None:
        """Until the harness says stop."""
        now = time.time_ns()
        self._note(Log(NoteKind.READY, values=Ready(now)), now)
        self._flush()
        self._control.send(json.dumps(["ready", os.getpid()]).encode())
        link, control = self._link.socket.fileno(), self._control.fileno()
        turns = 0
        while not self._stopped:
            wait_ns = self._due(now)
            self._flush()
            if self._asked:
                self._asked = False
                self._control.send(json.dumps(["here", None]).encode())
            if wait_ns is not None and wait_ns <= 0:
                turns += 1
                if turns > _TURNS_MAX:
                    raise RuntimeError(f"the machine's deadline stays at or before now ({now} ns)")
                now = time.time_ns()
                continue
            turns = 0
            listen = [control] if self._read_at > now else [link, control]
            ready = readable(listen, wait_ns)
            now = time.time_ns()
            if control in ready:
                self._obey(now)
            if link in ready:
                self._take(now)
        self._end(now)

    def _due(self, now: int) -> int | None:
        """Do what is due at true time `now`; how long nothing else will be."""
        while self._next < len(self._schedule) and self._schedule[self._next].at_ns <= now:
            one = self._schedule[self._next]
            self._next += 1
            said = Submitted(digest_of(one.data))
            self._note(Log(NoteKind.SUBMITTED, self._me, one.number, peers=one.to, values=said), now)
            self._step(Submit(one.number, one.to, one.data), now)
        deadline = self._machine.deadline
        if deadline is not None and deadline <= self._timer.shows(now):
            self._step(Wake(), now)
            deadline = self._machine.deadline
        times = [] if deadline is None else [self._timer.true(deadline)]
        if self._next < len(self._schedule):
            times.append(self._schedule[self._next].at_ns)
        if self._read_at > now:
            times.append(self._read_at)
        return min(times) - now if times else None

    def _take(self, now: int) -> None:
        """Give the machine what the network has brought; a slow reader takes one frame and rests."""
        for data in self._link.receive_one() if self._read_delay_ns else self._link.receive():
            self._received += 1
            try:
                pdu = decode_untrusted(data, padded=self._padded)
            except WireError as error:
                self._malformed += 1
                self._note(Log(NoteKind.REFUSED, text=f"malformed: {error}"), now)
            else:
                self._step(Received(pdu), now)
        self._read_at = now + self._read_delay_ns if self._read_delay_ns else 0

    def _step(self, event: Input, now: int) -> None:
        for output in self._machine.step(event, self._timer.shows(now)):
            if isinstance(output, Send):
                try:
                    data = encode(output.pdu)
                except RangeError as error:  # no network can carry it: lost, and told
                    self._out_of_range += 1
                    self._note(Log(NoteKind.ALARM, self._me, text=str(error)), now)
                    continue
                self._flush_notes()  # what was noted before a PDU is captured before it
                self._sent += 1
                self._pdus.append((data, output.to))
            else:
                self._note(output, now)

    def _note(self, log: Log, now: int) -> None:
        self._flush_pdus()
        self._noted += 1
        self._tally.count(self._me, log.kind)
        self._notes.append(encode(log.note(self._me, self._incarnation, self._noted, self._clock.shows(now))))

    def _flush(self) -> None:
        self._flush_notes()
        self._flush_pdus()

    def _flush_notes(self) -> None:
        if self._notes:
            self._loopback.send(self._notes)
            self._notes.clear()

    def _flush_pdus(self) -> None:
        if self._pdus:
            self._not_sent += self._link.send(self._pdus)
            self._pdus.clear()

    def _obey(self, now: int) -> None:
        word, value = json.loads(self._control.recv(65_536) or b'["stop", null]')
        if word == "stop":
            self._stopped = True
        elif word == "ask":
            self._asked = True  # the answer comes when what is due by now is done
        elif word == "leave":
            self._step(Farewell(), now)
            self._stopped = True
        elif word == "clock":
            self._clock.change(now, value.get("offset_ns"), value.get("drift_ppb"))
            offset = self._clock.shows(now) - now
            self._note(Log(NoteKind.CLOCK, values=ClockSet(offset, self._clock.drift_ppb)), now)
            self._step(Wake(), now)
        elif word == "reader":
            if value["buffer_bytes"] is not None:
                self._link.set_buffer(value["buffer_bytes"])
            self._read_delay_ns = value["read_delay_ns"]
            self._read_at = now + self._read_delay_ns if self._read_delay_ns else 0
        else:
            raise ValueError(f"unknown command {word!r}")

    def _end(self, now: int) -> None:
        counters = {
            "malformed": self._malformed,
            "not_sent": self._not_sent,
            "out_of_range": self._out_of_range,
            **self._machine.counters(),
        }
        end = End(self._noted + 1, self._sent, self._received, int(self._machine.settled()))
        self._note(Log(NoteKind.END, values=end), now)
        self._flush()
        self._control.send(json.dumps(["ended", counters]).encode())
