"""What the processes of a run have had of this machine's processors, and which node's program one of them is.

They are those whose standard output is one of the run's logs, and all that these have started. In a private kernel each
guest process is carried by a process of this machine, in whose memory its words are where Linux put them: at the top of
its stack.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_SECOND = 1e9
_STACK_END_BYTES = 65_536
_PLATFORM, _NODE = b"x86_64\0", re.compile(rb"\0TUTTI_NODE=(n\d+)\0")  # before the arguments; in the environment
_VARIABLE = re.compile(rb"(PATH|HOME|LC_ALL|TERM|TUTTI_[A-Z]+)=")  # of each program (nodes/program/keeper.py)


@dataclass(frozen=True, slots=True)
class Shares:
    """Of each process: seconds on a processor, and seconds of waiting for one; up to which time, or in how long."""

    time_s: float
    ran: Mapping[int, float]
    waited: Mapping[int, float]

    @staticmethod
    def of(logs: Collection[Path]) -> Shares:
        """Those of the run that writes these logs."""
        time_s, parents = time.monotonic(), dict(parents_of_all())
        found = {pid for pid in parents if _output(pid) in logs}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        had = {}
        for pid in found:
            with contextlib.suppress(OSError):  # it has ended
                had[pid] = [int(one) / _SECOND for one in (_PROC / str(pid) / "schedstat").read_text().split()]
        return Shares(time_s, {pid: one[0] for pid, one in had.items()}, {pid: one[1] for pid, one in had.items()})

    def since(self, before: Shares) -> Shares:
        """What came after that."""
        return Shares(
            self.time_s - before.time_s,
            {pid: ran_s - before.ran.get(pid, 0) for pid, ran_s in self.ran.items()},
            {pid: waited_s - before.waited.get(pid, 0) for pid, waited_s in self.waited.items()},
        )

    @property
    def ran_s(self) -> float:
        return sum(self.ran.values())

    @property
    def waited_s(self) -> float:
        return sum(self.waited.values())

    @property
    def busiest(self) -> tuple[int, float]:
        """Which process ran longest, and for how long."""
        return max(self.ran.items(), key=lambda one: one[1], default=(0, 0.0))


def program_of(pid: int) -> str:
    """Whose program it carries, and its words: "n2's `etcd --name n2`"; nothing if that cannot be seen."""
    place = _PROC / str(pid)
    with contextlib.suppress(OSError), (place / "mem").open("rb", buffering=0) as memory:
        for begin, end in reversed(_ranges((place / "maps").read_text().splitlines())):
            with contextlib.suppress(OSError, OverflowError):  # what cannot be read is no stack
                memory.seek(max(begin, end - _STACK_END_BYTES))
                stack = memory.read(min(end - begin, _STACK_END_BYTES))
                if node := _NODE.search(stack):
                    words = stack[: node.start()].rpartition(_PLATFORM)[2].lstrip(b"\0").split(b"\0")
                    command = b" ".join(itertools.takewhile(lambda word: not _VARIABLE.match(word), words))
                    return f"{node[1].decode()}'s `{command.decode(errors='replace')}`"
    return ""


def _ranges(maps: Sequence[str]) -> list[tuple[int, int]]:
    """Of addresses: each page of a guest may be a mapping of its own."""
    found: list[tuple[int, int]] = []
    for line in maps:
        begin, end = (int(one, 16) for one in line.split()[0].split("-"))
        if found and found[-1][1] == begin:
            begin, _ = found.pop()
        found.append((begin, end))
    return found


def parents_of_all() -> Iterator[tuple[int, int]]:
    """Of each process of this machine, which one started it."""
    for place in _PROC.iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(place.name), int((place / "stat").read_text().rpartition(")")[2].split()[1])


def _output(pid: int) -> Path | None:
    try:
        return (_PROC / str(pid) / "fd/1").readlink()
    except OSError:
        return None
