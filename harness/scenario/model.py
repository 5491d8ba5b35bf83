"""A scenario: a network, what goes wrong in it, which protocol runs on it, what must hold. Plain values, complete.

Every key of a scenario file is a field here, in the same table; how it is written follows from its type (schema.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from harness.scenario.codecs import AllOrNames
from harness.scenario.explore import Explore, NetworkKind
from harness.scenario.faults import Fault
from harness.scenario.faults.base import Names, Time
from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.schema import Problems, read_table, write_table
from topologies.impairments import Impairment
from topologies.kinds import Sizes, build
from topologies.plan import Channel, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyOptions:
    """[topology]: see topologies/kinds.py for the kinds and their sizes."""

    kind: NetworkKind
    nodes: int
    routers: int | None = None
    arity: int | None = None
    depth: int | None = None
    first_site: int | None = None
    channel: Channel | None = None
    snooping: bool = False
    outsiders: int | None = None  # hosts above n<nodes> on which no node runs, for faults of kind forge

    def __post_init__(self) -> None:
        if self.outsiders is not None and self.outsiders < 1:
            raise ValueError("outsiders is at least 1, or not there")

    def plan(self) -> Plan:
        """The network; PlanError if there is none like that."""
        sizes = Sizes(routers=self.routers, arity=self.arity, depth=self.depth, first_site=self.first_site)
        hosts = self.nodes + (self.outsiders or 0)
        return build(self.kind, hosts, sizes, channel=self.channel, snooping=self.snooping)

    @property
    def names(self) -> tuple[str, ...]:
        """n1 to nN: the hosts on which nodes run."""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """[node]: what all node processes are given."""

    buffer_pdus: int = 1024  # what a machine says it can take in (flow condition of papers 000 and 001)
    read_delay_ns: Time = 0  # a node reads one frame per this time; 0: as they come
    receive_buffer_bytes: Annotated[int, "bytes"] | None = None  # the kernel's; what does not fit in is lost

    def __post_init__(self) -> None:
        if not 1 <= self.buffer_pdus <= 65_535:
            raise ValueError("buffer_pdus is 1 to 65535")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impair:
    """[[impair]]: an impairment and where it is (topologies/placement.py)."""

    on: Names
    impairment: Annotated[Impairment, "flatten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStart:
    """[[clock]]: how the local clocks of some nodes differ from true time from the start."""

    node: Names
    offset_ns: Annotated[int, "shift"] = 0
    drift_ppb: Annotated[int, "drift"] = 0

    def __post_init__(self) -> None:
        if abs(self.drift_ppb) > 500_000_000:
            raise ValueError("a drift lies between -500000ppm and 500000ppm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations:
    """To whom each message goes: to everybody, or to a random choice among `among`; a share of them to everybody."""

    fraction: float | None = None
    count: int | None = None
    nodes: Names | None = None
    among: Literal["all", "others"] = "all"
    multicast: Annotated[float, "share"] = 0.0

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.fraction, self.count, self.nodes)) > 1:
            raise ValueError("destinations have one of fraction, count and nodes")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise ValueError("fraction is more than 0 and at most 1")
        if self.count is not None and self.count < 1:
            raise ValueError("count is at least 1")
        if not 0 <= self.multicast <= 1:
            raise ValueError("multicast is a share from 0% to 100%")


class DestinationsCodec:
    """`"all"`, `"others"`, or a table."""

    def read(self, value: Any, path: Path, problems: Problems) -> Destinations | None:
        if isinstance(value, str):
            if value == "all":
                return Destinations()
            if value == "others":
                return Destinations(among="others")
            raise ValueError(
                f'destinations cannot be {value!r}: write "all", "others" or a table with fraction, count or nodes'
            )
        return read_table(Destinations, value, path, problems, "destinations")

    def write(self, value: Destinations) -> str | dict[str, Any]:
        if value in (Destinations(), Destinations(among="others")):
            return value.among
        return write_table(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What all workloads have."""

    KIND: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated(Workload):
    """Messages that follow a rule and chance."""

    start_ns: Time = 100_000_000
    payload: int = 64  # bytes
    destinations: Annotated[Destinations, DestinationsCodec()] = Destinations()
    senders: Names | None = None  # all nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Bursts(Generated):
    """In every round, all senders submit at the same instant."""

    KIND: ClassVar[str] = "bursts"
    rounds: int
    every_ns: Time = 100_000_000
    size: int = 1  # messages per sender and round

    def __post_init__(self) -> None:
        for name in ("rounds", "size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1")
        if self.rounds > 1 and self.every_ns < 1:
            raise ValueError("every must leave some time between two rounds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady(Generated):
    """Every sender submits at a rate, independently of the others."""

    KIND: ClassVar[str] = "steady"
    rate_per_s: Annotated[float, "rate"]  # of each sender
    for_ns: Time
    arrivals: Literal["periodic", "poisson"] = "periodic"

    def __post_init__(self) -> None:
        if not 0 < self.rate_per_s <= 1_000_000:
            raise ValueError("a steady workload has a rate above 0/s and up to 1000000/s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """[[workload.message]]: one message of a script."""

    at_ns: Time
    node: str
    to: Annotated[tuple[str, ...], AllOrNames()] = ()  # none: to all
    data: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script(Workload):
    """Exactly these messages."""

    KIND: ClassVar[str] = "script"
    message: tuple[Message, ...]


AnyWorkload = Bursts | Steady | Script
WORKLOADS: Mapping[str, type[Any]] = {one.KIND: one for one in (Bursts, Steady, Script)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """[[expect]]: a property with its verdict, or a metric within limits."""

    property: str | None = None
    verdict: Literal["pass", "fail", "unknown"] | None = None
    metric: str | None = None
    near: float | None = None
    tolerance: Annotated[float, "share"] | None = None
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        limits = [name for name in ("near", "tolerance", "at_most", "at_least") if getattr(self, name) is not None]
        if (self.property is None) == (self.metric is None):
            raise ValueError("an expectation is about either a property or a metric")
        if self.property is not None and limits:
            raise ValueError(f"a property has a verdict, no {limits[0]}: that belongs to a metric")
        if self.metric is not None:
            if self.verdict is not None:
                raise ValueError("a metric has no verdict: say near and tolerance, at_most or at_least")
            if not limits or (self.near is None) != (self.tolerance is None):
                raise ValueError("a metric needs near with a tolerance, at_most or at_least")
            if self.at_most is not None and self.at_least is not None and self.at_least > self.at_most:
                raise ValueError("at_least is above at_most: nothing can be both")

    def holds(self, value: float) -> bool:
        """Is a measured metric as expected?"""
        near = self.near is None or abs(value - self.near) <= abs(self.near) * (self.tolerance or 0.0)
        return (
            near
            and (self.at_most is None or value <= self.at_most)
            and (self.at_least is None or value >= self.at_least)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """The keys above all tables."""

    name: str
    protocol: str
    description: str = ""
    seed: int = 1
    seeds: int | None = None  # how many runs `tutti pytest` makes, from `seed` on
    engine: Literal["virtual", "live"] = "virtual"
    limit_ns: Time = 600_000_000_000  # the run ends here as unknown, if it did not end before
    settle_ns: Time = 1_000_000_000  # for so long everything must be quiet, then the run has ended
    livelock_ns: Time | None = None  # or frames flow for so long, but lead to nothing; otherwise from the time-outs

    def __post_init__(self) -> None:
        if not self.name.strip() or self.name.startswith(".") or not self.name.isprintable() or "/" in self.name:
            raise ValueError("a name is printable text without '/' that does not begin with '.': runs are called by it")
        if len(self.name.encode()) > 100:
            raise ValueError("a name has at most 100 bytes")
        if not 0 <= self.seed < 2**63:
            raise ValueError("a seed is a whole number from 0 to 2^63 - 1")
        if self.seeds is not None and not 1 <= self.seeds <= 100_000:
            raise ValueError("seeds is how many: 1 to 100000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(Top):
    """Everything that a run is made from. `options` is the protocol's own table."""

    topology: TopologyOptions
    options: Any
    node: NodeOptions = NodeOptions()
    impair: tuple[Impair, ...] = ()
    clock: tuple[ClockStart, ...] = ()
    workload: AnyWorkload | None = None
    fault: tuple[Fault, ...] = ()
    expect: tuple[Expect, ...] = ()
    explore: Explore | None = None

    def plan(self) -> Plan:
        """The network."""
        return self.topology.plan()

    @property
    def nodes(self) -> tuple[str, ...]:
        """n1 to nN."""
        return self.topology.names


def read_variant(kinds: Mapping[str, type[Any]], raw: Any, path: Path, problems: Problems, what: str) -> Any:
    """A table whose `kind` says which dataclass it is."""
    if not isinstance(raw, Mapping):
        problems.append(Problem(path, f"a {what} must be a table"))
        return None
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        if kind is None:
            reason = f"a {what} needs a kind{did_you_mean('', kinds)}"
        else:
            reason = f"no {what} is called {kind!r}{did_you_mean(str(kind), kinds)}"
        problems.append(Problem((*path, "kind") if kind is not None else path, reason))
        return None
    rest = {key: value for key, value in raw.items() if key != "kind"}
    return read_table(kinds[kind], rest, path, problems, f"a {what} of kind {kind}")


def write_variant(value: Any) -> dict[str, Any]:
    """The inverse of read_variant."""
    return {"kind": value.KIND, **write_table(value)}
