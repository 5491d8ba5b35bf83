"""Forgeries: an outsider sends something of its own making (forgeries.py). A process at its host does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.scenario.faults.base import Fault, Names, Time, fault
from harness.scenario.faults.stage import Stage
from harness.scenario.forgeries import Fields, FieldsCodec, HexCodec, check_fields
from harness.scenario.pdus import PduCodec, PduMatch, check_match
from harness.scenario.problems import Path, Problem
from harness.scenario.scope import Scope


@fault
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
    def _span_ns(self) -> int:
        """From the first to the last that it sends."""
        return (self.count - 1) * self.every_ns

    @property
    def last_ns(self) -> int:
        return self.at_ns + self._span_ns

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        outsiders = scope.plan.hosts[len(scope.nodes) :]
        if self.from_ not in outsiders:
            there = f"this scenario has {', '.join(outsiders)}" if outsiders else "say outsiders = 1 in [topology]"
            yield Problem((*path, "from"), f"{self.from_!r} is no outsider: {there}")
        yield from scope.strangers(self.to or (), (*path, "to"))
        if scope.protocol is None:
            return
        if self.pdu is not None:
            yield from check_fields(self.pdu, scope.protocol, (), (*path, "pdu"))
        if self.heard is not None:
            yield from check_match(self.heard, scope.protocol, len(scope.plan.hosts), (*path, "heard"))
            if self.set_ is not None:
                yield from check_fields(self.set_, scope.protocol, self.heard.types, (*path, "set"))

    def enter(self, stage: Stage) -> None:
        """The outsider does it; the run does not end before."""
        if self.when is None:
            stage.until(self.last_ns)
        else:
            stage.when(self.when, self.at_ns, lambda: self.happen(stage))

    def happen(self, stage: Stage) -> None:
        stage.release(self)
        stage.after(self._span_ns, lambda: None)

    def what(self) -> str:
        """What it sends, in words."""
        if self.raw is not None:
            return "raw"
        if self.pdu is not None:
            return str(dict(self.pdu.values)["type"])
        assert self.heard is not None
        return " ".join(("heard", *self.heard.types))
