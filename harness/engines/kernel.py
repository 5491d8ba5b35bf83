"""Which private kernel there is: the one that the `tutti` command found or built."""

from __future__ import annotations

import json
import os
from pathlib import Path

from harness.engines.outcome import MachineLacks
from harness.engines.virtual import Kernel


def private_kernel() -> Kernel:
    """The kernel that provisioning made."""
    directory = os.environ.get("TUTTI_KERNEL")
    if not directory:
        raise MachineLacks("there is no private kernel yet: start with the command ./tutti, which builds it once")
    info = json.loads((Path(directory) / "info.json").read_text())
    return Kernel(Path(directory) / "linux", info["version"], info["recipe"], info["seccomp"])


def site_packages() -> Path:
    """Where this Python's installed packages are."""
    import numpy

    return Path(numpy.__file__).resolve().parents[1]
