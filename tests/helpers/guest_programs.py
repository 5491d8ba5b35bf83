"""In a guest: starts the program of guest_program.py as one of ours, as somebody else's, and with clocks of its own."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
import time
from pathlib import Path

from harness.exchange import Answer, Exchange
from harness.manifest import Findings

_PR_SET_TSC, _PR_TSC_SIGSEGV = 26, 2
_CLONE_NEWTIME = 0x80
_PAGE_BYTES = 4096
_libc = ctypes.CDLL(None, use_errno=True)

# name -> is it declared to be a program, and lines for its time namespace
CASES = {
    "ours": (False, ""),
    "program": (True, ""),
    "ahead": (True, "realtime 10 0\ndrift 0 100000\n"),
    "behind": (False, "realtime -2 500000000\n"),
}


def carry_out(files: Exchange, state: Path) -> None:
    said = {name: _ask(files.directory / name, *case) for name, case in CASES.items()}
    said["waited"] = {"late_ns": _late_ns()}
    said["scattered"] = {"kept": _kept(70_000)}
    (files.run.path / "said.json").write_text(json.dumps(said))
    files.give(Answer(Findings()))


def _ask(output: Path, program: bool, lines: str) -> object:
    if (pid := os.fork()) == 0:
        if program:
            _check(_libc.prctl(_PR_SET_TSC, _PR_TSC_SIGSEGV, 0, 0, 0))
        if lines:
            _check(_libc.unshare(_CLONE_NEWTIME))  # for what is started from here on
            Path("/proc/self/timens_offsets").write_text(lines)
        if (inner := os.fork()) == 0:
            os.dup2(os.open(output, os.O_CREAT | os.O_WRONLY, 0o644), sys.stdout.fileno())
            os.execv(sys.executable, [sys.executable, "-S", "-s", "-B", "-m", "tests.helpers.guest_program"])  # noqa: S606
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]))
    _check(os.waitpid(pid, 0)[1])
    return json.loads(output.read_text())


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _late_ns() -> int:
    """By how much one oversleeps while another reads the clock all the time."""
    told, tell = os.pipe()
    if os.fork() == 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        begin_ns = time.monotonic_ns()
        os.write(tell, b"asleep")
        time.sleep(0.002)
        os.write(tell, str(time.monotonic_ns() - begin_ns - 2_000_000).encode())
        os._exit(0)
    os.read(told, 6)
    until_ns = time.monotonic_ns() + 5_000_000
    while time.monotonic_ns() < until_ns:
        pass
    os.wait()
    return int(os.read(told, 32))


def _kept(pages: int) -> int:
    """How many pages that do not lie side by side have what was written to them, seen by a child that has them, too."""
    area = mmap.mmap(-1, 2 * pages * _PAGE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    places = range(0, len(area), 2 * _PAGE_BYTES)
    for number, place in enumerate(places):
        area[place] = number % 251
    told, tell = os.pipe()
    if os.fork() == 0:
        for number, place in enumerate(places):
            area[place] = (area[place] + number) % 251
        os.write(tell, str(sum(area[place] == 2 * number % 251 for number, place in enumerate(places))).encode())
        os._exit(0)
    os.wait()
    return min(int(os.read(told, 32)), sum(area[place] == number % 251 for number, place in enumerate(places)))
