"""What faults act on: processes of nodes, links, impairments, clocks. Whoever carries out a scenario has one.

The agent's is the emulated network with its processes (`harness/agent/stage.py`). Nothing here knows which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from harness.scenario.faults.lasting import Pairs
from harness.scenario.faults.when import When
from nodes.wire.fault import FaultNote
from topologies.impairments import Impairment
from topologies.layers import Cover
from topologies.placement import Placement

if TYPE_CHECKING:
    from harness.scenario.faults.base import Fault


class Stage(Protocol):
    """The controls. What is asked of a node that does not run does nothing, but to start it."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """n1 to nN."""

    # the timeline

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        """Do something at this time from the start of the run; at equal times in the order of asking."""

    def when(self, when: When, delay_ns: int, action: Callable[[], None]) -> None:
        """Do something so long after this moment (0: at once, before anybody does anything else), if it comes."""

    def after(self, delay_ns: int, action: Callable[[], object]) -> None:
        """Do something so long after the fault that is happening began."""

    def until(self, time_ns: int) -> None:
        """The run goes on up to this time at least."""

    def release(self, fault: Fault) -> None:
        """Whoever carries out this fault by himself (the injector, an outsider) has waited for its moment: now."""

    def say(self, note: FaultNote) -> None:
        """Send a FAULT NOTE."""

    # processes

    def runs(self, node: str) -> bool:
        """It has neither crashed nor left; it may be paused."""

    def paused(self, node: str) -> bool:
        """It runs, and is stopped for now."""

    def kill(self, node: str) -> None:
        """It gets no chance to do anything."""

    def dismiss(self, node: str) -> None:
        """It is asked to end, with a farewell."""

    def start(self, node: str) -> None:
        """With its next incarnation."""

    def pause(self, nodes: Sequence[str]) -> Cover[str]:
        """They do nothing; what comes for them waits."""

    def resume(self, nodes: Sequence[str]) -> None:
        """They go on, whatever has stopped them."""

    # the network

    def sever(self, pairs: Pairs) -> Cover[str]:
        """From now on nothing gets through from the first to the second of these pairs; between all others it does."""

    def unplug(self, links: Sequence[str]) -> Cover[str]:
        """Pull them out."""

    def plug(self, links: Sequence[str]) -> None:
        """Plug them in, whatever has pulled them out."""

    def mend(self) -> None:
        """Nothing is severed, and all links are up."""

    def impair(self, on: Sequence[str], impairment: Impairment) -> Cover[Placement]:
        """Put an impairment over what is there."""

    # inside of nodes

    def set_clock(self, node: str, offset_ns: int | None, step_ns: int | None, drift_ppb: int | None) -> None:
        """Set the local clock to an offset against true time, or move it by a step; let it drift from now on."""

    def read_slowly(self, nodes: Sequence[str], delay_ns: int, buffer_bytes: int | None) -> Cover[str]:
        """They read one frame per so much time, from a receive buffer of this size (None: of the size that it has)."""
