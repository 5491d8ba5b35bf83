"""A machine that is a program of its own: the contract of nodes/machine.py as lines over two pipes (docs/own-node.md).

It is told one input at a time and answers with outputs, the last of which is a line with a single dot. So it needs
no socket, clock or timer, the node's local clock and all faults work as for any machine, and a run in virtual time
is reproducible: nothing depends on which of two processes is faster.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from nodes.lines import listed, log, number
from nodes.machine import Farewell, Input, Output, Received, Send, Setting, Submit
from nodes.own.options import OwnOptions
from nodes.wire.own import OwnPdu

_PR_SET_PDEATHSIG = 1
_DATA_MAX = 1400


class ProgramError(RuntimeError):
    """A program that does not keep to the contract, with what it said."""


class Program:
    """One entity, whose rules are in a program."""

    def __init__(self, setting: Setting, options: OwnOptions) -> None:
        self._me = setting.me
        self._idle = True
        self._refused = 0
        self.deadline: int | None = 0  # the first input is a wake, at once
        prctl = ctypes.CDLL(None).prctl
        self._process = subprocess.Popen(
            [options.program, *options.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={
                **os.environ,
                "TUTTI_ME": str(setting.me),
                "TUTTI_MEMBERS": listed(setting.members),
                "TUTTI_SEED": str(setting.seed),
                "TUTTI_INCARNATION": str(setting.incarnation),
                "TUTTI_SLOT_NS": str(setting.slot_ns),
            },
            preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),  # a crash of the node is its own
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._rest = b""

    def step(self, event: Input, now_ns: int) -> list[Output]:
        if isinstance(event, Farewell):
            return []  # it sees the end of its input
        if self.deadline is not None and self.deadline <= now_ns:
            self.deadline = None
        if isinstance(event, Submit):
            line = f"submit {now_ns} {event.number} {listed(event.to)} {event.data.hex() or '-'}"
        elif not isinstance(event, Received):
            line = f"wake {now_ns}"
        elif isinstance(event.pdu, OwnPdu):
            pdu = event.pdu
            line = f"received {now_ns} {pdu.src} {pdu.kind} {pdu.origin} {pdu.seq} {pdu.payload.hex() or '-'}"
        else:
            self._refused += 1
            return []
        try:
            self._to.write(f"{line}\n".encode())
        except BrokenPipeError:
            raise ProgramError(self._how_it_ended()) from None
        outputs: list[Output] = []
        while (answer := self._answer()) != ".":
            try:
                outputs += self._output(answer.split(" "))
            except (ValueError, LookupError, TypeError) as error:
                raise ProgramError(f"the program answered {answer!r} to {line!r}: {error}") from None
        return outputs

    def settled(self) -> bool:
        return self._idle

    def counters(self) -> Mapping[str, int]:
        """The shell asks for them last: the program sees the end of its input, and should end."""
        self._to.close()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._from.close()
        return {"refused_foreign": self._refused}

    def _answer(self) -> str:
        while b"\n" not in self._rest:
            read = os.read(self._from.fileno(), 65_536)
            if not read:
                raise ProgramError(self._how_it_ended())
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r ")

    def _how_it_ended(self) -> str:
        status = self._process.wait()
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        return f"the program ended {how}, while its node was still running"

    def _output(self, words: Sequence[str]) -> list[Output]:
        match words:
            case ["send", to, kind, origin, seq, data]:
                payload = b"" if data == "-" else bytes.fromhex(data)
                if len(payload) > _DATA_MAX:
                    raise ValueError(f"a PDU carries at most {_DATA_MAX} bytes")
                pdu = OwnPdu(
                    src=self._me,
                    kind=number(kind, 8),
                    origin=number(origin, 16),
                    seq=number(seq, 64),
                    payload=payload,
                )
                return [Send(pdu, None if to == "all" else tuple(number(one, 16) for one in to.split(",")))]
            case ["note", kind, *rest]:
                return [log(" ".join((kind, *rest)))]
            case ["wake", "never"]:
                self.deadline = None
            case ["wake", at]:
                self.deadline = number(at, 64)
            case ["busy" | "idle" as word]:
                self._idle = word == "idle"
            case _:
                raise ValueError("an answer begins with send, note, wake, busy or idle, or is a dot")
        return []
