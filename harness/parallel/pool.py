"""Tasks on this machine: a process for each, as many at a time as there are cores.

A process of its own costs ten milliseconds (everything is imported before it is forked) and keeps a task that dies from
taking others along. When who asked for them dies, so do they and their guests.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeVar

from harness.engines.watch import die_with_parent

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def run_local(
    tasks: Iterable[T],
    jobs: int,
    work: Callable[[T], R],
    failed: Callable[[str], R],
    before: Callable[[T], None] = lambda task: None,
) -> Generator[tuple[T, R], None, None]:
    """Carry out all tasks; results in the order in which they come, and what `failed` makes of a reason for those whose
    process died. What is done `before` a task is done in this process, so that all that follow have it."""
    context = multiprocessing.get_context("fork")
    waiting = iter(tasks)
    running: dict[Connection, tuple[T, BaseProcess]] = {}
    process: BaseProcess
    gc.freeze()  # what is there now is shared with all children
    try:
        with _interrupts() as interrupted:
            while True:
                while len(running) < jobs and (task := next(waiting, None)) is not None:
                    before(task)
                    here, there = context.Pipe(duplex=False)
                    process = context.Process(target=_child, args=(there, os.getpid(), task, work), daemon=True)
                    process.start()
                    there.close()
                    running[here] = task, process
                if not running:
                    return
                for pipe in wait([*running, interrupted]):
                    if isinstance(pipe, socket.socket):
                        if signal.SIGINT in pipe.recv(64):
                            raise KeyboardInterrupt
                        continue
                    assert isinstance(pipe, Connection)
                    task, process = running.pop(pipe)
                    yield task, _result(pipe, process, failed)
    finally:
        for pipe, (_, process) in running.items():
            process.kill()
            process.join()
            pipe.close()
        gc.unfreeze()


@contextlib.contextmanager
def _interrupts() -> Iterator[socket.socket]:
    """What can be read after Ctrl-C. Python raises KeyboardInterrupt wherever it is; if that is something's `__del__`,
    it ignores the exception, and we would go on."""
    ours, signals = socket.socketpair()
    with ours, signals:
        signals.setblocking(False)
        before = signal.set_wakeup_fd(signals.fileno())
        try:
            yield ours
        finally:
            signal.set_wakeup_fd(before)


def _result(pipe: Connection, process: BaseProcess, failed: Callable[[str], R]) -> R:
    try:
        result: R = pipe.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return failed(f"the process of this run died ({how})")
    finally:
        pipe.close()
    process.join()
    return result


def _child(pipe: Connection, parent: int, task: T, work: Callable[[T], R]) -> None:
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    signal.set_wakeup_fd(-1)
    pipe.send(work(task))
    pipe.close()
