"""What faults do to nodes and links for a while, on whichever stage: the end of one of them is not that of another.

Where several stop a node, or pull out a link, it goes on when the last of them has ended; of slow readers the latest
counts; a partition replaces the one before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topologies.layers import Cover, Layers

if TYPE_CHECKING:
    from harness.scenario.model import NodeOptions

RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024  # of a socket, where a scenario says nothing
Pairs = Collection[tuple[str, str]]  # sender, receiver


@dataclass(frozen=True, slots=True)
class Reading:
    """A frame per so much time, from a receive buffer of this size."""

    delay_ns: int
    buffer_bytes: int


class Lasting(ABC):
    """A stage says how each thing is done; here is what has to be done."""

    def __init__(self, options: NodeOptions) -> None:
        usual = Reading(options.read_delay_ns, options.receive_buffer_bytes or RECEIVE_BUFFER_BYTES)
        self._stopped = Layers[str, bool](self._stop, False)
        self._unplugged = Layers[str, bool](self._unplug, False)
        self._reading = Layers[str, Reading](self._read_so, usual)
        self._partition: object = None

    def pause(self, nodes: Iterable[str]) -> Cover[str]:
        return self._stopped.cover(nodes, True)

    def resume(self, nodes: Iterable[str]) -> None:
        self._stopped.bare(nodes)

    def unplug(self, links: Iterable[str]) -> Cover[str]:
        return self._unplugged.cover(links, True)

    def plug(self, links: Iterable[str]) -> None:
        self._unplugged.bare(links)

    def sever(self, pairs: Pairs) -> Cover[str]:
        mark = self._partition = object()
        self._sever(pairs)

        def frees() -> list[str]:
            return [f"{a}>{b}" for a, b in pairs] if self._partition is mark else []

        def end() -> None:
            if self._partition is mark:
                self._sever(())

        return Cover(frees, end)

    def mend(self) -> None:
        self._partition = None
        self._sever(())
        self.plug(self._unplugged.covered())

    def read_slowly(self, nodes: Iterable[str], delay_ns: int, buffer_bytes: int | None) -> Cover[str]:
        covers = [
            self._reading.cover([node], Reading(delay_ns, buffer_bytes or self._reading.at(node).buffer_bytes))
            for node in nodes
        ]

        def end() -> None:
            for cover in covers:
                cover.end()

        return Cover(lambda: [node for cover in covers for node in cover.frees()], end)

    def reading(self, node: str) -> Reading:
        """How it reads now."""
        return self._reading.at(node)

    @abstractmethod
    def _stop(self, node: str, stopped: bool) -> None:
        """Let it do nothing, or go on, if it runs."""

    @abstractmethod
    def _unplug(self, link: str, unplugged: bool) -> None:
        """Pull it out, or plug it in."""

    @abstractmethod
    def _read_so(self, node: str, reading: Reading) -> None:
        """Let it read so."""

    @abstractmethod
    def _sever(self, pairs: Pairs) -> None:
        """Let nothing get through between these, and everything between all others."""
