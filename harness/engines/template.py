"""A booted guest that has everything imported and waits: every run in virtual time is a fork of one.

A fork has a memory of its own, is a guest like any other from there on, and ends when its run does. It may become a
template in turn, where its agent says so (harness/agent/guest.py:fork_here): a deep template has the network, the
recorder and the node processes of one shape.

Requests go to a template through a socket, which may be used by whoever holds it: processes that are forked from one
that has a template share it. When nobody holds it any more, the template ends.
"""

from __future__ import annotations

import contextlib
import fcntl
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
from harness.engines.watch import Attended, own_cpu, tied
from harness.exchange import Exchange, exchange
from harness.rundir import RunDir
from harness.shape import Shape

_NOWHERE = Path("/dev/null")  # where no directory can be made
_WORDS = 4096
_LENT_MOST = 4  # descriptors
_DYING_S = 5.0
_DEEP = "tutti-template-"
_WAITS = b"+"  # what a fork says when it is a template


def new_template(kernel: PrivateKernel, options: EngineOptions, agent: str = AGENT) -> Template:
    """Boot one, in which the module `agent` will carry out runs."""
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    log = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the template lives)
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
            preexec_fn=tied(cpus),
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
        self._made_in: Path | None = None

    @staticmethod
    def lend(to: socket.socket, *templates: Template) -> None:
        """Let somebody else use them too."""
        passed = [number for one in templates for number in (one._control.fileno(), one._log.fileno())]
        socket.send_fds(to, [b"lent"], passed)

    @staticmethod
    def lent(by: socket.socket) -> list[Template]:
        """What somebody lends."""
        _, passed, _, _ = socket.recv_fds(by, _WORDS, _LENT_MOST, socket.MSG_CMSG_CLOEXEC)
        pairs = zip(passed[::2], passed[1::2], strict=True)
        return [Template(socket.socket(fileno=one), os.fdopen(log, "rb"), contextlib.ExitStack()) for one, log in pairs]

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
        self.tidy()

    def tidy(self) -> None:
        """Take the directory away that a deep template was made in, once it stands: its forks have their own."""
        if self._life is not None and self._made_in is not None:
            with contextlib.suppress(BlockingIOError):
                self._life.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                shutil.rmtree(self._made_in, ignore_errors=True)

    def deepen(self, shape: Shape) -> Template:
        """Fork it for a template in which all stands that runs of this shape begin with."""
        with contextlib.ExitStack() as making:
            where = RunDir(making.enter_context(_directory()))
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


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    """One for a deep template. Who makes one takes away what is left of those whose makers were killed: nobody holds a
    lock on them."""
    for left in Path(tempfile.gettempdir()).glob(f"{_DEEP}*"):
        with contextlib.suppress(OSError), _locked(left, fcntl.LOCK_NB):  # another's, or at work, or gone
            shutil.rmtree(left)
    with contextlib.ExitStack() as holding:
        while True:
            path = Path(tempfile.mkdtemp(prefix=_DEEP)).resolve()
            holding.enter_context(_locked(path))
            if path.is_dir():  # nobody took it for left before it was locked
                break
        holding.callback(shutil.rmtree, path, ignore_errors=True)
        yield path


@contextlib.contextmanager
def _locked(path: Path, way: int = 0) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | way)
        yield
    finally:
        os.close(descriptor)


def _ended(life: socket.socket) -> str:
    """See to it that the fork has ended; what it complained about."""
    said = b""
    with contextlib.suppress(OSError):  # it cannot be waited for
        life.settimeout(_DYING_S)
        life.shutdown(socket.SHUT_WR)  # by this it is killed
        while more := life.recv(_WORDS):
            said += more
    return said.decode(errors="replace")
