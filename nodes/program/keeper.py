"""A node that is programs: process 1 of its machine starts them, listens to them, hands over the workload, ends them.

What happens it notes from what they write: lines in which an expression of the scenario is found, and what the one
says that is told what to submit (talk.py). Of the programs it takes precedence, so that virtual time decides what it
does when.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from nodes.lines import listed, log
from nodes.links import Loopback
from nodes.machine import Log
from nodes.program.machine import HOME, become_program, leave_machine, set_wall_clock
from nodes.program.options import WORDS, Daemon, ProgramOptions
from nodes.program.talk import Talk
from nodes.shell import NodeConfig, NotReady
from nodes.tally import Tally
from nodes.waiting import readable
from nodes.wire import encode
from nodes.wire.note import ClockSet, End, NoteKind, Ready, Submitted, digest_of

_PR_SET_NAME, _PR_SET_TIMERSLACK = 15, 29
_LOOK_NS = 10_000_000  # how often it is seen whether there is a file, or somebody listens
_FAREWELL_NS = 10_000_000_000  # for so long a program that is asked to end may take
_TAIL_LINES = 10
_LINE_MAX = 8_000_000  # who talks may say long messages
_QUOTED_MAX = 300
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LISTENING = "0A"


class ProgramError(RuntimeError):
    """A program that ended, is not there, or said something that nobody understands."""


def run_keeper(config: NodeConfig, tally: Tally, control: socket.socket, talk: type[Talk] = Talk) -> NoReturn:
    """A node process from here to its end. `control` brings JSON commands and takes word of what happened."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    prctl(_PR_SET_NAME, f"n{config.setting.me}".encode(), 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Keeper(config, tally, control, talk).run()
    sys.stderr.flush()
    os._exit(0)


@dataclass(slots=True)
class _Program:
    """One that was started."""

    daemon: Daemon
    process: subprocess.Popen[bytes]
    log: int
    ready: bool
    rules: Sequence[tuple[re.Pattern[str], str]]
    rest: bytes = b""
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_LINES))
    heard_out: bool = False  # nobody holds the other end of its output

    @property
    def output(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()


class Keeper:
    """One node."""

    def __init__(self, config: NodeConfig, tally: Tally, control: socket.socket, talk: type[Talk]) -> None:
        self._config, self._tally, self._control = config, tally, control
        self._options: ProgramOptions = config.options
        self._me, self._clock = config.setting.me, config.clock
        self._loopback = Loopback()
        self._words = _words(config)
        self._noted = 0
        self._stopped = self._leaving = False
        self._logs = os.open(config.run_dir / "logs", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._ended, ended = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(ended)
        name, brought = f"n{self._me}", config.run_dir / "program"
        hosts = "".join(f"{address} {node}\n" for node, address in config.attachment.for_programs)
        leave_machine(
            name,
            config.state_file.with_name(f"{name}-disk"),
            (brought / "all", brought / name),
            self._words,
            f"127.0.0.1 localhost\n::1 localhost\n{hosts}",
        )
        user = _user(self._options.main)
        for directory in (HOME, *self._options.directories):
            Path(directory).mkdir(parents=True, exist_ok=True)
            os.chown(directory, user.pw_uid, user.pw_gid)
        now = time.time_ns()
        set_wall_clock(self._clock.shows(now) - now, self._clock.drift_ppb)
        self._to_start = deque(self._daemons())
        self._programs: dict[str, _Program] = {}
        self._talk = talk(config, self._note, self._say)
        self._unsent = b""  # of what is said there
        self._ready_by = now + self._options.ready_within_ns
        self._schedule = deque(one for one in config.schedule if one.at_ns >= now)
        self._begun_ns = now

    def run(self) -> None:
        """Until the harness says stop."""
        self._note(Log(NoteKind.READY, values=Ready(self._begun_ns)))
        self._send("ready", os.getpid())
        while not self._stopped:
            wait_ns = self._due(time.time_ns())
            outputs = (one.output for one in self._programs.values() if not one.heard_out)
            listen = [self._control.fileno(), self._ended, *outputs, *self._talk.listens]
            found = readable(listen, wait_ns)
            for program in self._programs.values():
                if not program.heard_out and program.output in found:
                    self._hear(program)
            if any(one in found for one in self._talk.listens):
                self._talk.receive()
            if self._ended in found:
                os.read(self._ended, 512)
                self._bury()
            if self._control.fileno() in found:
                self._obey()
        self._end()

    # programs

    def _daemons(self) -> list[Daemon]:
        """As they are at this node."""
        main, *others = self._options.daemons()
        for one in self._options.node:
            if f"n{self._me}" in one.node:
                main = replace(
                    main,
                    command=main.command if one.command is None else one.command,
                    name=main.called,
                    environment=main.environment + one.environment,
                )
        return [main, *others]

    def _start(self, daemon: Daemon) -> None:
        output = os.open(
            f"n{self._me}-{daemon.called}.txt",
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
            0o644,
            dir_fd=self._logs,
        )
        talks = daemon.called == self._options.talks
        command, user = [self._filled_in(word) for word in daemon.command], _user(daemon)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=output if talks else subprocess.STDOUT,
                bufsize=0,
                cwd=HOME,
                env={**self._environment(), **{key: self._filled_in(value) for key, value in daemon.environment}},
                start_new_session=True,
                preexec_fn=partial(become_program, user),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ProgramError(f"{command[0]} cannot be started: {error}") from None
        ready = not (daemon.ready or daemon.ready_port or daemon.ready_file or talks)
        rules = [(re.compile(expression), note) for expression, note in daemon.notes]
        self._programs[daemon.called] = _Program(daemon, process, output, ready, rules)
        if talks:
            assert process.stdin is not None
            os.set_blocking(process.stdin.fileno(), False)
            self._talk.begin()

    def _environment(self) -> Mapping[str, str]:
        setting = self._config.setting
        return {
            "PATH": _PATH,
            "HOME": HOME,
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "TUTTI_NODE": f"n{self._me}",
            "TUTTI_ME": str(self._me),
            "TUTTI_MEMBERS": listed(setting.members),
            "TUTTI_ADDRESS": self._words["address"],
            "TUTTI_SEED": str(setting.seed),
            "TUTTI_INCARNATION": str(setting.incarnation),
        }

    def _filled_in(self, text: str) -> str:
        for word, value in self._words.items():
            text = text.replace(f"{{{word}}}", value)
        return text

    def _hear(self, program: _Program) -> None:
        data = os.read(program.output, 65_536)
        talks = program.daemon.called == self._options.talks
        if not data:
            program.heard_out = True
            os.close(program.log)
            assert program.process.stdout is not None
            program.process.stdout.close()
            self._miss(program)
            return
        if not talks:
            os.write(program.log, data)
        *lines, program.rest = (program.rest + data).split(b"\n")
        if len(program.rest) > _LINE_MAX:
            if talks:
                raise ProgramError(f"{program.daemon.called} said a line without end: {_quoted(program.rest)}")
            program.rest = b""
        for line in lines:
            text = line.decode(errors="replace").rstrip("\r")
            program.tail.append(text)
            try:
                if talks:
                    self._talk.hear(text)
                    program.ready = self._talk.ready
                for expression, note in program.rules:
                    if found := expression.search(text):
                        self._note(log(found.expand(note)))
            except ValueError as error:
                raise ProgramError(f"{program.daemon.called} said {_quoted(line)}: {error}") from None
            if program.daemon.ready and not program.ready:
                program.ready = re.search(program.daemon.ready, text) is not None

    def _bury(self) -> None:
        """Processes that ended. One whose child keeps its output is missed too."""
        for program in self._programs.values():
            self._miss(program)
        ours = {one.process.pid for one in self._programs.values() if one.process.returncode is None}
        for pid in _zombies() - ours:  # orphans come to process 1
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _miss(self, program: _Program) -> None:
        """It is an error if it has ended and may not, or can never be ready any more."""
        if program.process.poll() is None or self._leaving:
            return
        daemon = program.daemon
        silent = program.heard_out and not (daemon.ready_port or daemon.ready_file)
        if daemon.may_end and (program.ready or not silent):
            return
        while not program.heard_out and readable([program.output], 0):
            self._hear(program)
        raise ProgramError(f"{daemon.called} ended {_how(program.process.returncode)}{_said(program)}")

    # time

    def _due(self, now: int) -> int | None:
        """Do what is due; how long nothing else will be."""
        if self._leaving:
            heard = all(one.heard_out for one in self._programs.values())
            self._stopped = now >= self._ready_by or (heard and _alone())
            return 0 if self._stopped else self._ready_by - now
        waits: list[int] = []
        waiting = [one for one in self._programs.values() if not one.ready]
        for program in waiting:
            program.ready = _is_there(program.daemon)
        waiting = [one for one in waiting if not one.ready]
        while self._to_start and not waiting:
            daemon = self._to_start.popleft()
            self._start(daemon)
            waiting = [one for one in self._programs.values() if not one.ready]
        if waiting:
            if now >= self._ready_by:
                (program,) = waiting
                within = f"within {self._options.ready_within_ns / 1e9:g} s"
                raise NotReady(f"{program.daemon.called} was not ready {within}{_said(program)}")
            polled = any(one.daemon.ready_port or one.daemon.ready_file for one in waiting)
            waits.append(min(self._ready_by - now, _LOOK_NS) if polled else self._ready_by - now)
        while self._schedule and self._schedule[0].at_ns <= now:
            one = self._schedule.popleft()
            said = Submitted(digest_of(one.data))
            self._note(Log(NoteKind.SUBMITTED, self._me, one.number, peers=one.to, values=said))
            self._talk.submit(one)
        if self._schedule:
            waits.append(self._schedule[0].at_ns - now)
        if (again_ns := self._talk.due(now)) is not None:
            waits.append(again_ns - now)
        if self._hand_over():
            waits.append(_LOOK_NS)
        return min(waits) if waits else None

    def _say(self, line: str) -> None:
        """To the program that is told what to submit."""
        self._unsent += f"{line}\n".encode()
        self._hand_over()

    def _hand_over(self) -> bool:
        """As much of what was said as there is room for; is anything left to try again?"""
        program = self._programs.get(self._options.talks)
        if program is None:
            return False  # after a restart it is not there yet; when it is started, this is asked again
        assert program.process.stdin is not None
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(program.process.stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self._unsent = b""  # nobody will read it
        return False

    # the harness

    def _obey(self) -> None:
        word, value = json.loads(self._control.recv(65_536) or b'["stop", null]')
        if word == "stop":
            self._stopped = True
        elif word == "leave":
            self._leaving, self._ready_by = True, time.time_ns() + _FAREWELL_NS
            _signal_all(signal.SIGTERM)
        elif word == "freeze":
            _signal_all(signal.SIGSTOP)
            self._send("frozen", None)
        elif word == "thaw":
            _signal_all(signal.SIGCONT)
        elif word == "clock":
            now = time.time_ns()
            self._clock.change(now, value.get("offset_ns"), value.get("drift_ppb"))
            offset = self._clock.shows(now) - now
            set_wall_clock(offset, self._clock.drift_ppb)
            self._note(Log(NoteKind.CLOCK, values=ClockSet(offset, self._clock.drift_ppb)))
        else:
            raise ValueError(f"unknown command {word!r}")

    def _send(self, word: str, value: Any) -> None:
        self._control.send(json.dumps([word, value]).encode())

    def _note(self, what: Log) -> None:
        self._noted += 1
        self._tally.count(self._me, what.kind)
        local_ns = self._clock.shows(time.time_ns())
        note = what.note(self._me, self._config.setting.incarnation, self._noted, local_ns)
        self._loopback.send([encode(note)])

    def _end(self) -> None:
        end = End(self._noted + 1, self._talk.sent, self._talk.received, int(self._talk.idle))
        self._note(Log(NoteKind.END, values=end))
        _signal_all(signal.SIGKILL)
        self._send("ended", {})


def _words(config: NodeConfig) -> dict[str, str]:
    """What words in braces stand for."""
    addresses = dict(reversed(config.attachment.for_programs))  # the first of each
    node = f"n{config.setting.me}"
    members = [f"n{one}" for one in config.setting.members]
    own = (
        str(config.setting.me),
        node,
        addresses[node],
        ",".join(members),
        ",".join(addresses[one] for one in members),
    )
    return dict(zip(WORDS, own, strict=True)) | dict(config.options.words)


def _user(daemon: Daemon) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(daemon.user)
    except KeyError:
        raise ProgramError(f"no /etc/passwd of its node has the user {daemon.user} of {daemon.called}") from None


def _is_there(daemon: Daemon) -> bool:
    if daemon.ready_file:
        return Path(HOME, daemon.ready_file).exists()
    if daemon.ready_port is None:
        return False
    wanted = f":{daemon.ready_port:04X}"
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        if Path(table).exists():
            for line in Path(table).read_text().splitlines()[1:]:
                words = line.split()
                if words[1].endswith(wanted) and words[3] == _LISTENING:
                    return True
    return False


def _zombies() -> set[int]:
    """Children of this process that have ended."""
    found = set[int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state == "Z" and parent == "1":
                found.add(int(path.parent.name))
    return found


def _alone() -> bool:
    """Has all else on this machine ended?"""
    return [path.name for path in Path("/proc").glob("[0-9]*")] == ["1"]


def _signal_all(number: int) -> None:
    """To all of the node but this process."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)


def _how(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"


def _quoted(line: bytes) -> str:
    text = line[: 2 * _QUOTED_MAX].decode(errors="replace").rstrip("\r")
    return f"{text[:_QUOTED_MAX]!r}{' ...' if len(text) > _QUOTED_MAX else ''}"


def _said(program: _Program) -> str:
    unended = [program.rest.decode(errors="replace")] if program.rest else []
    lines = "".join(f"\n    {line[:_QUOTED_MAX]}" for line in (*program.tail, *unended))
    return f"; its last words:{lines}" if lines else ", without a word"
