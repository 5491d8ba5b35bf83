"""What a scenario says about nodes that were written for Maelstrom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from nodes.program.options import ProgramOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MaelstromOptions(ProgramOptions):
    """[maelstrom]: what [program] has, and what Maelstrom's clients do. The program is its own adapter."""

    workload: Literal["echo", "broadcast", "unique-ids"]
    topology: Literal["total", "line"] = "total"  # of broadcast, as nodes are told it: who is whose neighbour
    read_every_ns: Annotated[int, "duration"] = 100_000_000  # broadcast: how often each client reads

    def __post_init__(self) -> None:
        ProgramOptions.__post_init__(self)
        if self.adapter is not None:
            raise ValueError("adapter: a node of Maelstrom reads and writes messages itself")
        if self.main.ready or self.main.ready_port or self.main.ready_file or self.main.notes:
            raise ValueError("ready and notes are not for a node of Maelstrom: it is ready when it answers `init`")
        if self.read_every_ns < 1:
            raise ValueError("read_every is more than nothing")

    @property
    def talks(self) -> str:
        return self.main.called
