"""Moments that no clock knows: `when = { pdu = { type = "RST_ACK", src = 3 }, count = 2 }`.

pdu = { type = "RST_ACK", src = 3 }       n3 sends it: right then, before n3 does anything else
towards = "n1"                            ... but when it comes to n1, before n1 reads it
note = { kind = "VIEW", src = 3 }         n3 notes something (nodes/wire/note.py): right then; fields as those of a PDU
count = 2                                 the second that matches, counted over all the nodes that are meant
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from harness.scenario.codecs import OneOrMore
from harness.scenario.pdus import PduCodec, PduMatch, check_match
from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.schema import Problems
from harness.scenario.scope import Scope
from nodes.protocols import protocol
from nodes.wire import Pdu
from nodes.wire.note import Note, NoteKind

Way = Literal["out", "in"]  # of a node, as its capture says


class NoteCodec:
    """A table with the kind of a NOTE, src and any fields of it."""

    def read(self, value: Any, path: Path, problems: Problems) -> PduMatch | None:
        """The match; the kind becomes its number."""
        if not isinstance(value, dict):
            raise ValueError('note is a table, e.g. { kind = "VIEW", src = 3 }')
        kind = value.get("kind")
        if kind is not None and (not isinstance(kind, str) or kind not in NoteKind.__members__):
            problems.append(
                Problem((*path, "kind"), f"no NOTE is {kind!r}{did_you_mean(str(kind), NoteKind.__members__)}")
            )
            return None
        numbered = {} if kind is None else {"kind": int(NoteKind[kind])}
        return PduCodec().read({**value, **numbered}, path, problems)

    def write(self, value: PduMatch) -> dict[str, Any]:
        """With the name of the kind."""
        table = PduCodec().write(value)
        if "kind" in table:
            table["kind"] = NoteKind(table["kind"]).name
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The moment of a PDU or of a NOTE."""

    pdu: Annotated[PduMatch, PduCodec()] | None = None
    towards: Annotated[tuple[str, ...], OneOrMore()] | None = None
    note: Annotated[PduMatch, NoteCodec()] | None = None
    count: int = 1

    def __post_init__(self) -> None:
        if (self.pdu is None) == (self.note is None):
            raise ValueError("a moment is that of a pdu or that of a note")
        if self.note is not None and self.towards is not None:
            raise ValueError("a note goes nowhere: towards belongs to a pdu")
        if self.count < 1:
            raise ValueError("count is at least 1")

    def check(self, scope: Scope, path: Path) -> Iterator[Problem]:
        """What of it can never be."""
        yield from scope.strangers(self.towards or (), (*path, "towards"))
        if self.note is not None:
            yield from check_match(self.note, "note", len(scope.nodes), (*path, "note"))
        elif self.pdu is not None and scope.protocol is not None:
            yield from check_match(self.pdu, scope.protocol, len(scope.nodes), (*path, "pdu"))
            if protocol(scope.protocol).transport == "tcp":
                yield Problem(
                    (*path, "pdu"), f"the PDUs of {scope.protocol} cannot be seen in its streams: take a note"
                )

    def places(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """The nodes at which it is to be watched for."""
        match = self.pdu or self.note
        assert match is not None
        return self.towards or tuple(f"n{src}" for src in match.src) or tuple(nodes)

    def is_one(self, node: str, way: Way, pdu: Pdu) -> bool:
        """Does what leaves or enters a node there match?"""
        if self.note is not None:
            return isinstance(pdu, Note) and self.note.matches(pdu)
        assert self.pdu is not None
        wanted: Way = "out" if self.towards is None else "in"
        return way == wanted and not isinstance(pdu, Note) and self.pdu.matches(pdu)


@dataclass(slots=True)
class Awaited:
    """A moment that is waited for, and how many that match there have been."""

    when: When
    nodes: tuple[str, ...]  # at which it is watched for
    seen: int = 0

    def has_come(self, node: str, way: Way, pdu: Pdu) -> bool:
        """To be told of all that leaves and enters these nodes: is it now?"""
        if node not in self.nodes or not self.when.is_one(node, way, pdu):
            return False
        self.seen += 1
        return self.seen == self.when.count


class Moments:
    """All that are waited for in a run, each with what is then to be done."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._nodes = nodes
        self._awaited: list[tuple[Awaited, Callable[[], None]]] = []
        self.came = 0

    def __bool__(self) -> bool:
        """Is there one that has not come?"""
        return bool(self._awaited)

    @property
    def places(self) -> set[str]:
        """The nodes at which they are watched for."""
        return {node for awaited, _ in self._awaited for node in awaited.nodes}

    def wait_for(self, when: When, action: Callable[[], None]) -> None:
        """Do something then."""
        self._awaited.append((Awaited(when, when.places(self._nodes)), action))

    def forget(self, when: When) -> None:
        """Wait for this one no more."""
        self._awaited = [one for one in self._awaited if one[0].when is not when]

    def see(self, node: str, way: Way, pdu: Pdu) -> bool:
        """Something leaves or enters a node: do what has waited for it. Was there anything?"""
        come = [one for one in self._awaited if one[0].has_come(node, way, pdu)]
        self._awaited = [one for one in self._awaited if one not in come]
        self.came += len(come)
        for _, action in come:
            action()
        return bool(come)

    def give_up(self) -> None:
        """Wait for none any more."""
        self._awaited = []
