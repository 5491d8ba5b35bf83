"""A booted guest that has everything imported and waits: every run in virtual time is a fork of one.

A fork has a memory of its own, is a guest like any other from there on, and ends when its run does. It may become a
template in turn, where its agent says so (harness/agent/guest.py:fork_here): a deep template has the network, the
recorder and the node processes of one shape.

Requests go to a template through a socket, which may be used by whoever holds it: processes that are forked from one
that has a template share it. When nobody holds it any more, the template ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from harness.engines.guest import AGENT, guest_command, guest_environment
from harness.engines.kernel import PrivateKernel
from harness.engines.outcome import EngineOptions, Progress
from harness.engines.watch import Attended, die_with_parent, own_cpu
from harness.exchange import Exchange, exchange
from harness.rundir import RunDir
from harness.shape import Shape

_NOWHERE = Path("/dev/null")  # where no directory can be made
_WORDS = 4096
_DYING_S = 5.0
_WAITS = b"+"  # what a fork says when it is a template


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
    ending = contextlib.ExitStack()
    ending.callback(process.wait)
    ending.callback(process.kill)
    return Template(control, log, ending)


class Template:
    """A guest that can be forked for any run that its memory is enough for: our own, or lent by who keeps it warm."""

    def __init__(
        self,
        control: socket.socket,
        log: BinaryIO,
        ending: contextlib.ExitStack,
        life: socket.socket | None = None,
    ) -> None:
        """`ending` is what is done when it is used no more; `life` that of a fork."""
        self._control = control
        self._log = log
        self._ending = ending
        self._life = life
        self._made_in: Path | None = None  # which a fork has no need of any more

    def lend(self, to: socket.socket) -> None:
        """Let somebody else use it too."""
        socket.send_fds(to, [b"lent"], [self._control.fileno(), self._log.fileno()])

    @staticmethod
    def lent(by: socket.socket) -> Template | None:
        """What somebody lends; nothing if he does not."""
        _, passed, _, _ = socket.recv_fds(by, _WORDS, 2, socket.MSG_CMSG_CLOEXEC)
        if len(passed) < 2:
            return None
        return Template(socket.socket(fileno=passed[0]), os.fdopen(passed[1], "rb"), contextlib.ExitStack())

    def close(self) -> None:
        """Use it no more, and end it if nobody else does; runs that are under way go on."""
        self._control.close()
        self._log.close()
        self._ending.close()

    @property
    def is_alive(self) -> bool:
        """Is there still somebody at the other end?"""
        poll = select.poll()
        poll.register(self._control, 0)
        return not poll.poll(0)

    @contextlib.contextmanager
    def start(self, files: Exchange, options: EngineOptions) -> Iterator[Attended]:
        """Fork it for a run. The fork does not outlive this."""
        with own_cpu() as cpus, self._fork(files, cpus) as life:
            try:
                yield Attended(files, options.stall_s, life.fileno(), lambda: self._how(life, files))
            finally:
                _ended(life)
        if self._made_in is not None:  # should we be killed, it would be left
            shutil.rmtree(self._made_in, ignore_errors=True)

    def deepen(self, shape: Shape) -> Template:
        """Fork it for a template in which all stands that runs of this shape begin with."""
        where = RunDir(Path(tempfile.mkdtemp(prefix="tutti-template-")).resolve())
        with contextlib.ExitStack() as making:
            making.callback(shutil.rmtree, where.path, ignore_errors=True)
            where.captures.mkdir()
            where.logs.mkdir()
            one = self.template(making.enter_context(exchange(where, shape)))
            one._made_in = where.path
            one._ending.push(making.pop_all())
        return one

    def template(self, files: Exchange) -> Template:
        """Fork it for a template, in which the agent begins what `files` hands over."""
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            life = self._fork(files, (), theirs)
        ending = contextlib.ExitStack()
        ending.callback(life.close)
        return Template(control, files.kernel_log.open("rb"), ending, life)

    def is_reached(self, files: Exchange, options: EngineOptions, progress: Progress) -> bool:
        """Wait until it stands still and can be forked; False if it has gone on to its end instead."""
        life = self._life
        assert life is not None
        attended = Attended(files, options.stall_s, life.fileno(), lambda: self._how(life, files))
        attended.watch(progress)
        if life.recv(1, socket.MSG_PEEK) == _WAITS:
            return True
        attended.wait(progress)
        return False

    def _fork(self, files: Exchange, cpus: Collection[int], *control: socket.socket) -> socket.socket:
        """The other end of a fork's life."""
        life, theirs = socket.socketpair()
        request = f"{files.run.path}\0{','.join(map(str, cpus or os.sched_getaffinity(0)))}\0"
        with theirs, files.kernel_log.open("wb") as log, contextlib.suppress(OSError):
            passed = [theirs.fileno(), log.fileno(), *(one.fileno() for one in control)]
            socket.send_fds(self._control, [request.encode()], passed)
        return life

    def _how(self, life: socket.socket, files: Exchange) -> str:
        """How a fork has ended that should not. Until a run has a log of its own, what is said in the guest goes to its
        console, which is the template's."""
        begin = max(0, os.fstat(self._log.fileno()).st_size - _WORDS)
        with contextlib.suppress(OSError), files.kernel_log.open("ab") as log:  # the disk may be full
            log.write(os.pread(self._log.fileno(), _WORDS, begin))
        if not self.is_alive:
            return "its template died"
        return _ended(life) or "killed: by somebody, or because this machine's memory was full"


def _ended(life: socket.socket) -> str:
    """See to it that the fork has ended; what it complained about."""
    said = b""
    with contextlib.suppress(OSError):  # it cannot be waited for
        life.settimeout(_DYING_S)
        life.shutdown(socket.SHUT_WR)  # by this it is killed
        while more := life.recv(_WORDS):
            said += more
    return said.decode(errors="replace")
