"""[explore]: what a search draws from, beside what the scenario itself says (docs/explore.md)."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from harness.scenario.faults.base import Time
from harness.scenario.problems import Path
from harness.scenario.schema import Problems

Share = Annotated[float, "share"]

FaultKind = Literal[
    "crash", "leave", "pause", "partition", "link", "impair", "clock", "slow_reader", "drop", "delay", "duplicate"
]

NetworkKind = Literal["one_channel", "lan", "star", "line", "ring", "tree", "mesh", "two_sites"]


class ChoicesCodec:
    """A table of lists, e.g. for each option of the protocol the values that it may have."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        if not isinstance(value, Mapping) or not all(isinstance(one, list) and one for one in value.values()):
            raise ValueError(f"{path[-1]} is a table of lists, none of them empty")
        return tuple((name, tuple(values)) for name, values in value.items())

    def write(self, value: tuple[tuple[str, tuple[Any, ...]], ...]) -> dict[str, list[Any]]:
        return {name: list(values) for name, values in value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explore:
    """The bounds of a search."""

    faults: tuple[FaultKind, ...] = typing.get_args(FaultKind)
    most_faults: int = 8
    within_ns: Time = 300_000_000  # messages are submitted and faults begin in this time
    waits: tuple[Time, ...] = ()  # time-outs: faults come so long after other things happen, and last so long
    nodes: tuple[int, ...] = ()  # how many there may be; none: as many as the scenario has
    networks: tuple[NetworkKind, ...] = ()  # none: the scenario's kind
    messages: int = 0  # at most so many, at any time; 0: the scenario's own workload
    payload: tuple[int, ...] = (0, 8)  # bytes
    destinations: tuple[Literal["one", "some", "all", "self"], ...] = ("one", "some", "all", "self")
    loss: tuple[Share, ...] = (0.0, 0.02, 0.1)  # of everything, all the time ...
    passing: bool = False  # ... or for a while, since the protocol promises to get somewhere only after that
    delay: tuple[Time, ...] = (0,)  # between two nodes
    spare: tuple[str, ...] = ()  # PDUs of which a node need never get any: the protocol goes on
    skew_ns: Time = 0  # by how much the clocks of two nodes may differ
    options: Annotated[tuple[tuple[str, tuple[Any, ...]], ...], ChoicesCodec()] = ()
    # Options with which the protocol withstands little: in some cases it has the first value of each, and no more goes
    # wrong than that two PDUs are lost, doubled or late.
    mild: Annotated[tuple[tuple[str, tuple[Any, ...]], ...], ChoicesCodec()] = ()
    properties: tuple[str, ...] = ()  # judged beside those of the protocol
    void: Annotated[tuple[tuple[str, tuple[Any, ...]], ...], ChoicesCodec()] = ()  # what a kind of fault may break

    def __post_init__(self) -> None:
        if self.most_faults < 0 or self.messages < 0:
            raise ValueError("most_faults and messages cannot be below 0")
        if self.within_ns < 1:
            raise ValueError("within is above 0")
        if not all(0 <= share < 1 for share in self.loss):
            raise ValueError("loss is a list of shares below 100%")
