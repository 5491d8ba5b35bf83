"""Authenticity: a node outside the group can neither forge a packet nor have an old one heard twice.

Not in paper 003, which speaks of integrity against accidents only. A sealed packet ends with

    incarnation u16 | counter u48 | HMAC-SHA256(shared key, the whole packet without what follows here)[:16]

The counter grows with every packet of a node's process and its process's number stands above it, so a receiver
needs one window per node to refuse what it has seen. A node that restarts has lost its windows; what protects it
is the view: it accepts no view but one that names it with its new incarnation (nodes/him/membership.py), and no
packet of an older view afterwards.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from typing import TypeVar

from nodes.him.window import Window
from nodes.wire import encode
from nodes.wire.him import AUTH, HASH_BYTES, HimData, HimPdu

SEAL_BYTES = 24
_MAC_BYTES = 16

P = TypeVar("P", bound=HimPdu)


def hash_of(payload: bytes) -> bytes:
    """What the paper took MD5 or SHA-1 for."""
    return hashlib.sha256(payload).digest()[:HASH_BYTES]


class Refused(ValueError):
    """A packet that must have no effect; the text says why."""


def _tail(pdu: HimPdu) -> bytes:
    tail: bytes = pdu.payload if isinstance(pdu, HimData) else pdu.seal  # type: ignore[attr-defined]
    return tail


def _with_tail(pdu: P, tail: bytes, flags: int) -> P:
    name = "payload" if isinstance(pdu, HimData) else "seal"
    return replace(pdu, flags=flags, **{name: tail})  # type: ignore[arg-type]


class Sealed:
    """auth = "hmac"."""

    overhead = SEAL_BYTES

    def __init__(self, key: bytes, incarnation: int) -> None:
        if not key:
            raise ValueError('auth = "hmac" needs a key')
        self._key, self._incarnation, self._counter = key, incarnation, 0
        self._windows: dict[int, tuple[int, Window]] = {}  # node -> its incarnation, what was seen of it

    def close(self, pdu: P) -> P:
        """The packet as it goes out."""
        self._counter += 1
        number = (self._incarnation << 48 | self._counter).to_bytes(8, "big")
        unsigned = _with_tail(pdu, _tail(pdu) + number, pdu.flags | AUTH)
        return _with_tail(unsigned, _tail(unsigned) + self._mac(unsigned), unsigned.flags)

    def open_untrusted(self, pdu: P) -> P:
        """The packet without its seal, or Refused."""
        if not pdu.flags & AUTH:
            raise Refused("forged")
        tail = _tail(pdu)
        if len(tail) < SEAL_BYTES:
            raise Refused("truncated")
        unsigned = _with_tail(pdu, tail[:-_MAC_BYTES], pdu.flags)
        if not hmac.compare_digest(self._mac(unsigned), tail[-_MAC_BYTES:]):
            raise Refused("forged")
        number = int.from_bytes(tail[-SEAL_BYTES:-_MAC_BYTES], "big")
        if not self._fresh(pdu.src, number >> 48, number & 2**48 - 1):
            raise Refused("replayed")
        return _with_tail(pdu, tail[:-SEAL_BYTES], pdu.flags & ~AUTH)

    def _mac(self, pdu: HimPdu) -> bytes:
        return hmac.digest(self._key, encode(pdu), "sha256")[:_MAC_BYTES]

    def _fresh(self, node: int, incarnation: int, counter: int) -> bool:
        known, window = self._windows.get(node, (0, Window()))
        if incarnation < known:
            return False
        if incarnation > known:
            window = Window()
            self._windows[node] = incarnation, window
        return window.take(counter)


class Open:
    """auth = "none": packets go out as they are; a sealed one is not for us."""

    overhead = 0

    def close(self, pdu: P) -> P:
        return pdu

    def open_untrusted(self, pdu: P) -> P:
        if pdu.flags & AUTH:
            raise Refused("sealed")
        if not isinstance(pdu, HimData) and _tail(pdu):
            raise Refused("oversized")
        return pdu
