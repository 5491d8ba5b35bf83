"""What captures would show of a run in memory: each frame as it leaves its node, and as it comes to one.

Only where a protocol has a rule about the moment of a delivery, which nobody can judge without arrivals, or about how
many packets something takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from captures.evidence import Frame, Frames, facets
from harness.explore.frame import Carried
from nodes.wire import Pdu


class Capture:
    """One run's."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, int, str, Carried]] = []

    def see(self, now_ns: int, node: int, way: str, frame: Carried) -> None:
        """A frame goes out of a node, or comes in, whether or not a process is there."""
        self._seen.append((now_ns, node, way, frame))

    def frames(self) -> Frames:
        """The table that judges read."""
        told: dict[int, tuple[Any, ...]] = {}  # of each PDU, which is seen several times
        rows = []
        for number, (now_ns, node, way, carried) in enumerate(self._seen, 1):
            pdu = carried.pdu
            if id(pdu) not in told:
                told[id(pdu)] = _told(pdu)
            title, about, seq, entries, payload, fields = told[id(pdu)]
            where = (now_ns, f"n{node}", way, pdu.src, title, carried.size_bytes, "memory", number)
            rows.append(Frame(*where, about, seq, entries, payload, carried.multicast, fields=fields))
        return Frames(rows)


def _told(pdu: Pdu) -> tuple[Any, ...]:
    facet, about, seq, entries = facets().get(type(pdu)), 0, 0, 0
    if facet is not None:
        fields = [getattr(pdu, name) for name in facet.fields]
        about, seq = facet.message(pdu.src, *[_List(one) if isinstance(one, tuple) else one for one in fields])
        entries = len(getattr(pdu, facet.tag)) if facet.tag else 0
    return pdu.TYPE.name, about, seq, entries, len(getattr(pdu, "payload", b"")), _Fields(pdu)


class _List:
    """What a facet asks of a column of lists (nodes/facet.py), of one list."""

    def __init__(self, elements: tuple[int, ...]) -> None:
        self._elements = elements

    @property
    def counts(self) -> int:
        """How many elements it has."""
        return len(self._elements)

    def at(self, place: int) -> int:
        """The element at this place, 0 where there is none."""
        return self._elements[place] if place < self.counts else 0


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
