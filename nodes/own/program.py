"""A machine that is a program of its own: the contract of nodes/machine.py as lines over two pipes (docs/own-node.md).

It is told one input at a time and answers with outputs, the last of which is a line with a single dot. So it needs
no socket, clock or timer, the node's local clock and all faults work as for any machine, and a run in virtual time
is reproducible: nothing depends on which of two processes is faster.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence

from nodes.machine import Farewell, Input, Log, Output, Received, Send, Setting, Submit
from nodes.own.options import OwnOptions
from nodes.wire.note import Delivered, NoteKind, digest_of
from nodes.wire.own import OwnPdu

_PR_SET_PDEATHSIG = 1
_DATA_MAX = 1400
_OURS = {NoteKind.READY, NoteKind.SUBMITTED, NoteKind.CLOCK, NoteKind.FAULT, NoteKind.MARK, NoteKind.END}
_KINDS = {kind.name.lower(): kind for kind in NoteKind if kind not in _OURS}
_NUMBERS = ("about", "seq")


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
                "TUTTI_MEMBERS": _numbers(setting.members),
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
            line = f"submit {now_ns} {event.number} {_numbers(event.to)} {event.data.hex() or '-'}"
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
                    kind=_number(kind, 8),
                    origin=_number(origin, 16),
                    seq=_number(seq, 64),
                    payload=payload,
                )
                return [Send(pdu, None if to == "all" else tuple(_number(one, 16) for one in to.split(",")))]
            case ["note", kind, *rest]:
                return [_log(kind, " ".join(rest))]
            case ["wake", "never"]:
                self.deadline = None
            case ["wake", at]:
                self.deadline = _number(at, 64)
            case ["busy" | "idle" as word]:
                self._idle = word == "idle"
            case _:
                raise ValueError("an answer begins with send, note, wake, busy or idle, or is a dot")
        return []


def _numbers(values: Sequence[int]) -> str:
    return ",".join(map(str, values)) or "-"


def _number(word: str, bits: int) -> int:
    value = int(word)
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{word} has not room in {bits} bits")
    return value


def _log(kind: str, rest: str) -> Log:
    """`delivered about=2 seq=7 data=6869 peers=1,3 values=4,-5 text=all the rest`."""
    if kind not in _KINDS:
        raise ValueError(f"there is no note {kind!r} for a program (there is {', '.join(_KINDS)})")
    words, _, text = f" {rest}".partition(" text=")
    numbers: dict[str, int] = {}
    lists: dict[str, tuple[int, ...]] = {}
    data: bytes | None = None
    for word in words.split():
        key, _, value = word.partition("=")
        if key in _NUMBERS:
            numbers[key] = _number(value, 16 if key == "about" else 64)
        elif key == "peers":
            lists[key] = () if value in ("", "-") else tuple(_number(one, 16) for one in value.split(","))
        elif key == "data":
            data = b"" if value == "-" else bytes.fromhex(value)
        elif key == "values":
            lists[key] = tuple(map(int, re.split(",", value)))
        else:
            raise ValueError(f"a note has about, seq, data, peers, values and text, not {key!r}")
    values = lists.get("values", ())
    if kind == "delivered":
        if values and data is None:
            raise ValueError("values of delivered stand behind what was delivered, which data= says")
        values = values if data is None else (*Delivered(digest_of(data)), *values)
    elif data is not None:
        raise ValueError("only a note delivered has data")
    return Log(_KINDS[kind], **numbers, peers=lists.get("peers", ()), values=values, text=text)
