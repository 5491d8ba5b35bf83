"""What an engine is: a kernel, and how the agent gets to carry out a run in it."""

from __future__ import annotations

from typing import Protocol

from harness.engines.outcome import EngineOptions, Progress
from harness.exchange import Exchange
from harness.manifest import Kernel


class Engine(Protocol):
    """One way to run. MachineLacks if it cannot be done here."""

    @property
    def kernel(self) -> Kernel:
        """Which kernel it is; with the scenario, all that a run's bytes depend on."""

    def carry_out(self, files: Exchange, seed: int, options: EngineOptions, progress: Progress) -> None:
        """Return when the agent has carried out what `files` hands over, and has answered; EngineError if it did not.

        The seed is that of the whole run."""


def engine_of(name: str) -> Engine:
    """The engine that a scenario names."""
    if name == "live":
        from harness.engines.live import Live

        return Live()
    from harness.engines.virtual import Virtual

    return Virtual()
