"""What an engine is: a kernel, and how the agent gets to carry out a run in it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from harness.engines.outcome import EngineOptions
from harness.engines.watch import Attended
from harness.exchange import Exchange
from harness.manifest import Kernel
from harness.shape import Shape


class Engine(Protocol):
    """One way to run. MachineLacks if it cannot be done here."""

    @property
    def kernel(self) -> Kernel:
        """Which kernel it is; with the scenario, all that a run's bytes depend on."""

    def get_ready(self, options: EngineOptions, shape: Shape, many: bool = False) -> None:
        """A run of this shape comes next, or many: make what runs share, and what those of one shape do. Who forks
        processes for runs does this before each, so that they share it too."""

    def start(self, files: Exchange, options: EngineOptions) -> AbstractContextManager[Attended]:
        """Have the agent begin what `files` hands over. Who waits to the end finds its answer in `files`; who leaves
        before has ended the run."""


def engine_of(name: str) -> Engine:
    """The engine that a scenario names."""
    if name == "live":
        from harness.engines.live import Live

        return Live()
    from harness.engines.virtual import Virtual

    return Virtual()
