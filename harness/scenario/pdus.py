"""Chosen PDUs: "the 2nd RST_PAK from n3", as a value that is checked against the wire table and matches PDUs.

type = "RST_PAK"               one type or a list, by the paper's names
src = 3                        who sent it: 3, "n3", or a list
flags = ["RETX", "!NEED"]      flags that are set, and flags that are not
dst = ["n1", "n3"]             a set of members: exactly these
tseq = 4                       any integer field: this value, or one of a list
ack = [1, 4, 2]                any vector: exactly this
payload = "c"                  what the application gave, as text
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.schema import Problems
from nodes.wire import Field, Pdu, PduType, all_pdu_types
from nodes.wire.table import Flags, Members, Payload, SInt, UInt, Vector

Want = int | str | tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class PduMatch:
    """Which PDUs are meant. What is not named may be anything."""

    types: tuple[str, ...] = ()  # titles, e.g. "RST_PAK"
    src: tuple[int, ...] = ()
    fields: tuple[tuple[str, Want], ...] = ()

    def matches(self, pdu: Pdu) -> bool:
        """Is this PDU meant? A PDU type that has not got a field that is asked for is not."""
        row = pdu.TYPE
        if (self.types and row.title not in self.types) or (self.src and pdu.src not in self.src):
            return False
        if not self.fields:
            return True
        kinds = {field.name: field.kind for field in row.fields}
        return all(name in kinds and _agrees(kinds[name], want, getattr(pdu, name)) for name, want in self.fields)


def _agrees(kind: Any, want: Want, value: Any) -> bool:
    if isinstance(kind, Flags):
        for word in (want,) if isinstance(want, str | int) else want:
            name = str(word).removeprefix("!")
            is_set = bool(value >> kind.names.index(name) & 1)
            if is_set == str(word).startswith("!"):
                return False
        return True
    if isinstance(kind, Members):
        return set(value) == {node_number(one) for one in ((want,) if isinstance(want, str | int) else want)}
    if isinstance(kind, Vector):
        return bool(value == want)
    if isinstance(kind, Payload):
        return bool(value == str(want).encode())
    return value in want if isinstance(want, tuple) else bool(value == want)


def node_number(word: int | str) -> int:
    """3 for 3 and for "n3"; ValueError for anything else."""
    if isinstance(word, str) and word[:1] == "n" and word[1:].isdecimal() and word[1:].isascii():
        return int(word[1:])
    if isinstance(word, int) and not isinstance(word, bool):
        return word
    raise ValueError(f'{word!r} is no node: write 3 or "n3"')


class PduCodec:
    """A table with type, src and any fields of the PDU."""

    def read(self, value: Any, path: Path, problems: Problems) -> PduMatch | None:
        if not isinstance(value, dict):
            raise ValueError('pdu is a table, e.g. { type = "DATA", src = 3 }')
        before = len(problems)
        types: tuple[str, ...] = ()
        src: tuple[int, ...] = ()
        fields = []
        for key, given in value.items():
            words = given if isinstance(given, list) else [given]
            if not all(isinstance(word, int | str) and not isinstance(word, bool) for word in words):
                problems.append(Problem((*path, key), f"{key} is a whole number, text, or a list of these"))
            elif key == "type":
                types = tuple(str(word) for word in words)
            elif key == "src":
                try:
                    src = tuple(node_number(word) for word in words)
                except ValueError as error:
                    problems.append(Problem((*path, key), str(error)))
            else:
                fields.append((key, tuple(given) if isinstance(given, list) else given))
        return PduMatch(types, src, tuple(fields)) if len(problems) == before else None

    def write(self, value: PduMatch) -> dict[str, Any]:
        table: dict[str, Any] = {}
        if value.types:
            table["type"] = value.types[0] if len(value.types) == 1 else list(value.types)
        if value.src:
            table["src"] = value.src[0] if len(value.src) == 1 else list(value.src)
        table.update((name, list(want) if isinstance(want, tuple) else want) for name, want in value.fields)
        return table


def check_match(match: PduMatch, protocol: str, nodes: int, path: Path) -> Problems:
    """What of a match can never be, by the wire table of the protocol."""
    problems: Problems = []
    rows = {row.title: row for row in all_pdu_types() if row.proto.name.lower() == protocol}
    for title in match.types:
        if title not in rows:
            reason = f"{protocol} has no PDU {title!r}{did_you_mean(title, rows)}"
            problems.append(Problem((*path, "type"), reason))
    for number in match.src:
        if not 1 <= number <= nodes:
            problems.append(Problem((*path, "src"), f"there is no node n{number}: this scenario has n1 to n{nodes}"))
    chosen = [rows[title] for title in match.types if title in rows] or list(rows.values())
    for name, want in match.fields:
        fields = _fields(chosen, name)
        if not fields:
            known = {field.name for row in chosen for field in row.fields} | {"type", "src"}
            who = " or ".join(row.title for row in chosen) if match.types else f"of {protocol}"
            problems.append(Problem((*path, name), f"no PDU {who} has a field {name!r}{did_you_mean(name, known)}"))
        for field in fields:
            reason = _check_field(field, want, nodes)
            if reason:
                problems.append(Problem((*path, name), reason))
                break
    return problems


def _fields(rows: list[PduType], name: str) -> list[Field]:
    return [field for row in rows for field in row.fields if field.name == name]


def _check_field(field: Field, want: Want, nodes: int) -> str:
    kind, words = field.kind, (want if isinstance(want, tuple) else (want,))
    if isinstance(kind, Flags):
        for word in words:
            if str(word).removeprefix("!") not in kind.names:
                return f"{field.name} has no flag {word!r}{did_you_mean(str(word).removeprefix('!'), kind.names)}"
        return ""
    if isinstance(kind, Members):
        try:
            strangers = [word for word in words if not 1 <= node_number(word) <= nodes]
        except ValueError as error:
            return str(error)
        return f"there is no node {strangers[0]!r}: this scenario has n1 to n{nodes}" if strangers else ""
    if isinstance(kind, Payload):
        return "" if isinstance(want, str) else f"{field.name} is matched as text"
    if not isinstance(kind, UInt | SInt | Vector):
        return f"{field.name} cannot be matched: only numbers, flags, members, vectors and the payload can"
    element = kind.element if isinstance(kind, Vector) else kind
    low, high = (0, 256**element.width - 1)
    if isinstance(element, SInt):
        low, high = -(256**element.width) // 2, 256**element.width // 2 - 1
    if isinstance(kind, Vector) and not isinstance(want, tuple):
        return f"{field.name} is a vector: write a list"
    wrong = [word for word in words if not isinstance(word, int) or not low <= word <= high]
    return f"{field.name} is a number from {low} to {high}, not {wrong[0]!r}" if wrong else ""
