"""HIM: high integrity multicast (paper 003): the packets.

The paper draws none; these carry what its steps need and no more. `src` in the common header is the node that
sends the packet, `origin` the node whose message it is about (node 0 of the paper). A DATA packet has 48 bytes of
header in all, so that 1,184 bytes of payload make 40 + 8 + 48 + 1184 = 1,280 bytes, the smallest MTU of IPv6: one
message, one packet, through every router.

With flag AUTH the last 24 bytes of a packet are its seal: incarnation u16, counter u48, HMAC-SHA256 cut to 16 bytes
(nodes/him/seal.py). In DATA the seal ends the payload, which then leaves 1,160 bytes for the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from nodes.wire.table import U8, U16, U32, Bytes, Flags, Of, Payload, Pdu, Proto, Records, pdu

AUTH, HAVE, SUCCESS = 1, 2, 4  # bits of `flags`
HASH_BYTES = 20  # of SHA-1 in the paper's day, of truncated SHA-256 today

_Hash = Annotated[bytes, Bytes(HASH_BYTES), "SHA-256 of the message, its first 20 bytes"]
_Seal = Annotated[bytes, Payload(), "24 bytes with AUTH, else none"]


PROPOSERS = 1 << 12  # that the number of a view can name


def view_number(count: int, proposer: int, incarnation: int) -> int:
    """A number that no other node proposes, nor another life of this one: it has forgotten how far it had counted."""
    return count << 16 | (incarnation - 1) % 16 << 12 | proposer


def proposer_of(view: int) -> int:
    return view % PROPOSERS


class Reason(IntEnum):
    """Why a tester does not confirm a neighbour."""

    NOANSWER = 1
    NOTHAVE = 2
    MISMATCH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HimPdu(Pdu):
    """What all packets of HIM begin with."""

    flags: Annotated[int, Flags(1, "AUTH", "HAVE", "SUCCESS"), "AUTH: sealed; HAVE: in ANSWER; SUCCESS: in END"]
    round: Annotated[int, U8, "0 for the first multicast of a message, then counting its repetitions"]
    origin: Annotated[int, U16, "originator of the message; of a view its proposer"]
    view: Annotated[int, U32, "view in which it is sent: count << 16 | (incarnation - 1) % 16 << 12 | proposer"]
    seq: Annotated[int, U32, "number at the originator: (incarnation - 1) << 24 | number from 1"]
    tsval: Annotated[int, U32, "clock of src, in microseconds"]


@pdu(Proto.HIM, 1, "DATA", section="003 §3.3 step 1")
class HimData(HimPdu):
    """The message, for everybody."""

    hash: _Hash
    payload: Annotated[bytes, Payload(), "the message, then the seal"]


@pdu(Proto.HIM, 2, "QUERY", section="003 §3.3 step 3")
class HimQuery(HimPdu):
    """Has the message arrived at you? I hold the one with this hash."""

    hash: _Hash
    attempt: Annotated[int, U8, "1 for the first question of a test, 2 for its repetition"]
    heard: Annotated[int, U16, "nodes from the originator up to src whose time-outs slowest covers"]
    slowest: Annotated[int, U32, "their largest time-out, in microseconds"]
    seal: _Seal


@pdu(Proto.HIM, 3, "ANSWER", section="003 §3.3 step 4")
class HimAnswer(HimPdu):
    """I have it (HAVE), and this is its hash; or I do not."""

    hash: _Hash
    tsecr: Annotated[int, U32, "tsval of the question"]
    seal: _Seal


@pdu(Proto.HIM, 4, "REPORT", section="003 §3.3 step 5")
class HimReport(HimPdu):
    """To the originator: these nodes did not confirm; multicast again."""

    nlist: Annotated[int, U16, "length of suspects"]
    suspects: Annotated[tuple[tuple[int, int], ...], Records((("node", U16), ("reason", U8)), Of("nlist")), "ascending"]
    seal: _Seal


@pdu(Proto.HIM, 5, "VIEW", section="ours, D-HI-13")
class HimView(HimPdu):
    """The members of a view; `view` is its number and `origin` its proposer."""

    nlist: Annotated[int, U16, "length of members"]
    members: Annotated[
        tuple[tuple[int, int], ...], Records((("node", U16), ("incarnation", U16)), Of("nlist")), "ascending"
    ]
    seal: _Seal


@pdu(Proto.HIM, 6, "END", section="ours, D-HI-4")
class HimEnd(HimPdu):
    """The originator has decided: nobody need report or test this message any more."""

    seal: _Seal


@pdu(Proto.HIM, 7, "JOIN", section="003 §5, ours")
class HimJoin(HimPdu):
    """Take me into the group."""

    incarnation: Annotated[int, U16, "of the process of src"]
    seal: _Seal


@pdu(Proto.HIM, 8, "VIEW_REQUEST", section="ours, D-HI-13")
class HimViewRequest(HimPdu):
    """Your view is newer than mine: who is in it?"""

    seal: _Seal


@pdu(Proto.HIM, 9, "ALIVE", section="ours, D-HI-14")
class HimAlive(HimPdu):
    """I am here; so that one who hears nobody knows that he is cut off."""

    seal: _Seal


@pdu(Proto.HIM, 10, "CONFIRM", section="ours")
class HimConfirm(HimPdu):
    """I and all nodes behind me in the tree hold the message with this hash (confirmed by the tree only)."""

    hash: _Hash
    seal: _Seal
