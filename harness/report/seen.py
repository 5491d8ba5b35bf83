"""Every frame that a report draws, with its bytes: those with a PDU, or, in a run without any, all IP packets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from captures.evidence import IN, Evidence, Frames, node_of
from captures.packets import Packet, packets
from captures.tables import Ints, codes
from harness.report.wiretable import described, described_packet
from nodes.wire import all_pdu_types

_PAYLOAD_SHOWN = 64  # bytes of a payload that a page carries
_HEADER_SHOWN = 20  # of what stands between an IP header and a payload
_NAMED = 10  # services that have a name of their own
_WITH_PAYLOAD = frozenset(row.cls for row in all_pdu_types() if any(one.name == "payload" for one in row.fields))

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All of them, in the order of time; what follows is by row."""

    called: str  # what they are, all together
    time_ns: list[int]
    place: Ints  # index of `places`
    node: Ints  # of the host at which it was seen; 0 elsewhere
    direction: Ints
    src: Ints
    frame: Ints
    kind: Ints  # index of `kinds`
    about: Ints
    seq: Ints
    to: Ints  # index of `addresses`
    data: Ints  # index of `shown` and `whole`
    key: list[int]  # a number for each sender, kind, destination and content: what may be the same one elsewhere
    carries: list[int]  # a number for what it carries, on its way to somebody; below 0: it carries nothing
    places: tuple[str, ...]
    kinds: list[dict[str, Any]]  # as a page dissects them
    addresses: list[bytes]  # on a channel there is an empty one
    shown: list[bytes]  # the different contents, long payloads cut
    whole: list[int]  # how long they are
    frames: Frames = field(default_factory=Frames)  # if they are PDUs: their rows are the same
    listeners: Mapping[bytes, frozenset[int]] = field(default_factory=dict)  # group -> who hears it; not in it: all

    def destination(self, row: int) -> bytes:
        """The address; empty on a channel."""
        return self.addresses[int(self.to[row])]


def seen_in(evidence: Evidence, hosts: Mapping[bytes, int], begin_ns: int) -> Seen:
    """What was seen in a run that began at `begin_ns`; `hosts` says whose an address is."""
    return _pdus(evidence.frames) if len(evidence.frames) else _packets(evidence, hosts, begin_ns)


def _pdus(frames: Frames) -> Seen:
    known: dict[bytes, int] = {}
    found = [known.setdefault(pdu, len(known)) for pdu in frames.pdus(np.arange(len(frames)))]
    data = np.array(found, np.int64)
    hidden = np.zeros(len(known), np.int64)
    if found:
        hidden[data] = np.maximum(frames.payload - _PAYLOAD_SHOWN, 0)
    to = frames.to if found else data
    carriers = frames.of_type(*_WITH_PAYLOAD)
    carriers = carriers[frames.about[carriers] > 0]
    carries = np.full(len(frames), -1)
    carries[carriers] = codes(*(column[carriers] for column in (frames.type, frames.about, frames.seq, to)))
    return Seen(
        called="PDUs",
        time_ns=frames.time_ns.tolist(),
        place=frames.place,
        node=frames.node,
        direction=frames.direction,
        src=frames.src,
        frame=frames.frame,
        kind=frames.type,
        about=frames.about,
        seq=frames.seq,
        to=to,
        data=data,
        key=codes(frames.src, frames.type, to, data).tolist(),
        carries=carries.tolist(),
        places=tuple(frames.places),
        kinds=[described(row) for row in all_pdu_types()],
        addresses=[address or b"" for address in frames.addresses] or [b""],
        shown=[pdu[: len(pdu) - cut] for pdu, cut in zip(known, hidden.tolist(), strict=True)],
        whole=[len(pdu) for pdu in known],
        frames=frames,
    )


def _packets(evidence: Evidence, hosts: Mapping[bytes, int], begin_ns: int) -> Seen:
    """What nodes sent each other since the run began: programs may have talked for long until all were ready."""
    places = [path.stem for path in evidence.captures]
    found: list[tuple[Packet, int]] = []
    listeners: dict[bytes, set[int]] = defaultdict(set)
    for index, path in enumerate(evidence.captures):
        here = node_of(path.stem)
        for packet in packets(path):
            sender, receiver = hosts.get(packet.source, 0), hosts.get(packet.destination, 0)
            came = here and packet.direction == IN
            if packet.time_ns < begin_ns or not sender or receiver == sender or (came and receiver not in (0, here)):
                continue  # what a node passes on for others does not come to it
            found.append((packet, index))
            if came and not receiver:
                listeners[packet.destination].add(here)
    found.sort(key=lambda one: one[0].time_ns)
    listed = [packet for packet, _ in found]
    names = _names(listed)
    kind, kinds = _numbered((names[one.service], one.version, one.protocol, one.ports is None) for one in listed)
    to, addresses = _numbered(one.destination for one in listed)
    data, contents = _numbered(one.everywhere for one in listed)
    carries, _ = _numbered(one.carries for one in listed)
    first = dict(zip(reversed(data.tolist()), reversed(listed), strict=True))
    src, place = _column(hosts[one.source] for one in listed), _column(index for _, index in found)
    nothing = np.zeros(len(listed), np.int64)
    return Seen(
        called="packets",
        time_ns=[one.time_ns for one in listed],
        place=place,
        node=_column(node_of(name) for name in places)[place],
        direction=_column(one.direction for one in listed),
        src=src,
        frame=_column(one.frame for one in listed),
        kind=kind,
        about=nothing,
        seq=nothing,
        to=to,
        data=data,
        key=codes(src, kind, to, data).tolist() if listed else [],
        carries=[-1 if one.carries is None else number for one, number in zip(listed, carries.tolist(), strict=True)],
        places=tuple(places),
        kinds=[described_packet(*one) for one in kinds],
        addresses=addresses,
        shown=[first[at].data[: first[at].behind + _HEADER_SHOWN + _PAYLOAD_SHOWN] for at in range(len(contents))],
        whole=[len(first[at].data) for at in range(len(contents))],
        listeners={group: frozenset(nodes) for group, nodes in listeners.items()},
    )


def _names(listed: Sequence[Packet]) -> Mapping[str, str]:
    """What packets are called: by their service, if it is one of the most used, else by their protocol."""
    counted = Counter(one.service for one in listed)
    often = {service for service, _ in counted.most_common(_NAMED)}
    return {service: service if service in often else service.partition(" ")[0] for service in counted}


def _column(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _numbered(values: Iterable[Value]) -> tuple[Ints, list[Value]]:
    """Each value's place among the different ones, and these."""
    known: dict[Value, int] = {}
    return _column(known.setdefault(value, len(known)) for value in values), list(known)
