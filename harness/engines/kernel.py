"""Which private kernel there is: the one that the `tutti` command found or built."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path

from harness.engines.outcome import MachineLacks
from harness.manifest import Kernel


@dataclass(frozen=True, slots=True)
class PrivateKernel:
    """A kernel that provisioning has built."""

    image: Path
    identity: Kernel
    forks: bool  # can it be forked when it has booted?


def private_kernel() -> PrivateKernel:
    """The kernel that provisioning made."""
    directory = os.environ.get("TUTTI_KERNEL")
    if not directory:
        raise MachineLacks("there is no private kernel yet: start with the command ./tutti, which builds it once")
    info = json.loads((Path(directory) / "info.json").read_text())
    identity = Kernel(info["version"], info["recipe"], info["seccomp"])
    return PrivateKernel(Path(directory) / "linux", identity, info["forks"])


def site_packages() -> Path:
    """Where this Python's installed packages are, Mininet among them: guests see no others."""
    spec = importlib.util.find_spec("numpy")
    assert spec is not None and spec.origin is not None
    directory = Path(spec.origin).resolve().parents[1]
    if not (directory / "mininet").exists():
        raise MachineLacks(f"Mininet is missing: ln -s /usr/lib/python3/dist-packages/mininet {directory}")
    return directory
