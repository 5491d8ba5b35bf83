"""What the values of HIM's NOTEs say."""

from __future__ import annotations

from typing import NamedTuple


class Delivered(NamedTuple):
    """DELIVERED."""

    round: int  # the multicast that brought it, from 0
    digest: int  # of the message; see `digest`


class Result(NamedTuple):
    """RESULT."""

    round: int  # the last multicast before the sender was told, from 0


def digest(hash_: bytes) -> int:
    """As much of a hash as fits into a value."""
    return int.from_bytes(hash_[:7], "big")
