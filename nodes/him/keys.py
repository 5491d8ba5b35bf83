"""Where the group's key comes from (auth = "hmac")."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from nodes.him.options import HimOptions

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


def key_of(node: int, given: bytes, options: HimOptions) -> bytes:
    """The key that was given to the node, else the file's, else the one that stands in the scenario for all to see."""
    if options.auth == "none":
        return given
    key = given or (read_key(Path(options.key_file)) if options.key_file else options.key.encode())
    return b"not " + key if node == options.outsider else key
