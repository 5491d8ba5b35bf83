"""Looking after the process that carries out a run: it may end, die, hang, or be outlived by nothing of ours."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from harness.engines.outcome import EngineError, Progress, tail
from harness.engines.share import Shares, program_of
from harness.exchange import Exchange

_LOOK_MS = 200  # how often somebody is told how far the run is
_LONG_S = 1.0  # after so long without progress the run's share of the processors is looked at
_MOST = 0.75  # of all that a run computes, by a program that takes no turns with its kernel
_FULL_BYTES = 64 * 1024  # with so little left, that is the reason, whatever else is said
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent(parent: int) -> None:
    """In a child, before exec: when the parent dies, however it dies, so does this; also if it is dead already."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def tied(cpus: Collection[int] = ()) -> Callable[[], None]:
    """What a child of this process does before exec: it will not outlive this one, and runs on these CPUs, if any."""
    here = os.getpid()

    def prepare() -> None:
        die_with_parent(here)
        if cpus:
            os.sched_setaffinity(0, cpus)

    return prepare


@contextlib.contextmanager
def own_cpu(name: str = "tutti-cpu") -> Iterator[Collection[int]]:
    """A CPU that no other run of this machine has, if there is one left.

    The private kernel and its programs are processes that take turns, never two at a time: on one CPU a turn is a
    switch, on two it is a call to a CPU that may be asleep, and a run takes twice as long. The claim is the name of a
    socket, which ends with this process whatever happens, and leaves nothing behind.
    """
    for cpu in sorted(os.sched_getaffinity(0)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
            try:
                claim.bind(f"\0{name}-{cpu}")
            except OSError:
                continue
            yield (cpu,)
            return
    yield ()


class Attended:
    """A run under way."""

    def __init__(self, files: Exchange, stall_s: float, end: int, how: Callable[[], str]) -> None:
        """`end` is a descriptor that can be read when the run has ended, and `how` says more about its end then."""
        self._files = files
        self._stall_s = stall_s
        self._end = end
        self._how = how

    def wait(self, progress: Progress) -> None:
        """Stay with it to its end, as long as its clock makes progress. EngineError if there is no answer then."""
        self.watch(progress)
        if not self._files.is_answered():
            how = self._how()
            raise EngineError(_with_logs(f"the run died{f' ({how})' if how else ''} before it was over.", self._files))

    def watch(self, progress: Progress) -> None:
        """Stay with it until it has something to say, or has ended."""
        seen, since = "", time.monotonic()
        before: Shares | None = None
        ended = select.poll()
        ended.register(self._end, select.POLLIN)
        while not ended.poll(_LOOK_MS):
            now, stood_s = _progress(self._files), time.monotonic() - since
            if now != seen:
                seen, since, before = now, time.monotonic(), None
                progress(now)
            elif before is None and stood_s > _LONG_S:
                before = self._shares()
            elif before is not None and stood_s > self._stall_s:
                had = self._shares().since(before)
                stood = had.time_s - had.waited_s > self._stall_s - _LONG_S  # nothing depends on how busy others are
                if stood and not ended.poll(0):  # what has ended has no share
                    what = f"the run's clock stood still at {seen or 'the start'} for {self._stall_s:g} s of wall time"
                    raise EngineError(_with_logs(f"{what}; given up.{_why(had)}", self._files))

    def _shares(self) -> Shares:
        return Shares.of((self._files.kernel_log, self._files.agent_log))


@contextlib.contextmanager
def started(
    command: Sequence[str],
    environment: Mapping[str, str],
    files: Exchange,
    output: Path,
    stall_s: float,
    directory: Path | None = None,
    cpus: Collection[int] = (),
) -> Iterator[Attended]:
    """The process in which the agent carries out a run, on these CPUs if there are any named; its words go to `output`.
    It does not outlive this."""
    with output.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=directory,
            start_new_session=True,
            preexec_fn=tied(cpus),
        )
    end = os.pidfd_open(process.pid)
    try:
        yield Attended(files, stall_s, end, lambda: f"exit status {process.wait()}")
    finally:
        os.close(end)
        process.kill()  # what still runs; nothing if it has ended
        process.wait()


def _progress(files: Exchange) -> str:
    """The agent's last progress line."""
    try:
        return files.progress.read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""


def _why(had: Shares) -> str:
    """Which program has computed nearly all that was computed, if one has."""
    pid, ran_s = had.busiest
    if ran_s > _MOST * had.ran_s and (program := program_of(pid)):
        return f" {program} was computing all that time: a loop that asks the system for nothing never sees time pass."
    return ""


def _with_logs(what: str, files: Exchange) -> str:
    free = shutil.disk_usage(files.run.path).free
    if free < _FULL_BYTES:
        what += f" There are only {free // 1024} kB left where the run directory is: the disk is full."
    named = [path for path in (files.agent_log, files.kernel_log) if path.exists()]
    return "\n".join([what, *(f"  {path.name} ends:\n{tail(path)}" for path in named)])
