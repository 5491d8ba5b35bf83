"""NOTEs as other people's programs write them: `delivered about=2 seq=7 data=6869 peers=1,3 values=4 text=the rest`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodes.machine import Log
from nodes.wire.note import Delivered, NoteKind, digest_of

_OURS = {NoteKind.READY, NoteKind.SUBMITTED, NoteKind.CLOCK, NoteKind.FAULT, NoteKind.MARK, NoteKind.END}
_KINDS = {kind.name.lower(): kind for kind in NoteKind if kind not in _OURS}
_NUMBERS = ("about", "seq")


def log(line: str) -> Log:
    """The NOTE that a line asks for; ValueError if it is none."""
    kind, _, rest = line.partition(" ")
    if kind not in _KINDS:
        raise ValueError(f"there is no note {kind!r} for a program (there is {', '.join(_KINDS)})")
    words, _, text = f" {rest}".partition(" text=")
    single: dict[str, int] = {}
    lists: dict[str, tuple[int, ...]] = {}
    data: bytes | None = None
    for word in words.split():
        key, _, value = word.partition("=")
        if key in _NUMBERS:
            single[key] = number(value, 16 if key == "about" else 64)
        elif key == "peers":
            lists[key] = () if value in ("", "-") else tuple(number(one, 16) for one in value.split(","))
        elif key == "data":
            data = b"" if value == "-" else bytes.fromhex(value)
        elif key == "values":
            lists[key] = tuple(map(int, re.split(",", value)))
        else:
            raise ValueError(f"a note has about, seq, data, peers, values and text, not {key!r}")
    values = lists.get("values", ())
    if kind == "delivered":
        if values and data is None:
            raise ValueError("values of delivered stand behind what was delivered, which data= says")
        values = values if data is None else (*Delivered(digest_of(data)), *values)
    elif data is not None:
        raise ValueError("only a note delivered has data")
    return Log(_KINDS[kind], **single, peers=lists.get("peers", ()), values=values, text=text)


def number(word: str, bits: int) -> int:
    """A whole number that is not below zero and has room in so many bits."""
    value = int(word)
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{word} has not room in {bits} bits")
    return value


def listed(values: Sequence[int]) -> str:
    """`1,2,3`, and `-` for none."""
    return ",".join(map(str, values)) or "-"
