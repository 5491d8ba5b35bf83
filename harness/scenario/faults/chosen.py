"""Faults of chosen PDUs: "the 2nd RST_PAK of n3 on its way to n1 is lost". The injector carries them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.scenario.codecs import Number
from harness.scenario.faults.base import Fault, Names, Time, fault
from harness.scenario.faults.stage import Stage
from harness.scenario.pdus import PduCodec, PduMatch, check_match
from harness.scenario.problems import Path, Problem
from harness.scenario.scope import Scope
from nodes.wire.fault import FaultNote


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

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        yield from scope.strangers(self.towards or (), (*path, "towards"))
        if scope.protocol is not None:
            yield from check_match(self.pdu, scope.protocol, len(scope.plan.hosts), (*path, "pdu"))

    def enter(self, stage: Stage) -> None:
        """One with a time needs nothing: it was told to the injector, and the run does not wait for its PDUs."""
        if self.when is not None:
            stage.when(self.when, self.at_ns, lambda: stage.release(self))

    def note(self, towards: str) -> FaultNote:
        """The words for each PDU that is taken on its way to a node."""
        about = " ".join((*self.pdu.types, *(f"from n{src}" for src in self.pdu.src), f"towards {towards}"))
        return self.begins((towards,), about)

    def copies_ns(self) -> tuple[int, ...]:
        """What becomes of a PDU that is taken: how late each of its copies goes on."""
        raise NotImplementedError


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(PduFault):
    """They are lost."""

    KIND: ClassVar[str] = "drop"

    def copies_ns(self) -> tuple[int, ...]:
        return ()


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Delay(PduFault):
    """They come later."""

    KIND: ClassVar[str] = "delay"
    by_ns: Time

    def copies_ns(self) -> tuple[int, ...]:
        return (self.by_ns,)


@fault
@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate(PduFault):
    """They come once more, `by` later, and once for each time in `more`; the first copy may be `late`, too."""

    KIND: ClassVar[str] = "duplicate"
    by_ns: Time = 0
    late_ns: Time = 0
    more: tuple[Time, ...] = ()  # after the first copy

    def copies_ns(self) -> tuple[int, ...]:
        return (self.late_ns, *(self.late_ns + after_ns for after_ns in (self.by_ns, *self.more)))
