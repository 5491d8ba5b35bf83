"""A booted guest that has everything imported and waits: every run in virtual time is a fork of one.

A fork has a memory of its own, is a guest like any other from there on, and ends when its run does. Requests go to the
template through a socket, which may be used by whoever holds it: processes that are forked from one that has a template
share it. When nobody holds it any more, the template ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from harness.engines.guest import AGENT, guest_command, guest_environment
from harness.engines.kernel import PrivateKernel
from harness.engines.outcome import EngineOptions
from harness.engines.watch import Attended, die_with_parent, own_cpu
from harness.exchange import Exchange

_NOWHERE = Path("/dev/null")  # where no directory can be made
_WORDS = 4096
_DYING_S = 5.0


def new_template(kernel: PrivateKernel, options: EngineOptions, agent: str = AGENT) -> Template:
    """Boot one, in which the module `agent` will carry out runs."""
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    log = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the template lives)

    def prepare() -> None:
        die_with_parent()
        if cpus:
            os.sched_setaffinity(0, cpus)

    with theirs, own_cpu() as cpus:
        process = subprocess.Popen(
            guest_command(kernel, options, agent, {}, scratch=_NOWHERE),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**guest_environment(_NOWHERE), "TUTTI_TEMPLATE": str(theirs.fileno())},
            cwd="/",
            start_new_session=True,
            pass_fds=(theirs.fileno(),),
            preexec_fn=prepare,
        )
    return Template(control, log, process.pid, process)


class Template:
    """A guest that can be forked for any run that its memory is enough for: our own, or lent by who keeps it warm."""

    def __init__(
        self, control: socket.socket, log: BinaryIO, pid: int, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._control = control
        self._log = log
        self.pid = pid
        self._process = process

    def lend(self, to: socket.socket) -> None:
        """Let somebody else use it too."""
        socket.send_fds(to, [str(self.pid).encode()], [self._control.fileno(), self._log.fileno()])

    @staticmethod
    def lent(by: socket.socket) -> Template | None:
        """What somebody lends; nothing if he does not."""
        pid, passed, _, _ = socket.recv_fds(by, _WORDS, 2, socket.MSG_CMSG_CLOEXEC)
        if len(passed) < 2:
            return None
        return Template(socket.socket(fileno=passed[0]), os.fdopen(passed[1], "rb"), int(pid))

    def close(self) -> None:
        """Use it no more, and end it if it is ours; runs that are under way go on."""
        self._control.close()
        self._log.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def is_alive(self) -> bool:
        """Is there still somebody at the other end?"""
        poll = select.poll()
        poll.register(self._control, 0)
        return not poll.poll(0)

    @contextlib.contextmanager
    def start(self, files: Exchange, options: EngineOptions) -> Iterator[Attended]:
        """Fork it for a run. The fork does not outlive this."""
        life, theirs = socket.socketpair()
        with life, own_cpu() as cpus:
            with theirs, files.kernel_log.open("wb") as log, contextlib.suppress(OSError):
                request = f"{files.run.path}\0{','.join(map(str, cpus))}\0"
                socket.send_fds(self._control, [request.encode()], [theirs.fileno(), log.fileno()])
            try:
                yield Attended(files, options.stall_s, life.fileno(), lambda: self._how(life, files))
            finally:
                _ended(life)
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(self.pid, os.sched_getaffinity(0))  # it has booted on one

    def _how(self, life: socket.socket, files: Exchange) -> str:
        """How a fork has ended that should not. Until a run has a log of its own, what is said in the guest goes to its
        console, which is the template's."""
        begin = max(0, os.fstat(self._log.fileno()).st_size - _WORDS)
        with contextlib.suppress(OSError), files.kernel_log.open("ab") as log:  # the disk may be full
            log.write(os.pread(self._log.fileno(), _WORDS, begin))
        return _ended(life) if self.is_alive else "its template died"


def _ended(life: socket.socket) -> str:
    """See to it that the fork has ended; what it complained about."""
    said = b""
    with contextlib.suppress(OSError):  # it cannot be waited for
        life.settimeout(_DYING_S)
        life.shutdown(socket.SHUT_WR)  # by this it is killed
        while more := life.recv(_WORDS):
            said += more
    return said.decode(errors="replace")
