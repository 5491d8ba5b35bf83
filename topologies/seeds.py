"""Seeds by name: every link, node and purpose draws from its own stream, a hash of the run's seed and its name.

A node that is added, or an impairment that is set elsewhere, therefore leaves all other draws as they were.
"""

from __future__ import annotations

import hashlib


def seed_for(run_seed: int, *names: str) -> int:
    """A 64-bit seed for what the names say, e.g. seed_for(7, "impair", "s1-eth3").

    Names are hashed with their lengths, so that ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.sha256(str(run_seed).encode())
    for name in names:
        text = name.encode()
        digest.update(f"/{len(text)}:".encode() + text)
    return int.from_bytes(digest.digest()[:8], "big")
