"""What captures would show of a run in memory: each frame as it leaves its node, and as it comes to one.

Of a single channel nothing is written down: its protocols are judged by what nodes note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from captures.evidence import Frame, Frames, facets
from nodes.wire import Pdu

_Seen = tuple[int, int, str, Pdu, int, bool]  # when, at which node, which way, what, how long, for everybody


class Capture:
    """One run's."""

    def __init__(self) -> None:
        self._seen: list[_Seen] = []

    def left(self, now_ns: int, node: int, pdu: Pdu, size_bytes: int, multicast: bool) -> None:
        """A frame leaves its node."""
        self._seen.append((now_ns, node, "out", pdu, size_bytes, multicast))

    def came(self, now_ns: int, node: int, pdu: Pdu, size_bytes: int) -> None:
        """A frame comes to a node, whether or not a process is there."""
        self._seen.append((now_ns, node, "in", pdu, size_bytes, False))

    def frames(self) -> Frames:
        """The table that judges read."""
        return Frames(_row(number, *seen) for number, seen in enumerate(self._seen, 1))


def _row(number: int, now_ns: int, node: int, way: str, pdu: Pdu, size_bytes: int, multicast: bool) -> Frame:
    facet, about, seq, entries = facets().get(pdu.TYPE.name), 0, 0, 0
    if facet is not None:
        about, seq = facet.message(pdu.src, *[getattr(pdu, name) for name in facet.fields])
        entries = len(getattr(pdu, facet.tag)) if facet.tag else 0
    return Frame(
        now_ns,
        f"n{node}",
        way,
        pdu.src,
        pdu.TYPE.name,
        size_bytes,
        "memory",
        number,
        about,
        seq,
        entries,
        len(getattr(pdu, "payload", b"")),
        multicast,
        _Fields(pdu),
    )


class _Fields(Mapping[str, Any]):
    """A PDU's, by name."""

    def __init__(self, pdu: Pdu) -> None:
        self._pdu = pdu

    def __getitem__(self, name: str) -> Any:
        return getattr(self._pdu, name)

    def __iter__(self) -> Iterator[str]:
        return iter([field.name for field in self._pdu.TYPE.fields])

    def __len__(self) -> int:
        return len(self._pdu.TYPE.fields)
