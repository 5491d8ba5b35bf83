"""The recorder: one process that captures at every point, from before the first node until after the last."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from captures.recorded import Recorded
from harness.agent.branch import Branching
from harness.agent.libpcap import Capture
from topologies.mininet_network import enter_namespace


@dataclass(frozen=True, slots=True)
class Point:
    """A place to capture at: a device in a namespace ("any" is all of a node's), and the file for it."""

    name: str
    device: str
    namespace: int
    path: str


class RecorderError(RuntimeError):
    """The recorder could not do its work; the run cannot be judged."""


class Recorder:
    """The agent's side: start, wait until all is captured, stop."""

    def __init__(self, points: Sequence[Point], block_ms: int, buffer_bytes: int, branching: Branching) -> None:
        self._socket, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            self._socket.close()
            _record(theirs, points, block_ms, buffer_bytes, branching)
        theirs.close()
        self._expect("capturing")

    def stop(self) -> dict[str, Recorded]:
        """Write out everything and return what was counted at each point."""
        self._socket.send(b"stop\n")
        counted = {name: Recorded(**numbers) for name, numbers in self._expect("stopped").items()}
        os.waitpid(self._pid, 0)
        return counted

    def _expect(self, word: str) -> Any:
        data = b""
        while not data.endswith(b"\n"):
            more = self._socket.recv(1 << 20)
            if not more:
                raise RecorderError("the recorder died")
            data += more
        answer, value = json.loads(data)
        if answer != word:
            raise RecorderError(value)
        return value


def _record(
    control: socket.socket, points: Sequence[Point], block_ms: int, buffer_bytes: int, branching: Branching
) -> None:
    """The recorder's process; never returns."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        captures = {}
        for point in points:
            enter_namespace(point.namespace)
            captures[point.name] = Capture(point.device, point.path, block_ms, buffer_bytes)
        _answer(control, "capturing", len(captures))
        poll = select.poll()
        for descriptor in (control.fileno(), branching.moment):
            poll.register(descriptor, select.POLLIN)
        by_descriptor = {capture.descriptor: capture for capture in captures.values()}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.POLLIN)
        stopping = False
        while True:
            # A block is handed over when it is full or `block_ms` old; after two such times nothing is left in any.
            ready = poll.poll(2 * block_ms + 10 if stopping else None)
            for descriptor, _ in ready:
                if descriptor in by_descriptor:
                    by_descriptor[descriptor].drain()
                elif descriptor == branching.moment:
                    branching.stand_still()
                else:
                    control.recv(64)
                    poll.unregister(control.fileno())
                    stopping = True
            if stopping and not ready:
                break
        _answer(control, "stopped", {name: asdict(capture.close()) for name, capture in captures.items()})
        os._exit(0)
    except BaseException as error:
        traceback.print_exc()
        _answer(control, "failed", f"{type(error).__name__}: {error}")
        os._exit(1)


def _answer(control: socket.socket, word: str, value: Any) -> None:
    control.sendall(json.dumps([word, value]).encode() + b"\n")
