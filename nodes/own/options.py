"""What a scenario says about a program of the user's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOptions:
    """[own]. A path is meant from where the scenario lies; tutti writes the hash, so that a run says what it ran."""

    program: str
    arguments: tuple[str, ...] = ()
    heartbeats: bool = False  # it never falls silent by itself
    sha256: str = ""
