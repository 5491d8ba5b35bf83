"""Faults: what is done to the network and the nodes while a run goes on, one dataclass per kind.

`at` is time from the start of the run; `for` undoes the fault by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from harness.scenario.codecs import Number, OneOrMore
from harness.scenario.forgeries import Fields, FieldsCodec, HexCodec
from harness.scenario.pdus import PduCodec, PduMatch
from topologies.impairments import Impairment

Names = Annotated[tuple[str, ...], OneOrMore()]
Time = Annotated[int, "duration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What all faults have."""

    KIND: ClassVar[str]
    at_ns: Time = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash(Fault):
    """The process of each node is killed (SIGKILL)."""

    KIND: ClassVar[str] = "crash"
    node: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave(Fault):
    """The process of each node is asked to end, and says so to the others if its protocol has words for it."""

    KIND: ClassVar[str] = "leave"
    node: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Fault):
    """The process of a node that crashed or left is started again, with the next incarnation."""

    KIND: ClassVar[str] = "restart"
    node: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Fault):
    """The process of each node is stopped (SIGSTOP); the kernel goes on queueing what comes for it."""

    KIND: ClassVar[str] = "pause"
    node: Names
    for_ns: Time | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(Fault):
    """A paused process goes on."""

    KIND: ClassVar[str] = "resume"
    node: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Fault):
    """PDUs get through only between nodes that share a group; nodes that no group names form one more. Or, with
    `from` and `to`, one way: what the first send does not reach the second. It replaces an earlier partition."""

    KIND: ClassVar[str] = "partition"
    groups: tuple[tuple[str, ...], ...] | None = None
    from_: Names | None = None
    to: Names | None = None
    for_ns: Time | None = None

    def __post_init__(self) -> None:
        if (self.groups is None) == (self.from_ is None) or (self.from_ is None) != (self.to is None):
            raise ValueError("a partition has either groups, or from and to")
        if self.groups is not None and (not self.groups or not all(self.groups)):
            raise ValueError("a partition has groups with at least one node each")

    def severed(self, nodes: tuple[str, ...]) -> frozenset[tuple[str, str]]:
        """The (sender, receiver) pairs between which nothing gets through. A node always hears itself."""
        if self.groups is None:
            senders, receivers = self.from_ or (), self.to or ()
            return frozenset((a, b) for a in senders for b in receivers if a != b)
        named = {name for group in self.groups for name in group}
        groups = [*map(set, self.groups), {name for name in nodes if name not in named}]
        return frozenset(
            (a, b) for a in nodes for b in nodes if a != b and not any(a in group and b in group for group in groups)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heal(Fault):
    """Partitions end, links come up."""

    KIND: ClassVar[str] = "heal"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState(Fault):
    """A link goes down, or comes up."""

    KIND: ClassVar[str] = "link"
    link: Names
    state: Literal["down", "up"] = "down"
    for_ns: Time | None = None

    def __post_init__(self) -> None:
        if self.state == "up" and self.for_ns is not None:
            raise ValueError("only a link that goes down comes back by itself")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Fault):
    """Another impairment takes the place of what was there; without keys, none."""

    KIND: ClassVar[str] = "impair"
    on: Names
    for_ns: Time | None = None
    impairment: Annotated[Impairment, "flatten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange(Fault):
    """A node's local clock: `offset` against true time, `step` from where it is, `drift` from now on."""

    KIND: ClassVar[str] = "clock"
    node: Names
    offset_ns: Annotated[int, "shift"] | None = None
    step_ns: Annotated[int, "shift"] | None = None
    drift_ppb: Annotated[int, "drift"] | None = None

    def __post_init__(self) -> None:
        if self.offset_ns is None and self.step_ns is None and self.drift_ppb is None:
            raise ValueError("a clock fault needs an offset, a step or a drift")
        if self.offset_ns is not None and self.step_ns is not None:
            raise ValueError("a clock is set to an offset or moved by a step, not both")
        if self.drift_ppb is not None and abs(self.drift_ppb) > 500_000_000:
            raise ValueError("a drift lies between -500000ppm and 500000ppm")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowReader(Fault):
    """A node reads one frame per `read_delay` from a receive buffer of so many bytes; the kernel drops the rest."""

    KIND: ClassVar[str] = "slow_reader"
    node: Names
    read_delay_ns: Time = 0
    buffer_bytes: Annotated[int, "bytes"] | None = None
    for_ns: Time | None = None

    def __post_init__(self) -> None:
        if self.read_delay_ns == 0 and self.buffer_bytes is None:
            raise ValueError("a slow reader needs a read_delay or a buffer")
        if self.buffer_bytes is not None and not 2304 <= self.buffer_bytes < 2**30:
            raise ValueError("a receive buffer has at least 2304 bytes (Linux gives no less) and less than 2^30")


@dataclass(frozen=True, slots=True, kw_only=True)
class PduFault(Fault):
    """Chosen PDUs on the way to some nodes. Of those that match, for each receiver: take a `share` by chance, pass over
    the first `skip` of these, then take `count`."""

    pdu: Annotated[PduMatch, PduCodec()]
    towards: Names | None = None  # all nodes
    count: Annotated[int | None, Number(1, "all")] = 1
    skip: int = 0
    share: Annotated[float, "share"] = 1.0
    for_ns: Time | None = None

    def __post_init__(self) -> None:
        if self.skip < 0:
            raise ValueError("skip cannot be below 0")
        if not 0 < self.share <= 1:
            raise ValueError("share is more than 0% and at most 100%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(PduFault):
    """They are lost."""

    KIND: ClassVar[str] = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay(PduFault):
    """They come later."""

    KIND: ClassVar[str] = "delay"
    by_ns: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate(PduFault):
    """They come once more, `by` later."""

    KIND: ClassVar[str] = "duplicate"
    by_ns: Time = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge(Fault):
    """An outsider, a host of the topology that is no member, sends the nodes `to` (or everybody) something of its own
    making: a `pdu`, one it `heard`, changed by `set`, or `raw` bytes; cut or filled up to `size`; `count` times."""

    KIND: ClassVar[str] = "forge"
    from_: str
    to: Names | None = None
    pdu: Annotated[Fields, FieldsCodec()] | None = None
    heard: Annotated[PduMatch, PduCodec()] | None = None
    set_: Annotated[Fields, FieldsCodec()] | None = None
    raw: Annotated[bytes, HexCodec()] | None = None
    size: int | None = None
    count: int = 1
    every_ns: Time = 0

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.pdu, self.heard, self.raw)) != 1:
            raise ValueError("an outsider sends one of pdu, heard and raw")
        if self.set_ is not None and self.heard is None:
            raise ValueError("set changes what was heard")
        if self.size is not None and not 0 <= self.size <= 65_000:
            raise ValueError("size is 0 to 65000 bytes")
        if self.count < 1:
            raise ValueError("count is at least 1")

    @property
    def last_ns(self) -> int:
        """When the last of them goes out."""
        return self.at_ns + (self.count - 1) * self.every_ns


AnyFault = (
    Crash
    | Leave
    | Restart
    | Pause
    | Resume
    | Partition
    | Heal
    | LinkState
    | Change
    | ClockChange
    | SlowReader
    | Drop
    | Delay
    | Duplicate
    | Forge
)

FAULTS: Mapping[str, type[Any]] = {
    one.KIND: one
    for one in (
        Crash,
        Leave,
        Restart,
        Pause,
        Resume,
        Partition,
        Heal,
        LinkState,
        Change,
        ClockChange,
        SlowReader,
        Drop,
        Delay,
        Duplicate,
        Forge,
    )
}
