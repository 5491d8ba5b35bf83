"""What a protocol is to the rest of the world: a pure machine.

`step(input, now)` returns outputs; `deadline` is the one next time at which the machine wants to be woken. No
socket, clock, file, log or unseeded randomness inside: time is an argument (what that clock of the node shows by
which the protocol lives, `ProtocolSpec.clock`), and a machine that needs chance draws it from the seed in its Setting.
The same machine runs in a process on the emulated network (nodes/shell) and, a thousand times faster, in memory
(harness/world).
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass, field

from nodes.wire import Pdu
from nodes.wire.note import Note, NoteKind


@dataclass(frozen=True, slots=True)
class Submit:
    """The application wants `data` sent to the nodes `to`. `number` counts a node's submissions from 1."""

    number: int
    to: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """A PDU came from the network (decoded, its check right; nothing else is known about it)."""

    pdu: Pdu


@dataclass(frozen=True, slots=True)
class Wake:
    """The deadline has come. A machine must bear being woken early or for nothing."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """The process was asked to end: the last input. What the machine still says is sent."""


Input = Submit | Received | Wake | Farewell


@dataclass(frozen=True, slots=True)
class Send:
    """Put a PDU on the network: for everybody (channel broadcast, IPv6 multicast) or for each of `to` (unicast)."""

    pdu: Pdu
    to: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """Make a NOTE (see NoteKind for the arguments of each kind)."""

    kind: NoteKind
    about: int = 0
    seq: int = 0
    peers: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    text: str = ""

    def note(self, node: int, incarnation: int, number: int, local_ns: int) -> Note:
        """As it travels: noted by this node, in this life, so many-th, when its clock showed that."""
        return Note(
            src=node,
            kind=self.kind,
            incarnation=incarnation,
            number=number,
            local_ns=local_ns,
            about=self.about,
            seq=self.seq,
            npeers=len(self.peers),
            nvalues=len(self.values),
            peers=self.peers,
            values=self.values,
            text=self.text.encode(),
        )


Output = Send | Log


class Machine(typing.Protocol):
    """A protocol entity. The shell logs SUBMITTED itself; the machine logs everything after it."""

    @property
    def deadline(self) -> int | None:
        """Time (ns) of the next Wake, or None."""

    def step(self, event: Input, now_ns: int) -> list[Output]:
        """Take one input at the time `now_ns`. Outputs are carried out in order."""

    def settled(self) -> bool:
        """Nothing is owed: no queue, no unconfirmed message, no round in progress."""

    def counters(self) -> Mapping[str, int]:
        """Named totals for the log, e.g. PDUs refused by reason."""


def full_frame_bytes(nodes: int, payload: int) -> int:
    """A full-size PDU on the channel: Ethernet, our header, the fixed part of a data PDU, two vectors, the payload."""
    return 14 + 12 + 24 + 8 * nodes + payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a machine is told about the world when it is made."""

    me: int
    members: tuple[int, ...]  # ascending, `me` among them
    seed: int  # of this node, from the run's seed by name
    incarnation: int = 1  # grows with every restart of the node's process
    slot_ns: int = 0  # one PDU time (length / rate) for a full-size PDU, on the slowest way; 0 when there is no channel
    buffer_pdus: int = 1024  # capacity of the receive buffer, in PDUs
    hops: Mapping[int, int] = field(default_factory=dict)  # routers between me and each member
    key: bytes = b""  # shared key, where the protocol authenticates
