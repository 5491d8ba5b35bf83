"""A group's key, where a protocol authenticates: read for the node, since a machine reads no file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KEY_BYTES = 16  # at least


def read_key(path: Path) -> bytes:
    """The key in a file that nobody but its owner can read, and that belongs to us or to root."""
    info = path.stat()
    if info.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PermissionError(f"{path}: others may read or write the key; allow its owner alone (chmod 600)")
    if info.st_uid not in (os.geteuid(), 0):
        raise PermissionError(f"{path}: the key belongs to somebody else")
    key = path.read_bytes().strip()
    if len(key) < _KEY_BYTES:
        raise ValueError(f"{path}: a key has at least {_KEY_BYTES} bytes, not {len(key)}")
    return key
