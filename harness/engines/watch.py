"""Looking after the process that carries out a run: it may end, die, hang, or be outlived by nothing of ours."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from harness.engines.outcome import EngineError, Progress, tail
from harness.exchange import Exchange

_POLL_S = 0.02
_FULL_BYTES = 64 * 1024  # with so little left, that is the reason, whatever else is said
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent() -> None:
    """In a child, before exec: when the parent dies, however it dies, so does this process."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


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


def attend(
    command: Sequence[str],
    environment: Mapping[str, str],
    files: Exchange,
    output: Path,
    stall_s: float,
    progress: Progress,
    directory: Path | None = None,
    cpus: Collection[int] = (),
) -> None:
    """Start the process in which the agent carries out a run, on these CPUs if there are any named, and stay with it
    to its end; its words go to `output`."""

    def prepare() -> None:
        die_with_parent()
        if cpus:
            os.sched_setaffinity(0, cpus)

    with output.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=directory,
            start_new_session=True,
            preexec_fn=prepare,
        )
    try:
        _watch(process, files, stall_s, progress)
    finally:
        process.kill()  # what still runs; nothing if it has ended
        process.wait()


def _watch(process: subprocess.Popen[bytes], files: Exchange, stall_s: float, progress: Progress) -> None:
    """Wait for the agent to finish, as long as its clock makes progress."""
    seen, since = "", time.monotonic()
    while True:
        try:
            process.wait(_POLL_S)
            break
        except subprocess.TimeoutExpired:
            pass
        now = _progress(files)
        if now != seen:
            seen, since = now, time.monotonic()
            progress(now)
        elif time.monotonic() - since > stall_s:
            what = f"the run's clock stood still at {seen or 'the start'} for {stall_s:g} s of wall time; given up."
            raise EngineError(_with_logs(what, files))
    if not files.is_answered():
        raise EngineError(_with_logs(f"the run died (exit status {process.returncode}) before it was over.", files))


def _progress(files: Exchange) -> str:
    """The agent's last progress line."""
    try:
        return files.progress.read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""


def _with_logs(what: str, files: Exchange) -> str:
    free = shutil.disk_usage(files.run.path).free
    if free < _FULL_BYTES:
        what += f" There are only {free // 1024} kB left where the run directory is: the disk is full."
    named = [path for path in (files.agent_log, files.kernel_log) if path.exists()]
    return "\n".join([what, *(f"  {path.name} ends:\n{tail(path)}" for path in named)])
